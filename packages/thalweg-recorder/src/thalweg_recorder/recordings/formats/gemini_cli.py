"""Sessions of Gemini CLI: `~/.gemini/tmp/<project>/chats/session-*.jsonl`, or `.json` before 0.40.

One message holds the model's thoughts, text, tool calls and, with each call, its result. A row with
`$set` replaces the messages: at a start, a resume and a compression, which gives them new ids.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg.engine.wires.fields import as_usage, to_json
from thalweg.engine.wires.gemini import GeminiReader
from thalweg_recorder.recordings.base import Recording, SessionInfo
from thalweg_recorder.recordings.rows import (
    LogFormat,
    Recorded,
    SessionRows,
    as_list,
    as_object,
    as_objects,
    as_str,
    who_wrote,
)
from thalweg_recorder.recordings.source import JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "gemini-cli"

_SPEAKERS = frozenset({"user", "gemini"})


def detect(source: RecordedFile) -> bool:
    """Return whether a session has messages of type `user` or `gemini`, or is a header alone."""
    heads = source.objects if len(source.objects) == 1 else ()
    is_empty = any("projectHash" in head and not head.get("messages") for head in heads)
    return is_empty or any(map(_is_message, _messages(source)))


def _is_message(row: object) -> bool:
    return isinstance(row, dict) and as_str(row.get("type")) in _SPEAKERS


def _rows(source: RecordedFile) -> list[tuple[int, Any]]:
    """Return the messages with their index, or with their line if each has its own."""
    document = source.document
    if isinstance(document, dict) and "sessionId" in document:
        return list(enumerate(as_list(document.get("messages"))))
    has_head = any("sessionId" in row and "type" not in row for row in source.objects[:1])
    return [*source.lines] if has_head else []


def _snapshot(row: object) -> list[Any]:
    return as_list(as_object(as_object(row).get("$set")).get("messages"))


def _messages(source: RecordedFile) -> Iterator[Any]:
    for _, row in _rows(source):
        yield from _snapshot(row) or (row,)


def read(source: RecordedFile) -> Recording:
    """Return the recording of user and model messages; notices of the program are skipped.

    A message that is written several times, as it grows, keeps its first position. Messages that a
    compression took away stay.
    """
    session = _Chat.of(source)
    for line, row in _rows(source):
        session.take(line, row)
    known = session.results()
    session.items = [item for key in session.order for item in session.items_of(key, known)]
    session.info = _session(source)
    return session.recording(NAME, GeminiReader().read)


@dataclass(slots=True)
class _Chat(SessionRows):
    """The messages so far, by their ids."""

    known: dict[str, tuple[int, JsonObject]] = field(default_factory=dict)
    order: list[Any] = field(default_factory=list)
    """Ids of messages, and lines in another form."""

    def take(self, line: int, row: object) -> None:
        """Process a row of any form."""
        if _is_message(row):
            self._put(line, as_object(row))
        elif snapshot := _snapshot(row):
            self._take_snapshot(line, snapshot)
        elif isinstance(row, dict):
            self.skipped[as_str(row.get("type")) or "header or change"] += 1
        else:
            self.order.append(self.odd(line, row))

    def _put(self, line: int, row: JsonObject) -> None:
        key = as_str(row.get("id")) or f"line {line}"
        while key in self.known:
            first, before = self.known[key]
            merged = {**before, **{name: value for name, value in row.items() if value}}
            if all(text in "\n".join(_texts(merged)) for text in _texts(before)):
                self.known[key] = first, {**merged, "timestamp": before.get("timestamp")}
                return
            key = f"{key}~"  # it was replaced, not continued
            row = {**row, "id": key}
        self.order.append(key)
        self.known[key] = line, row

    def _take_snapshot(self, line: int, snapshot: Sequence[Any]) -> None:
        """Add the messages of a snapshot that are new, whatever their ids are now."""
        ids = {as_str(as_object(one).get("id")) for one in snapshot}
        renamed = [_content(row) for key, (_, row) in self.known.items() if key not in ids]
        had_more, added = bool(renamed), list[JsonObject]()
        for one in snapshot:
            if not _is_message(one):
                self.order.append(self.odd(line, one))
            elif (content := _content(one)) in renamed:
                renamed.remove(content)
            elif (known := self.known.get(key := as_str(one.get("id")))) is None:
                added.append(one)
            elif content != _content(known[1]):  # else its own row has usage and results, too
                added.append({**one, "id": f"{key}~"})
        if had_more and added and added[0]["type"] == "user":  # a summary replaces messages
            summary = added.pop(0)
            texts = [as_str(as_object(part).get("text")) for part in _parts(summary.get("content"))]
            self.compacted(line, "\n".join(texts), iso_time(summary.get("timestamp")))
        for one in added:
            self._put(line, one)

    def items_of(self, key: object, known: Container[str]) -> list[Any]:
        """Return the items of a message; of a result that its call's message has, too, none."""
        if not isinstance(key, str):
            return [key]
        line, row = self.known[key]
        if row["type"] == "user":
            parts = [part for part in _parts(row.get("content")) if to_json(part) not in known]
            return list(_items(line, {**row, "content": parts})) if parts else []
        return list(_items(line, row))

    def results(self) -> set[str]:
        """Return the results that messages with their calls have, as JSON."""
        rows = (row for _, row in self.known.values() if row["type"] == "gemini")
        calls = (call for row in rows for call in as_objects(row.get("toolCalls")))
        return {to_json(part) for call in calls for part in _results(call)}


def _content(row: JsonObject) -> str:
    """Return a message's texts and the ids of its calls or results, wherever it has them."""
    parts = as_objects(_parts(row.get("content")))
    calls = [as_object(one.get("functionCall") or one.get("functionResponse")) for one in parts]
    ids = {str(one["id"]) for one in (*calls, *as_objects(row.get("toolCalls"))) if one.get("id")}
    return to_json([row["type"], _texts(row), sorted(ids)])


def _texts(row: JsonObject) -> list[str]:
    parts = as_objects(_parts(row.get("content")))
    return [as_str(one["text"]) for one in parts if one.get("text") and not one.get("thought")]


def _session(source: RecordedFile) -> SessionInfo:
    """Read the session's data from the document, or its first line and the newest answer."""
    rows = as_objects(list(_messages(source)))
    head = as_object(source.document)
    head = head if "messages" in head else next(iter(source.objects), {})
    titles = [title for row in (head, *rows) if (title := as_str(row.get("summary")))]
    models = [model for row in rows if (model := as_str(row.get("model")))]
    folders, own = as_list(head.get("directories")), as_str(head.get("sessionId"))
    # The log of a subagent is in a folder that is named by its session.
    folder = source.path.parent.name if source.path and head.get("kind") == "subagent" else ""
    return SessionInfo(
        id=f"{folder}.{own}" if folder and own else own,
        project=as_str(folders[0]) if folders else "",
        title=titles[-1] if titles else "",
        model=models[-1] if models else "",
    )


def _items(index: int, row: JsonObject) -> Iterator[Recorded]:
    uid, at = as_str(row.get("id")), iso_time(row.get("timestamp"))
    if row["type"] == "user":
        raw = {"role": "user", "parts": _parts(row.get("content"))}
        yield Recorded(index, raw, uid, at, kind=who_wrote(raw))
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


FORMAT = LogFormat(NAME, detect, read, has_parts=True)
