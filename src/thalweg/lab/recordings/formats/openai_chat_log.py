"""OpenAI-chat JSON Lines: one message a line, with fields of the recorder under `x`."""

from collections.abc import Mapping
from typing import Any

from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg.lab.recordings.base import Recording
from thalweg.lab.recordings.rows import (
    LogFormat,
    Recorded,
    as_str,
    odd_row,
    pairing_notes,
    summary_note,
    through_wire,
    who_wrote,
)
from thalweg.lab.recordings.source import BrokenLine, JsonObject, RecordedFile, RecordedRow
from thalweg.lab.recordings.times import iso_time

NAME = "openai-chat-log"
ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})

_UIDS = ("uuid", "id", "message_id", "dia_id")
_TIMES = ("timestamp", "date", "date_time")


def is_chat_message(value: object) -> bool:
    """Return whether a JSON value is a message in OpenAI's chat format."""
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("role"), str)
        and value["role"] in ROLES
        and not {"content", "tool_calls", "function_call"}.isdisjoint(value)
    )


def detect(source: RecordedFile) -> bool:
    """Return whether a line is a message."""
    return any(is_chat_message(row.value) for row in source.objects)


def read(source: RecordedFile) -> Recording:
    """Return the recording of every message line, without the recorded agent's summaries."""
    notes: list[Note] = list(source.notes)
    items: list[Recorded | BrokenLine] = []
    for row in source.lines:
        if isinstance(row, BrokenLine):
            items.append(row)
        elif _is_summary(row):
            notes.append(summary_note(row.line, len(str(row.value.get("content")))))
        else:
            items.append(_item(row, notes))
    messages, read_notes = through_wire(OpenAIChatWire().read, items)
    notes += read_notes
    notes += pairing_notes(messages)
    return Recording(source.name, NAME, tuple(messages), tuple(notes))


def _recorder_notes(row: RecordedRow) -> JsonObject:
    beside = row.value.get("x") if isinstance(row.value, dict) else None
    return beside if isinstance(beside, dict) else {}


def _is_summary(row: RecordedRow) -> bool:
    beside = _recorder_notes(row)
    return bool(beside.get("is_compact_summary") or beside.get("compaction"))


def _item(row: RecordedRow, notes: list[Note]) -> Recorded | BrokenLine:
    if not is_chat_message(row.value):
        return odd_row(row.line, row.value, notes)
    beside = _recorder_notes(row)
    raw: dict[str, Any] = {key: value for key, value in row.value.items() if key != "x"}
    if "microcompact_boundary" in beside:
        notes.append(Note(row.line, "recorded_eviction", "the recorded agent cleared results here"))
    return Recorded(
        row.line,
        raw,
        uid=_first(beside, _UIDS),
        at=_said_at(beside),
        kind="injected" if beside.get("isMeta") is True else who_wrote(raw),
        is_error=beside.get("is_error") is True,
        usage=as_usage(beside.get("usage")) or as_usage(beside.get("tokens")),
    )


def _first(beside: JsonObject, names: tuple[str, ...]) -> str:
    return next((found for name in names if (found := as_str(beside.get(name)))), "")


def _said_at(beside: JsonObject) -> str:
    return next((at for name in _TIMES if (at := iso_time(beside.get(name)))), "")


FORMAT = LogFormat(NAME, "JSON Lines with `role` and `content`", detect, read)
