"""Traces of research: answers of ToolBench and spans of Vorflux, as OpenAI's chat messages."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.formats.openai_chat_log import is_chat_message
from thalweg_recorder.recordings.rows import (
    LogFormat,
    Recorded,
    SessionRows,
    as_list,
    as_object,
    as_objects,
    as_str,
    as_text,
)
from thalweg_recorder.recordings.source import JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "trace"
_READ = frozenset({"llm_call", "tool_call"})


def detect(source: RecordedFile) -> bool:
    """Return whether the document has tries of ToolBench, or spans with a call of a model."""
    spans = as_objects(as_object(source.document).get("trajectory"))
    is_trace = any(span.get("type") == "llm_call" for span in spans)
    return is_trace or any(map(is_chat_message, _last_try(source)))


def _last_try(source: RecordedFile) -> list[Any]:
    answers = as_object(as_object(source.document).get("answer_generation"))
    tries = as_list(answers.get("train_messages"))
    return as_list(tries[-1]) if tries else []


def read(source: RecordedFile) -> Recording:
    """Return the recording; `Message.line` is the index of a message."""
    rows = SessionRows.of(source)
    spans = as_objects(as_object(source.document).get("trajectory"))
    rows.skipped = Counter(kind for span in spans if (kind := str(span.get("type"))) not in _READ)
    for index, value in enumerate([*_last_try(source), *_spans(spans)]):
        raw = value if isinstance(value, dict) else {"content": value}
        usage, at = as_usage(raw.get("usage")), iso_time(raw.pop("timestamp", None))
        rows.items.append(Recorded(index, raw, at=at, usage=usage))
    return rows.recording(NAME, OpenAIChatWire().read)


def _spans(spans: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Yield the spans of a trace as chat messages; a result's call is found by its arguments."""
    waiting: list[tuple[str, str]] = []
    for span in spans:
        at = {"timestamp": span.get("timestamp")}
        output = span.get("output")
        if span.get("type") == "llm_call":
            yield from filter(is_chat_message, as_list(span.get("task_prompt")))
            if isinstance(output, dict):
                message = {"role": "assistant", **output, **at}
                waiting += _requested_calls(message)
                yield message
        elif span.get("type") == "tool_call":
            raw: JsonObject = {"role": "tool", "name": as_str(span.get("tool")), **at}
            request = _request(span.get("arguments"))
            if call := next((one for one in waiting if one[0] == request), None):
                waiting.remove(call)
                raw["tool_call_id"] = call[1]
            yield {**raw, "content": as_text(span.get("result"))}


def _request(arguments: object) -> str:
    """Return arguments in a comparable form: spans spell names differently from the tool."""
    if isinstance(arguments, dict):
        arguments = {name.replace("_", "").lower(): value for name, value in arguments.items()}
    return json.dumps(arguments, sort_keys=True)


def _requested_calls(message: JsonObject) -> Iterator[tuple[str, str]]:
    for call in as_objects(message.get("tool_calls")):
        if isinstance(function := call.get("function"), dict):
            try:
                arguments = json.loads(function.get("arguments") or "{}")
            except (ValueError, TypeError, RecursionError):
                arguments = None
            yield _request(arguments), as_str(call.get("id"))


FORMAT = LogFormat(NAME, detect, read)
