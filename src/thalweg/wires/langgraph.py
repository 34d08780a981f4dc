"""Threads of LangGraph as they are dumped: a state, a list of states, or bare messages.

A state is `{"values": {"messages": […]}}`; of several (a history, newest first) the one with
the most messages is read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from thalweg.wires.base import Note, Recording
from thalweg.wires.langchain import read_dumped
from thalweg.wires.logs import Item, LogFormat, left_out, pairing_notes, through_wire
from thalweg.wires.source import Broken, Source

NAME = "langgraph"

_KINDS = frozenset({"human", "ai", "tool", "system", "AIMessageChunk", "function"})
_PLACES = ("messages", "values", "channel_values", "state", "checkpoint")
"""Where messages may stand in a state, each in the other."""


def detect(source: Source) -> bool:
    """Know the format by messages of type `human`, `ai` or `tool`, or built by a constructor."""
    return bool(_threads(source))


def read(source: Source) -> Recording:
    """Read the longest list of messages; `Message.line` is the index in it."""
    threads = _threads(source)
    longest = max(threads, key=len)
    items: list[Item | Broken] = [
        Item(index, raw) if isinstance(raw, dict) else Broken(index, str(raw))
        for index, raw in enumerate(longest)
    ]
    messages, read_notes = through_wire(NAME, read_dumped, items)
    others = Counter({"other states": len(threads) - 1} if threads[1:] else {})
    notes: list[Note] = [
        *source.notes,
        *left_out(others, {"other states": "the one with the most messages was read"}),
        *read_notes,
        *pairing_notes(messages),
    ]
    return Recording(source.name, NAME, tuple(messages), tuple(notes))


def _threads(source: Source) -> list[Sequence[Any]]:
    document = source.document
    if document is None:
        rows = [row.value for row in source.objects]
        return [rows] if _is_thread(rows) else list(_of_states(rows))
    if isinstance(document, list) and not _is_thread(document):
        return list(_of_states(document))
    return list(_of_states([document]))


def _of_states(states: Iterable[object]) -> Iterator[Sequence[Any]]:
    for state in states:
        at = state
        for _ in _PLACES:
            if isinstance(at, Mapping):
                at = next((at[place] for place in _PLACES if place in at), None)
        if _is_thread(at):
            assert isinstance(at, list)  # noqa: S101 (says `_is_thread`)
            yield at


def _is_thread(value: object) -> bool:
    return isinstance(value, list) and any(map(_is_message, value))


def _is_message(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    constructed = value.get("type") == "constructor" and "kwargs" in value
    told = "content" in value or isinstance(value.get("data"), Mapping)
    return constructed or (value.get("type") in _KINDS and told)


FORMAT = LogFormat(NAME, "a LangGraph state (`values`, `messages` of type `human`)", detect, read)
