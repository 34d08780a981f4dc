"""Trajectories of SWE-agent: `*.traj`.

The `history` holds the chat. If it is missing, the last step holds it, under `messages` or
`query`; if those are missing too, the chat is built from the steps.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg_recorder.recordings.base import Recording
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

NAME = "swe-agent"

_STEP = frozenset({"action", "observation", "response", "thought"})
_CHAT_FIELDS = frozenset(
    {"role", "content", "tool_calls", "tool_call_id", "name", "reasoning_content", "cache_control"}
)


def detect(source: RecordedFile) -> bool:
    """Return whether the document has steps, each an action with its observation."""
    steps = as_objects(as_object(source.document).get("trajectory"))
    return any(len(_STEP & step.keys()) > 1 for step in steps)


def read(source: RecordedFile) -> Recording:
    """Return the recording of the chat; observations in user messages are marked as injected."""
    history = enumerate(_history(source.document))
    return _History.of(source).read(history, NAME, OpenAIChatWire().read)


@dataclass(slots=True)
class _History(SessionRows):
    answered: bool = False
    """Whether the model has sent a message."""

    def take(self, line: int, row: JsonObject) -> None:
        raw = {key: value for key, value in row.items() if key in _CHAT_FIELDS}
        answers = as_list(row.get("tool_call_ids"))
        if answers and isinstance(answers[0], str):
            raw.setdefault("tool_call_id", answers[0])
        harness = row.get("role") == "user" and (self.answered or row.get("is_demo") is True)
        self.items.append(Recorded(line, raw, kind="injected" if harness else "said"))
        self.answered = self.answered or row.get("role") == "assistant"


def _history(document: JsonObject) -> list[Any]:
    if history := as_list(document.get("history")):
        return history
    steps = as_objects(document["trajectory"])
    last = steps[-1]
    if messages := as_list(last.get("messages")):
        return messages
    if query := as_list(last.get("query")):
        return [*query, *_told([last])]
    return list(_told(steps))


def _told(steps: Iterable[JsonObject]) -> Iterable[JsonObject]:
    for step in steps:
        said = as_str(step.get("response")) or as_str(step.get("thought"))
        yield {"role": "assistant", "content": said or as_str(step.get("action"))}
        if seen := as_str(step.get("observation")):
            yield {"role": "user", "content": seen}


FORMAT = LogFormat(NAME, detect, read, endings=(".traj",))
