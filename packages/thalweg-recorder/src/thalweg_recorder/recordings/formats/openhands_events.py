"""Conversations of OpenHands from version 1 on: `~/.openhands/conversations/<id>/events/*.json`.

They are read together, by the path of their `base_state.json`; or as a file of JSON Lines.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from thalweg_recorder.recordings.formats.agent_rows import row_format
from thalweg_recorder.recordings.rows import as_object, as_str
from thalweg_recorder.recordings.source import JsonObject, RecordedFile

NAME = "openhands"
_STATE = "ConversationState"


def detect(source: RecordedFile) -> bool:
    """Return whether an event names its kind and its source."""
    return any(
        as_str(row.get("kind")).endswith("Event") and "source" in row for row in source.objects
    )


def events_of(path: Path) -> list[Path]:
    """Return the files of the events of a conversation, in order."""
    return sorted(path.parent.glob("events/event-*.json")) if path.name == "base_state.json" else []


def _unpack(path: Path, data: bytes) -> bytes:
    if not (events := events_of(path)):
        return data
    state = data.replace(b"\n", b" ")
    rows = [b'{"kind": "%s", "state": %s}' % (_STATE.encode(), state)]
    return b"\n".join([*rows, *(one.read_bytes().replace(b"\n", b" ") for one in events)])


def _map(row: JsonObject) -> Iterator[JsonObject]:
    about = {"id": row.get("id"), "at": row.get("timestamp")}
    match row["kind"]:
        case "MessageEvent":
            message = row["llm_message"]
            content = [*_thoughts(message), *message["content"]]
            answer, harness = row.get("llm_response_id"), row["source"] == "environment"
            plain = {"role": message["role"], "content": content}
            yield {**about, "message": plain, "answer": answer, "injected": harness}
            if extended := row.get("extended_content"):
                yield {**about, "message": {"role": "user", "content": extended}, "injected": True}
        case "ActionEvent":
            call = row["tool_call"]
            block = {"type": "tool_use", "id": row["tool_call_id"], "name": row["tool_name"]}
            used = {**block, "input": json.loads(call["arguments"])}
            thought = [part for part in row["thought"] if part.get("text") != ""]
            content = [*_thoughts(row), *thought, used]
            answer = row.get("llm_response_id")
            yield {**about, "message": {"role": "assistant", "content": content}, "answer": answer}
        case "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation":
            seen = row.get("observation") or {"is_error": True}
            text = seen.get("content") or row.get("error") or row.get("rejection_reason")
            block = {"type": "tool_result", "tool_use_id": row["tool_call_id"], "content": text}
            failed = {"is_error": True} if seen.get("is_error") is True else {}
            message = {"role": "user", "content": [{**block, **failed}]}
            yield {**about, "message": message, "name": row["tool_name"]}
        case "SystemPromptEvent":
            yield {**about, "message": {"role": "system", "content": row["system_prompt"]["text"]}}
        case "Condensation" | "CondensationSummaryEvent":
            yield {"compaction": {"summary": row.get("summary"), "at": row.get("timestamp")}}
        case "ConversationState":
            yield from _state(row["state"])
        case kind:
            yield {"left_out": kind}


def _state(state: JsonObject) -> Iterator[JsonObject]:
    folder = as_object(state.get("workspace")).get("working_dir")
    model = as_object(as_object(state.get("agent")).get("llm")).get("model")
    yield {"session": {"id": state.get("id"), "project": folder, "model": model}}
    for metrics in as_object(as_object(state.get("stats")).get("usage_to_metrics")).values():
        for usage in metrics["token_usages"]:
            counts = {
                "prompt_tokens": usage["prompt_tokens"],
                "cached_tokens": usage["cache_read_tokens"],
                "cache_creation": usage["cache_write_tokens"],
                "completion_tokens": usage["completion_tokens"],
            }
            yield {"usage": counts, "answer": usage["response_id"], "model": usage["model"]}


def _thoughts(message: JsonObject) -> Iterator[JsonObject]:
    yield from message.get("thinking_blocks") or ()
    if (text := message.get("reasoning_content")) and not message.get("thinking_blocks"):
        yield {"type": "thinking", "thinking": text}


FORMAT = row_format(NAME, detect, lambda _: _map, unpack=_unpack, companions=events_of)
