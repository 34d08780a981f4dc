"""OpenAI-chat JSON Lines: one message a line, with fields of the recorder under `x`."""

from collections.abc import Mapping

from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.rows import (
    LogFormat,
    Recorded,
    SessionRows,
    as_object,
    as_str,
    who_wrote,
)
from thalweg_recorder.recordings.source import JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

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
    return any(map(is_chat_message, source.objects))


def read(source: RecordedFile) -> Recording:
    """Return the recording of every message line, without the recorded agent's summaries."""
    return _ChatRows.of(source).read(source.lines, NAME, OpenAIChatWire().read)


class _ChatRows(SessionRows):
    def take(self, line: int, row: JsonObject) -> None:
        extra = as_object(row.get("x"))
        if extra.get("is_compact_summary") or extra.get("compaction"):
            self.note_summary(line, len(str(row.get("content"))))
        elif is_chat_message(row):
            self._take_message(line, row, extra)
        else:
            self.odd(line, row)

    def _take_message(self, line: int, row: JsonObject, extra: JsonObject) -> None:
        raw = {key: value for key, value in row.items() if key != "x"}
        item = Recorded(
            line,
            raw,
            uid=_first(extra, _UIDS),
            at=_timestamp(extra),
            kind="injected" if extra.get("isMeta") is True else who_wrote(raw),
            is_error=extra.get("is_error") is True,
            usage=as_usage(extra.get("usage")) or as_usage(extra.get("tokens")),
            model=as_str(extra.get("model")),
            answer=as_str(extra.get("message_id")),
        )
        self.items.append(item)


def _first(extra: JsonObject, names: tuple[str, ...]) -> str:
    return next((found for name in names if (found := as_str(extra.get(name)))), "")


def _timestamp(extra: JsonObject) -> str:
    return next((at for name in _TIMES if (at := iso_time(extra.get(name)))), "")


FORMAT = LogFormat(NAME, detect, read)
