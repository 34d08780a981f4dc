"""Sessions of opencode, as `opencode export` writes them: `{"info": …, "messages": […]}`.

An answer has its calls together with their results. A compaction is a request of its own, with a
part of type `compaction`, and an answer that is marked as a summary.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from thalweg.engine.pricing.usage import Usage
from thalweg.engine.wires.anthropic import AnthropicReader
from thalweg.engine.wires.fields import as_usage
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
from thalweg_recorder.recordings.source import JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "opencode"


def storage_files(path: Path) -> list[Path]:
    """Return the files of a session in `storage/`, before 1.2: messages, then their parts."""
    storage = path.parent.parent.parent
    if path.parent.parent.name != "session" or not (storage / "message").is_dir():
        return []
    messages = sorted((storage / "message" / path.stem).glob("*.json"))
    return [*messages, *(p for m in messages for p in _parts_of(storage, m))]


def _parts_of(storage: Path, message: Path) -> list[Path]:
    return sorted((storage / "part" / message.stem).glob("*.json"))


def _unpack(path: Path, data: bytes) -> bytes:
    """Return a session in `storage/` as an export: a row that is no JSON is kept as its text."""
    if not (files := storage_files(path)):
        return data
    storage, messages = path.parent.parent.parent, list[JsonObject]()
    for message in files:
        if message.parent.parent.name == "message":
            parts = [_json(part) for part in _parts_of(storage, message)]
            messages.append({"info": _json(message), "parts": parts})
    return json.dumps({"info": json.loads(data), "messages": messages}).encode()


def _json(path: Path) -> Any:  # noqa: ANN401 (any JSON value)
    text = path.read_text("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def detect(source: RecordedFile) -> bool:
    """Return whether a document has a session and messages with parts."""
    document = as_object(source.document)
    info = document.get("info")
    return isinstance(info, dict) and "id" in info and any(map(_is_message, _messages(document)))


def _messages(document: JsonObject) -> list[Any]:
    return as_list(document.get("messages"))


def _is_message(value: object) -> bool:
    message = as_object(value)
    return "role" in as_object(message.get("info")) and isinstance(message.get("parts"), list)


def read(source: RecordedFile) -> Recording:
    """Return the recording of all messages; summaries of compactions are no messages of it."""
    rows = _OpencodeSession.of(source)
    info = as_object(source.document.get("info"))
    rows.info = SessionInfo(
        id=".".join(filter(None, (as_str(info.get("parentID")), as_str(info.get("id"))))),
        project=as_str(info.get("directory")),
        title=as_str(info.get("title")),
    )
    return rows.read(enumerate(_messages(source.document)), NAME, AnthropicReader().read)


@dataclass(slots=True)
class _OpencodeSession(SessionRows):
    trigger: str = ""
    """Of the compaction that was requested last."""

    def take(self, line: int, row: JsonObject) -> None:
        if not _is_message(row):
            self.odd(line, row)
            return
        info, parts = row["info"], as_objects(row["parts"])
        if waiting := row.get("waiting"):
            self.skipped["parts that are being written"] += waiting
        for part in row["parts"]:
            if not isinstance(part, dict):
                self.odd(line, part)
        self.info = replace(self.info, model=as_str(info.get("modelID")) or self.info.model)
        compaction = next((part for part in parts if part.get("type") == "compaction"), None)
        if compaction is not None:
            self.trigger = "auto" if compaction.get("auto") is True else "manual"
            self.skipped["compaction"] += 1
        elif info.get("summary") is True:
            texts = (as_str(part.get("text")) for part in parts if part.get("type") == "text")
            at = _time(info, "created")
            self.compacted(line, "\n".join(texts), at, trigger=self.trigger)
        else:
            self.items += _items(line, info, parts)


def _time(info: JsonObject, name: str) -> str:
    return iso_time(as_object(info.get("time")).get(name))


def _items(line: int, info: JsonObject, parts: list[JsonObject]) -> Iterator[Recorded]:
    uid, at = as_str(info.get("id")), _time(info, "created")
    role = "assistant" if info.get("role") == "assistant" else "user"
    for is_synthetic in (False, True):
        blocks = (_block(part) for part in parts if (part.get("synthetic") is True) == is_synthetic)
        if content := [block for block in blocks if block is not None]:
            raw = {"role": role, "content": content}
            if is_synthetic:
                yield Recorded(line, raw, f"{uid}+", at, "injected")
            else:
                model = as_str(info.get("modelID"))
                yield Recorded(line, raw, uid, at, usage=_usage(info), model=model, answer=uid)
    for part in parts:
        if (result := _result(part)) is not None:
            ended = iso_time(as_object(as_object(part.get("state")).get("time")).get("end")) or at
            raw = {"role": "user", "content": [result]}
            own, name = as_str(part.get("id")), as_str(part.get("tool"))
            yield Recorded(line, raw, own, ended, name=name, is_error="is_error" in result)


def _block(part: JsonObject) -> JsonObject | None:
    match part.get("type"):
        case "text":
            return {"type": "text", "text": as_str(part.get("text"))}
        case "reasoning":
            return {"type": "thinking", "thinking": as_str(part.get("text"))}
        case "tool":
            arguments = as_object(as_object(part.get("state")).get("input"))
            name, call = as_str(part.get("tool")), as_str(part.get("callID"))
            return {"type": "tool_use", "id": call, "name": name, "input": arguments}
        case "step-start" | "step-finish" | "snapshot" | "patch":
            return None
        case _:
            return part


def _result(part: JsonObject) -> JsonObject | None:
    """Return the result of a call; `None` for any other part, and if there was none."""
    if part.get("type") != "tool":
        return None
    state = as_object(part.get("state"))
    result = {"type": "tool_result", "tool_use_id": as_str(part.get("callID"))}
    if state.get("status") == "error":
        return {**result, "content": as_str(state.get("error")), "is_error": True}
    if state.get("status") != "completed":
        return None
    code = as_object(state.get("metadata")).get("exit")
    return {
        **result,
        "content": as_str(state.get("output")),
        **({"is_error": True} if isinstance(code, int) and code else {}),
    }


def _usage(info: JsonObject) -> Usage | None:
    tokens = as_object(info.get("tokens"))
    cache = as_object(tokens.get("cache"))
    return as_usage(
        {
            **tokens,
            "cacheRead": cache.get("read"),
            "cacheWrite": cache.get("write"),
            "thoughts": tokens.get("reasoning"),  # not a part of its `output`
        }
    )


FORMAT = LogFormat(NAME, detect, read, unpack=_unpack, companions=storage_files, has_parts=True)
