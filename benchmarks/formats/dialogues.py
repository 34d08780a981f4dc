"""Dialogues of two speakers in the form of data sets: MemoryBank, LoCoMo, CrossWOZ."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.rows import LogFormat, Recorded, SessionRows, as_objects, as_str
from thalweg_recorder.recordings.source import JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "dialogue"

_SESSION = re.compile(r"session_(\d+)")
_SPOKEN = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %b, %Y")
_WOZ = {"usr": "user", "sys": "assistant"}


def detect(source: RecordedFile) -> bool:
    """Return whether the document has turns of one of the formats."""
    return next(_items(source.document), None) is not None


def read(source: RecordedFile) -> Recording:
    """Return the recording of every turn, with the first speaker as the user."""
    rows = SessionRows(source.name, [*source.notes], [*_items(source.document)])
    return rows.recording(NAME, OpenAIChatWire().read)


def _items(document: object) -> Iterator[Recorded]:
    if not isinstance(document, dict):
        return
    if isinstance(document.get("history"), dict):
        turns = _memory_bank(document["history"])
    elif isinstance(conversation := document.get("conversation", document), dict) and isinstance(
        conversation.get("speaker_a"), str
    ):
        turns = _locomo(conversation)
    elif isinstance(document.get("messages"), list):
        turns = _crosswoz(document["messages"])
    else:
        return
    for index, (raw, uid, at) in enumerate(turns):
        yield Recorded(index, raw, uid=uid, at=iso_time(at) or _spoken_time(as_str(at)))


def _spoken_time(text: str) -> str:
    """Return a time such as `1:56 pm on 8 May, 2023` in ISO 8601, or an empty string."""
    for form in _SPOKEN:
        try:
            return datetime.strptime(text, form).isoformat()  # noqa: DTZ007 (the text has no zone)
        except ValueError:
            continue
    return ""


_Turn = tuple[JsonObject, str, object]
"""A chat message, its own id, and its time."""


def _memory_bank(history: JsonObject) -> Iterator[_Turn]:
    for date, exchanges in history.items():
        for exchange in as_objects(exchanges):
            if isinstance(exchange.get("query"), str):
                yield {"role": "user", "content": exchange["query"]}, "", date
                yield {"role": "assistant", "content": as_str(exchange.get("response"))}, "", date


def _locomo(conversation: JsonObject) -> Iterator[_Turn]:
    first = conversation["speaker_a"]
    numbers = (_SESSION.fullmatch(name) for name in conversation)
    for number in sorted(int(found[1]) for found in numbers if found):
        at = conversation.get(f"session_{number}_date_time")
        for turn in as_objects(conversation[f"session_{number}"]):
            if isinstance(turn.get("text"), str):
                speaker = as_str(turn.get("speaker"))
                role = "user" if speaker == first else "assistant"
                raw = {"role": role, "name": speaker, "content": turn["text"]}
                yield raw, as_str(turn.get("dia_id")), at


def _crosswoz(messages: list[Any]) -> Iterator[_Turn]:
    for message in as_objects(messages):
        if as_str(message.get("role")) in _WOZ:
            role = _WOZ[message["role"]]
            yield {"role": role, "content": as_str(message.get("content"))}, "", ""


FORMAT = LogFormat(NAME, detect, read)
