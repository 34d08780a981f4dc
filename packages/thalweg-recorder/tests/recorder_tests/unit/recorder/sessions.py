"""Sessions of agents as files of a few rows, and the threads they become."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from thalweg.archive import Archive, ThreadKey
from thalweg.engine.entries import Message
from thalweg_recorder import Imported, import_sessions

JsonRow = dict[str, Any]
SESSION = "0c8e6e0a-52e1-4c0a-9b57-3f4f3c9a7f10"
KEY = ThreadKey("local", f"claude-code:{SESSION}")


def user(number: int, text: str, **fields: object) -> JsonRow:
    """Make a row of a request as Claude Code writes it."""
    message = {"role": "user", "content": text}
    return {**_row("user", number), "message": message, **fields}


def model(number: int, message_id: str, *blocks: JsonRow, **fields: object) -> JsonRow:
    """Make a row of an answer, with usage that a provider reports."""
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 500, "output_tokens": 10}
    message = {"id": message_id, "role": "assistant", "model": "claude-opus-4-5"}
    body = {**message, "content": list(blocks), "usage": usage}
    return {**_row("assistant", number), "message": body, **fields}


def text(said: str) -> JsonRow:
    """Make a block of text."""
    return {"type": "text", "text": said}


def call(call_id: str, name: str = "Bash", **arguments: str) -> JsonRow:
    """Make a block that calls a tool."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(number: int, call_id: str, content: str) -> JsonRow:
    """Make a row of a tool's result."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    return {**_row("user", number), "message": {"role": "user", "content": [block]}}


def compacted(number: int, summary: str) -> list[JsonRow]:
    """Make the rows of a compaction."""
    metadata = {"trigger": "auto", "preTokens": 150_000}
    boundary = {**_row("system", number), "subtype": "compact_boundary"}
    return [
        {**boundary, "compactMetadata": metadata},
        user(number + 1, summary, isCompactSummary=True),
    ]


def _row(kind: str, number: int) -> JsonRow:
    at = f"2026-11-23T10:{number // 60:02}:{number % 60:02}.000Z"
    return {
        "type": kind,
        "uuid": f"u{number}",
        "sessionId": SESSION,
        "timestamp": at,
        "cwd": "/src/shop",
        "gitBranch": "main",
    }


def write(folder: Path, rows: Iterable[JsonRow | str]) -> Path:
    """Write a session (text as it is) and return its file."""
    path = folder / f"{SESSION}.jsonl"
    texts = (row if isinstance(row, str) else f"{json.dumps(row)}\n" for row in rows)
    path.write_text("".join(texts), encoding="utf-8")
    return path


def import_one(archive: Archive, path: Path) -> Imported:
    """Import a session; an error fails the test."""
    (imported,) = import_sessions(archive, [path])
    assert not imported.error
    return imported


def logged(archive: Archive) -> list[Message]:
    """Read the thread of the session."""
    return archive.messages(KEY)


def texts(archive: Archive) -> list[str]:
    """List the texts in the thread of the session."""
    return [message.text for message in logged(archive)]


def numbered(numbers: Sequence[int]) -> list[JsonRow]:
    """Make requests whose texts are their numbers."""
    return [user(number, f"request {number}") for number in numbers]
