"""Sessions of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.json`.

One message holds the model's thoughts, text, tool calls and, with each call, its result.
"""

from collections.abc import Iterator
from typing import Any

from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.gemini import GeminiWire
from thalweg_recorder.recordings.base import Recording, SessionInfo
from thalweg_recorder.recordings.rows import (
    LogFormat,
    Recorded,
    SessionRows,
    as_list,
    as_object,
    as_objects,
    as_str,
)
from thalweg_recorder.recordings.source import BrokenLine, JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "gemini-cli"

_SPEAKERS = frozenset({"user", "gemini"})


def detect(source: RecordedFile) -> bool:
    """Return whether a session has messages of type `user` or `gemini`."""
    return any(_is_message(row) for _, row in _rows(source))


def _is_message(row: object) -> bool:
    return isinstance(row, dict) and as_str(row.get("type")) in _SPEAKERS


def _rows(source: RecordedFile) -> list[tuple[int, Any]]:
    """Return the messages with their index, or with their line if each has its own."""
    document = source.document
    if isinstance(document, dict) and "sessionId" in document:
        return list(enumerate(as_list(document.get("messages"))))
    has_head = any({"sessionId", "projectHash"} <= row.keys() for row in source.objects[:1])
    return [*source.lines] if has_head else []


def read(source: RecordedFile) -> Recording:
    """Return the recording of user and model messages; notices of the program are skipped.

    A message that is written several times, as it grows, keeps its first position.
    """
    items: dict[object, list[Recorded | BrokenLine]] = {}
    rows = SessionRows.of(source)
    for index, row in _rows(source):
        if _is_message(row):
            items[as_str(row.get("id")) or index] = list(_items(index, row))
        elif isinstance(row, dict):
            rows.skipped[as_str(row.get("type")) or "header or change"] += 1
        else:
            items[index] = [rows.odd(index, row)]
    rows.items = [item for group in items.values() for item in group]
    rows.info = _session(source)
    return rows.recording(NAME, GeminiWire().read, why={"info": "notices of the program"})


def _session(source: RecordedFile) -> SessionInfo:
    """Read the session's data from the document, or its first line and the newest answer."""
    rows = as_objects([row for _, row in _rows(source)])
    head = as_object(source.document)
    head = head if "messages" in head else next(iter(source.objects), {})
    titles = [title for row in (head, *rows) if (title := as_str(row.get("summary")))]
    models = [model for row in rows if (model := as_str(row.get("model")))]
    folders = as_list(head.get("directories"))
    return SessionInfo(
        id=as_str(head.get("sessionId")),
        project=as_str(folders[0]) if folders else "",
        title=titles[-1] if titles else "",
        model=models[-1] if models else "",
    )


def _items(index: int, row: JsonObject) -> Iterator[Recorded]:
    uid, at = as_str(row.get("id")), iso_time(row.get("timestamp"))
    if row["type"] == "user":
        yield Recorded(index, {"role": "user", "parts": _parts(row.get("content"))}, uid, at)
        return
    calls = as_objects(row.get("toolCalls"))
    parts = [
        *map(_thought, as_list(row.get("thoughts"))),
        *_parts(row.get("content")),
        *({"functionCall": {**_named(call), "args": call.get("args")}} for call in calls),
    ]
    usage = as_usage(row.get("tokens"))
    raw, model = {"role": "model", "parts": parts}, as_str(row.get("model"))
    yield Recorded(index, raw, uid, at, usage=usage, model=model, answer=uid)
    for call in calls:
        if results := _results(call):
            call_time = iso_time(call.get("timestamp")) or at
            failed = call.get("status") == "error"
            raw = {"role": "user", "parts": results}
            yield Recorded(index, raw, at=call_time, is_error=failed)


def _parts(content: object) -> list[Any]:
    if isinstance(content, str):
        return [{"text": content}] if content else []
    if isinstance(content, dict):
        return [content]
    return [{"text": part} if isinstance(part, str) else part for part in as_list(content)]


def _thought(thought: object) -> JsonObject:
    if not isinstance(thought, dict):
        return {"text": as_str(thought), "thought": True}
    texts = (as_str(thought.get("subject")), as_str(thought.get("description")))
    return {"text": "\n".join(filter(None, texts)), "thought": True}


def _results(call: JsonObject) -> list[Any]:
    result = call.get("result")
    if isinstance(result, str):
        response = {"output": result}
        return [{"functionResponse": {**_named(call), "response": response}}]
    return _parts(result)


def _named(call: JsonObject) -> JsonObject:
    return {"id": call.get("id"), "name": call.get("name")}


FORMAT = LogFormat(NAME, "a Gemini CLI session (`sessionId`, `messages`)", detect, read)
