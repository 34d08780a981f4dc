"""Threads in Thalweg's export format: a header line, then one line per message.

Messages are complete: parts, media, ids, author, reported usage.
"""

import json
from collections import Counter
from dataclasses import replace
from typing import get_args

from thalweg.archive.threads.thread_export import NAME
from thalweg.engine.entries import Message, Role, message_from_json
from thalweg.lab.recordings.base import Recording
from thalweg.lab.recordings.rows import LogFormat, broken_message, left_out, odd_row, pairing_notes
from thalweg.lab.recordings.source import BrokenLine, RecordedFile

_ROLES = frozenset(get_args(Role))


def detect(source: RecordedFile) -> bool:
    """Return whether the first line is the header of the format."""
    first = next(iter(source.objects), None)
    return first is not None and first.value.get("thalweg") == NAME


def read(source: RecordedFile) -> Recording:
    """Return the recording; `Message.line` is the line of the message."""
    notes = list(source.notes)
    messages: list[Message] = []
    heads: Counter[str] = Counter()
    for row in source.lines:
        if isinstance(row, BrokenLine):
            messages.append(broken_message(row))
        elif isinstance(row.value, dict) and row.value.get("thalweg") == NAME:
            heads["heads"] += 1
        elif (message := _message(row.value)) is not None:
            messages.append(replace(message, line=row.line))
        else:
            messages.append(broken_message(odd_row(row.line, row.value, notes)))
    glued = Counter({"a further head": heads["heads"] - 1} if heads["heads"] > 1 else {})
    notes += [*left_out(glued), *pairing_notes(messages)]
    return Recording(source.name, NAME, tuple(messages), tuple(notes))


def _message(value: object) -> Message | None:
    if not isinstance(value, dict) or value.get("role") not in _ROLES:
        return None
    try:
        return message_from_json(json.dumps(value))
    except ValueError:
        return None


FORMAT = LogFormat(NAME, "a first line with `thalweg`", detect, read)
