"""Threads in Thalweg's export format: a header line, then one line per message.

Messages are complete: parts, media, ids, author, reported usage.
"""

import json
from dataclasses import replace
from typing import get_args

from thalweg.archive.threads.thread_export import EXPORT_NAME
from thalweg.engine.entries import Message, Role, message_from_json
from thalweg_recorder.recordings.base import Recording, SessionInfo
from thalweg_recorder.recordings.rows import (
    LogFormat,
    SessionRows,
    as_str,
    broken_message,
    left_out,
)
from thalweg_recorder.recordings.source import JsonObject, RecordedFile

_ROLES = frozenset(get_args(Role))


def detect(source: RecordedFile) -> bool:
    """Return whether the first line is the header of the format."""
    first = next(iter(source.objects), None)
    return first is not None and first.get("thalweg") == EXPORT_NAME


def read(source: RecordedFile) -> Recording:
    """Return the recording; `Message.line` is the line of the message."""
    rows, heads = SessionRows.of(source), list[JsonObject]()
    messages: list[Message] = []
    for line, value in source.lines:
        if isinstance(value, dict) and value.get("thalweg") == EXPORT_NAME:
            heads.append(value)
        elif (message := _message(value)) is not None:
            messages.append(replace(message, line=line))
        else:
            messages.append(broken_message(rows.odd(line, value)))
    head, *further = heads or [{}]
    rows.skipped.update({"a further head": len(further)} if further else {})
    window = head.get("window")
    info = SessionInfo(
        model=as_str(head.get("model")), window=window if isinstance(window, int) else 0
    )
    notes = (*rows.notes, *left_out(rows.skipped))
    return Recording(source.name, EXPORT_NAME, tuple(messages), notes, info)


def _message(value: object) -> Message | None:
    if not isinstance(value, dict) or as_str(value.get("role")) not in _ROLES:
        return None
    try:
        return message_from_json(json.dumps(value))
    except ValueError:
        return None


FORMAT = LogFormat(EXPORT_NAME, detect, read)
