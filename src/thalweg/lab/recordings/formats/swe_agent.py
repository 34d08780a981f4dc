"""Trajectories of SWE-agent: `*.traj`.

The `history` holds the chat. If it is missing, the last step holds it, under `messages` or
`query`; if those are missing too, the chat is built from the steps.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from thalweg.engine.entries import Kind
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg.lab.recordings.base import Recording
from thalweg.lab.recordings.rows import (
    LogFormat,
    Recorded,
    as_str,
    odd_row,
    pairing_notes,
    through_wire,
)
from thalweg.lab.recordings.source import BrokenLine, JsonObject, RecordedFile

NAME = "swe-agent"

_STEP = frozenset({"action", "observation", "response", "thought"})
_CHAT_FIELDS = frozenset(
    {"role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content", "cache_control"}
)


def detect(source: RecordedFile) -> bool:
    """Return whether the document has steps, each an action with its observation."""
    document = source.document
    if not isinstance(document, dict) or not isinstance(steps := document.get("trajectory"), list):
        return False
    return any(isinstance(step, dict) and len(_STEP & step.keys()) > 1 for step in steps)


def read(source: RecordedFile) -> Recording:
    """Return the recording of the chat; observations in user messages are marked as injected."""
    items: list[Recorded | BrokenLine] = []
    notes = list(source.notes)
    answered = False
    for index, entry in enumerate(_history(source.document)):
        if not isinstance(entry, dict):
            items.append(odd_row(index, entry, notes))
            continue
        items.append(_item(index, entry, answered=answered))
        answered = answered or entry.get("role") == "assistant"
    messages, read_notes = through_wire(OpenAIChatWire().read, items)
    notes += [*read_notes, *pairing_notes(messages)]
    return Recording(source.name, NAME, tuple(messages), tuple(notes))


def _history(document: JsonObject) -> list[Any]:
    history = document.get("history")
    if isinstance(history, list) and history:
        return history
    steps = [step for step in document["trajectory"] if isinstance(step, dict)]
    last = steps[-1]
    if isinstance(messages := last.get("messages"), list) and messages:
        return messages
    if isinstance(query := last.get("query"), list) and query:
        return [*query, *_told([last])]
    return list(_told(steps))


def _told(steps: Iterable[Mapping[str, Any]]) -> Iterable[JsonObject]:
    for step in steps:
        said = as_str(step.get("response")) or as_str(step.get("thought"))
        yield {"role": "assistant", "content": said or as_str(step.get("action"))}
        if seen := as_str(step.get("observation")):
            yield {"role": "user", "content": seen}


def _item(index: int, entry: JsonObject, *, answered: bool) -> Recorded:
    raw = {key: value for key, value in entry.items() if key in _CHAT_FIELDS}
    answers = entry.get("tool_call_ids")
    if isinstance(answers, list) and answers and isinstance(answers[0], str):
        raw.setdefault("tool_call_id", answers[0])
    harness = entry.get("role") == "user" and (answered or entry.get("is_demo") is True)
    kind: Kind = "injected" if harness else "said"
    return Recorded(index, raw, kind=kind)


FORMAT = LogFormat(NAME, "a SWE-agent trajectory (`trajectory`, `history`)", detect, read)
