"""Serialized threads of LangGraph: a state, a list of states, or bare messages.

A state is `{"values": {"messages": […]}}`; of several (a history, newest first) the one with
the most messages is read.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from thalweg.engine.wires.langchain import read_dumped
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.rows import LogFormat, SessionRows, as_str
from thalweg_recorder.recordings.source import RecordedFile

NAME = "langgraph"

_KINDS = frozenset({"human", "ai", "tool", "system", "AIMessageChunk", "function"})
_MODEL_MESSAGE_TYPES = frozenset({"ai", "AIMessageChunk", "constructor"})
_MESSAGE_KEYS = ("messages", "values", "channel_values", "state", "checkpoint")
"""Keys of a state that may contain messages, or one another."""


def detect(source: RecordedFile) -> bool:
    """Return whether messages have type `human`, `ai` or `tool`, or the constructor form."""
    return bool(_threads(source))


def read(source: RecordedFile) -> Recording:
    """Return the recording of the longest list; `Message.line` is the index in it, or its line."""
    threads = _threads(source)
    rows = SessionRows.of(source)
    if threads[1:]:
        rows.skipped["other states"] = len(threads) - 1
    longest = max(threads, key=len)
    return rows.read(longest, NAME, read_dumped)


_Thread = list[tuple[int, Any]]
"""Messages, each with its index or line."""


def _threads(source: RecordedFile) -> list[_Thread]:
    document = source.document
    rows = [*source.objects]
    if document is None and any(
        _is_message(row) and row.get("type") in _MODEL_MESSAGE_TYPES for row in rows
    ):
        return [[*source.lines]]
    if document is None or (isinstance(document, list) and not _is_thread(document)):
        return list(_threads_of_states(document or rows))
    return list(_threads_of_states([document]))


def _threads_of_states(states: Iterable[object]) -> Iterator[_Thread]:
    for state in states:
        at = state
        for _ in _MESSAGE_KEYS:
            if isinstance(at, Mapping):
                at = next((at[place] for place in _MESSAGE_KEYS if place in at), None)
        if isinstance(at, list) and _is_thread(at):
            yield list(enumerate(at))


def _is_thread(value: list[Any]) -> bool:
    return any(map(_is_message, value))


def _is_message(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    constructed = value.get("type") == "constructor" and "kwargs" in value
    has_content = "content" in value or isinstance(value.get("data"), Mapping)
    return constructed or (as_str(value.get("type")) in _KINDS and has_content)


FORMAT = LogFormat(NAME, detect, read)
