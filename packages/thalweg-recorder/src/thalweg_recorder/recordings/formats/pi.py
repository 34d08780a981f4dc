"""Sessions of the pi coding agent: `~/.pi/agent/sessions/<folder>/<session>.jsonl`.

A row of type `message` wraps one message; its blocks are Anthropic's with other names.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from thalweg_recorder.recordings.formats.agent_rows import row_format
from thalweg_recorder.recordings.rows import as_object, as_str
from thalweg_recorder.recordings.source import JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "pi"

_ROLES = frozenset({"user", "assistant", "toolResult"})
_SUMMARIES = frozenset({"compaction", "branch_summary", "compactionSummary", "branchSummary"})
_NAMES = {
    "toolCall": ("tool_use", {"arguments": "input"}),
    "thinking": ("thinking", {"thinkingSignature": "signature"}),
}
"""Types of blocks, those of Anthropic, and the keys that differ."""


def detect(source: RecordedFile) -> bool:
    """Return whether it has a header and a wrapped message, or a result in pi's form."""
    header = any(row.get("type") == "session" for row in source.objects)
    roles = set(map(_role, source.objects))
    return "toolResult" in roles or (header and not roles.isdisjoint(_ROLES))


def _role(row: JsonObject) -> str:
    message = row.get("message") if row.get("type") == "message" else None
    return as_str(as_object(message).get("role"))


def _map(row: JsonObject) -> Iterator[JsonObject]:
    kind = row["type"]
    message = row if kind == "custom_message" else as_object(row.get("message"))
    role = "custom" if kind == "custom_message" else as_str(message.get("role"))
    summary = row if kind in _SUMMARIES else message
    if kind in _SUMMARIES or (kind == "message" and role in _SUMMARIES):
        at, before = row.get("timestamp"), summary.get("tokensBefore")
        yield {"compaction": {"summary": summary["summary"], "at": at, "tokens_before": before}}
    elif kind == "custom_message" or (kind == "message" and message):
        uid = as_str(row.get("id"))
        at = iso_time(row.get("timestamp")) or iso_time(message.get("timestamp"))
        yield {"session": {"model": message.get("model")}}
        yield {
            "message": _as_anthropic(role, message),
            "id": uid,
            "at": at,
            "injected": role not in _ROLES,
            "name": message.get("toolName"),
            "usage": message.get("usage"),
            "model": message.get("model"),
            "answer": f"{uid}@{at}" if uid else "",  # eight digits, which a fork keeps
        }
    else:
        if kind == "session":
            yield {"session": {"id": row.get("id"), "project": row.get("cwd")}}
        yield {"left_out": kind}


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
    if block.get("type") == "image" and "data" in block:
        known = {"type": "base64", "media_type": block.get("mimeType"), "data": block["data"]}
        return {"type": "image", "source": known}
    kind, names = _NAMES.get(as_str(block.get("type")), (block.get("type"), dict[str, Any]()))
    return {names.get(key, key): value for key, value in block.items()} | {"type": kind}


FORMAT = row_format(NAME, detect, lambda _: _map)
