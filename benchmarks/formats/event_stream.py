"""Recorded server-sent events of DeerFlow 1: chunks of messages, calls and their results."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from thalweg.engine.wires.base import Note
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.rows import (
    LogFormat,
    Recorded,
    SessionRows,
    as_objects,
    as_str,
    chat_call,
)
from thalweg_recorder.recordings.source import NOTED_CHARS, JsonObject, RecordedFile

NAME = "event-stream"

_CHUNKS = frozenset({"message_chunk", "tool_calls", "tool_call_chunks", "interrupt"})
_RESULT = "tool_call_result"


def detect(source: RecordedFile) -> bool:
    """Return whether an event is a chunk of a message."""
    if "event:" not in source.text or "data:" not in source.text:
        return False
    return any(name in _CHUNKS and data is not None for _, name, data in _events(source.text, []))


def read(source: RecordedFile) -> Recording:
    """Return the recording; each message is at the position of its first chunk."""
    rows = SessionRows(source.name, [*source.file_notes])
    growing: dict[str, _PartialMessage] = {}
    for line, name, data in _events(source.text, rows.notes):
        if data is None or name not in _CHUNKS | {_RESULT}:
            continue
        message_id = as_str(data.get("id"))
        key = f"{line} result" if name == _RESULT else message_id or f"{line}"
        growing.setdefault(key, _PartialMessage(line, message_id)).grow(name, data)
    rows.items += [message.item() for message in growing.values()]
    return rows.recording(NAME, OpenAIChatWire().read)


def _events(text: str, notes: list[Note]) -> Iterator[tuple[int, str, JsonObject | None]]:
    name = ""
    for number, line in enumerate(text.split("\n")):
        told, _, rest = line.rstrip("\r").partition(":")
        if told == "event":
            name = rest.strip()
        elif told == "data":
            data = _object(rest)
            if data is None:
                notes.append(Note(number, "broken_json", f"no JSON: {rest[:NOTED_CHARS]}"))
            yield number, name, data


def _object(text: str) -> JsonObject | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


@dataclass(slots=True)
class _PartialMessage:
    """A message that is being assembled from chunks."""

    line: int
    uid: str
    role: str = "assistant"
    content: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    answers: str = ""
    calls: dict[str, JsonObject] = field(default_factory=dict)
    """Tool calls by their index, or by their position in the event."""

    def grow(self, name: str, data: JsonObject) -> None:
        self.content.append(as_str(data.get("content")))
        self.thoughts.append(as_str(data.get("reasoning_content")))
        if name == _RESULT:
            self.role = "tool"
            self.answers = as_str(data.get("tool_call_id"))
        elif data.get("role") == "user":
            self.role = "user"
        chunks = as_objects(data.get("tool_call_chunks"))
        for chunk in chunks:
            self._grow_call(chunk.get("index"), chunk, as_str(chunk.get("args")))
        for place, call in enumerate(as_objects(data.get("tool_calls")) if not chunks else []):
            arguments = json.dumps(call.get("args"), ensure_ascii=False)
            self._grow_call(place, call, arguments)

    def _grow_call(self, index: object, told: JsonObject, arguments: str) -> None:
        # Without an index every chunk that names a tool is a call of its own.
        key = str(len(self.calls) if index is None and told.get("name") else index)
        call = self.calls.setdefault(key, {"id": "", "name": "", "arguments": ""})
        call["id"] = call["id"] or as_str(told.get("id"))
        call["name"] = call["name"] or as_str(told.get("name"))
        call["arguments"] += arguments

    def item(self) -> Recorded:
        raw: JsonObject = {"role": self.role, "content": "".join(self.content)}
        if thoughts := "".join(self.thoughts):
            raw["reasoning_content"] = thoughts
        if self.role == "tool":
            raw["tool_call_id"] = self.answers
        if self.calls:
            calls = self.calls.values()
            raw["tool_calls"] = [chat_call(c["id"], c["name"], c["arguments"]) for c in calls]
        return Recorded(self.line, raw, uid=self.uid)


FORMAT = LogFormat(NAME, detect, read, endings=(".txt",))
