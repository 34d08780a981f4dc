"""Qwen Code sessions: `~/.qwen/projects/<folder>/chats/<session>.jsonl`.

A row wraps a content of Google's API; results of tools are rows of their own. A subagent's log has
the session's id with its own `agentId`.
"""

from collections.abc import Iterator

from thalweg_recorder.recordings.formats.agent_rows import row_format
from thalweg_recorder.recordings.rows import as_object
from thalweg_recorder.recordings.source import JsonObject, RecordedFile

NAME = "qwen-code"
_MESSAGES = frozenset({"user", "assistant", "tool_result"})


def detect(source: RecordedFile) -> bool:
    """Return whether a row of a session wraps a message with parts."""
    return any(
        "sessionId" in row and isinstance(as_object(row.get("message")).get("parts"), list)
        for row in source.objects
    )


def _map(row: JsonObject) -> Iterator[JsonObject]:
    kind = row["type"]
    own_id = ".".join(filter(None, (row.get("sessionId"), row.get("agentId"))))
    stated = {"id": own_id, "project": row.get("cwd"), "branch": row.get("gitBranch")}
    yield {"session": {**stated, "model": row.get("model")}}
    if kind in _MESSAGES and "parts" in row["message"]:
        yield {
            "message": row["message"],
            "id": row.get("uuid"),
            "at": row.get("timestamp"),
            "is_error": as_object(row.get("toolCallResult")).get("status") == "error",
            "injected": row.get("subtype") == "notification",
            "model": row.get("model"),
            "usage": row.get("usageMetadata"),
            "answer": row.get("uuid") if kind == "assistant" else "",
        }
    elif kind == "system" and row.get("subtype") == "chat_compression":
        payload = row["systemPayload"]
        summary = payload["compressedHistory"][0]["parts"][0]["text"]
        before = payload["info"]["originalTokenCount"]
        yield {
            "compaction": {"summary": summary, "at": row.get("timestamp"), "tokens_before": before}
        }
    elif kind == "system" and row.get("subtype") == "custom_title":
        yield {"session": {"title": row["systemPayload"]["customTitle"]}}
    else:
        yield {"left_out": " ".join(filter(None, (kind, row.get("subtype"))))}


FORMAT = row_format(NAME, detect, lambda _: _map, wire="gemini")
