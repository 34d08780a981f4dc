"""Sessions of the pi coding agent: `~/.pi/agent/sessions/<folder>/<session>.jsonl`.

A row of type `message` wraps one message; its blocks are Anthropic's with other names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from thalweg.engine.entries import Kind
from thalweg.engine.wires.anthropic import AnthropicWire
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import as_usage
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.rows import LogFormat, Recorded, SessionRows, as_object, as_str
from thalweg_recorder.recordings.source import JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "pi"

_ROLES = frozenset({"user", "assistant", "toolResult"})
_SUMMARIES = frozenset({"compaction", "branch_summary", "compactionSummary", "branchSummary"})


def detect(source: RecordedFile) -> bool:
    """Return whether it has a header and a wrapped message, or a result in pi's form."""
    header = any(row.get("type") == "session" for row in source.objects)
    roles = set(map(_role, source.objects))
    return "toolResult" in roles or (header and not roles.isdisjoint(_ROLES))


def _role(row: JsonObject) -> str:
    message = row.get("message") if row.get("type") == "message" else None
    return as_str(as_object(message).get("role"))


def read(source: RecordedFile) -> Recording:
    """Return the recording of every message, in file order, abandoned branches included."""
    return _PiSession.of(source).read(source.lines, NAME, AnthropicWire().read)


@dataclass(slots=True)
class _PiSession(SessionRows):
    """The rows processed so far."""

    parents: set[str] = field(default_factory=set)

    def take(self, line: int, row: JsonObject) -> None:
        kind = row.get("type")
        if not isinstance(kind, str):
            self.odd(line, row)
        elif kind in _SUMMARIES:
            self._take_summary(line, row)
        elif kind == "custom_message":
            self._take_message(line, row, {**row, "role": "custom"})
        elif kind == "message" and isinstance(row.get("message"), dict):
            self._take_message(line, row, row["message"])
        else:
            if kind == "session":
                own, folder = as_str(row.get("id")), as_str(row.get("cwd"))
                self.info = replace(self.info, id=own, project=folder)
            self.skipped[kind] += 1

    def _take_summary(self, line: int, row: JsonObject) -> None:
        at, before = iso_time(row.get("timestamp")), row.get("tokensBefore")
        self.compacted(line, as_str(row.get("summary")), at, before=before)

    def _take_message(self, line: int, row: JsonObject, message: JsonObject) -> None:
        role = as_str(message.get("role"))
        if role in _SUMMARIES:
            self._take_summary(line, message)
            return
        self.info = replace(self.info, model=as_str(message.get("model")) or self.info.model)
        self._note_branch(line, as_str(row.get("parentId")))
        at = iso_time(row.get("timestamp")) or iso_time(message.get("timestamp"))
        uid = as_str(row.get("id"))
        injected: Kind = "said" if role in _ROLES else "injected"
        self.items.append(
            Recorded(
                line,
                _as_anthropic(role, message),
                uid=uid,
                at=at,
                kind=injected,
                name=as_str(message.get("toolName")),
                usage=as_usage(message.get("usage")),
                model=as_str(message.get("model")),
                answer=f"{uid}@{at}" if uid else "",  # eight digits, which a fork keeps
            )
        )

    def _note_branch(self, line: int, parent: str) -> None:
        if parent and parent in self.parents:
            self.notes.append(Note(line, "branch", f"continues {parent}, as an earlier row does"))
        self.parents.add(parent)


def _as_anthropic(role: str, message: JsonObject) -> JsonObject:
    content = message.get("content")
    blocks = list(map(_block, content)) if isinstance(content, list) else content
    if role == "toolResult":
        result = {
            "type": "tool_result",
            "tool_use_id": as_str(message.get("toolCallId")),
            "content": blocks,
        }
        if message.get("isError") is True:
            result["is_error"] = True
        return {"role": "user", "content": [result]}
    if role == "bashExecution":
        shown = f"Ran `{message.get('command')}`\n```\n{message.get('output')}\n```"
        return {"role": "user", "content": shown}
    return {"role": "assistant" if role == "assistant" else "user", "content": blocks}


def _block(block: object) -> object:
    if not isinstance(block, Mapping):
        return block
    match block.get("type"):
        case "toolCall":
            return _renamed(block, "tool_use", {"arguments": "input"})
        case "thinking":
            return _renamed(block, "thinking", {"thinkingSignature": "signature"})
        case "image" if "data" in block:
            picture = {
                "type": "base64",
                "media_type": block.get("mimeType"),
                "data": block["data"],
            }
            return {"type": "image", "source": picture}
        case _:
            return block


def _renamed(block: Mapping[str, Any], kind: str, names: Mapping[str, str]) -> JsonObject:
    return {names.get(key, key): value for key, value in block.items()} | {"type": kind}


FORMAT = LogFormat(NAME, detect, read)
