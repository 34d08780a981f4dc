"""Questions to the final context of a replay: goals, needles, and content that it omits."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, NonNegativeInt, ValidationError

from thalweg.archive import Archive, Span, ThreadKey
from thalweg.engine.entries import Entry, Message, Part, Text, Thinking, ToolCall
from thalweg.engine.transcript import as_text
from thalweg.engine.window.items import WindowItem
from thalweg.errors import HandleError, RecordingError
from thalweg_recorder.recordings.base import Recording

RECALL_TOKENS = 2_000
"""Most tokens of one recall."""


@dataclass(frozen=True, slots=True)
class NeedleQuestion:
    """A question whose answer appears once in the recording."""

    question: str
    answer: str
    line: int
    """Line of the recording with the answer."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A quote of a goal, a request or a constraint that must not be lost."""

    quote: str
    kind: str
    line: int


@dataclass(frozen=True, slots=True)
class Questions:
    """The questions about one recording; empty if there is no file of them."""

    needles: tuple[NeedleQuestion, ...] = ()
    goals: tuple[Goal, ...] = ()


REQUEST_CHARS = 160
"""Most characters of a request that are looked for: long pastes are not kept verbatim."""
LEAST_CHARS = 12
"""A shorter line, such as "yes, go on", requests nothing by itself."""


def requests_of(recording: Recording) -> tuple[Goal, ...]:
    """Return the first line of each request of the user, as what must not be lost.

    For a session without labels of its own.
    """
    found = {
        line[:REQUEST_CHARS]: Goal(line[:REQUEST_CHARS], "request", position)
        for position, message in enumerate(recording.messages)
        if message.is_request
        and len(line := message.text.strip().split("\n", 1)[0].strip()) >= LEAST_CHARS
    }
    return tuple(found.values())


class _NeedleRow(BaseModel):
    trajectory: str
    question: str
    answer: Annotated[str, Field(min_length=1)]
    message_index: NonNegativeInt


class _GoalRow(BaseModel):
    trajectory: str
    quote: Annotated[str, Field(min_length=1)]
    kind: str
    message_index: NonNegativeInt


def find_questions(path: Path) -> dict[str, Questions]:
    """Read `needles.jsonl` and `goals.jsonl` in a recording's folder or one above it.

    Returns:
        Questions by the name of the recording they are about.

    Raises:
        RecordingError: A file of questions is invalid; the error has its path and line.
    """
    needles: dict[str, list[NeedleQuestion]] = defaultdict(list)
    goals: dict[str, list[Goal]] = defaultdict(list)
    for needle in _rows(path, "needles.jsonl", _NeedleRow):
        question = NeedleQuestion(needle.question, needle.answer, needle.message_index)
        needles[needle.trajectory].append(question)
    for goal in _rows(path, "goals.jsonl", _GoalRow):
        goals[goal.trajectory].append(Goal(goal.quote, goal.kind, goal.message_index))
    return {
        name: Questions(tuple(needles[name]), tuple(goals[name])) for name in {*needles, *goals}
    }


ABOVE = 3
"""How many folders above a recording are looked into."""
_AnyRow = TypeVar("_AnyRow", _NeedleRow, _GoalRow)


def _rows(path: Path, name: str, row: type[_AnyRow]) -> list[_AnyRow]:
    """Read the nearest file of that name; unknown fields are ignored."""
    for folder in [*path.resolve().parents][:ABOVE]:
        file = folder / name
        try:
            if file.is_file():
                # A line ends with a line feed only: a quote may hold any other separator.
                lines = enumerate(file.read_text(encoding="utf-8").split("\n"), 1)
                return [_row(file, n, line, row) for n, line in lines if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            problem = f"cannot be read ({error})"
            raise RecordingError(str(file), problem, "fix it or move it away") from error
    return []


def _row(file: Path, number: int, line: str, row: type[_AnyRow]) -> _AnyRow:
    try:
        value = json.loads(line)
        if isinstance(value, dict):
            return row.model_validate(value)
        problem = "is no JSON object"
    except ValidationError as error:
        first = error.errors()[0]
        problem = f"has no good {first['loc'][0]} ({first['msg'].lower()})"
    except (ValueError, RecursionError) as error:
        problem = f"is no JSON ({error})"
    detail = f"line {number} {problem}"
    raise RecordingError(str(file), detail, "fix it or move it away")


def goals_missing(goals: Iterable[Goal], items: Sequence[WindowItem]) -> list[Goal]:
    """Return the goals whose quotes a context does not contain verbatim."""
    text = "\n".join(item.message.text for item in items)
    return [goal for goal in goals if goal.quote not in text]


_HANDLE = re.compile(r"\b[a-z2-7]{16}\b")


def handles_shown(archive: Archive, key: ThreadKey, items: Sequence[WindowItem]) -> dict[str, Span]:
    """Find the handles that messages show, by resolving each as the model would."""
    shown: dict[str, Span] = {}
    words = (word for item in items for word in _HANDLE.findall(as_text(item.message)))
    for handle in dict.fromkeys(words):
        try:
            shown[handle] = archive.span(key, handle)
        except HandleError:
            continue
    return shown


def hidden(
    items: Sequence[WindowItem], entries: Sequence[Entry], *, reasoning: bool = True
) -> list[Entry]:
    """List the messages of a log that a context does not show whole; empty ones are not missed.

    Args:
        items: The context.
        entries: The log.
        reasoning: Whether a message without its reasoning is not whole.
    """
    if not entries:
        return []
    whole = {i.position for i in items if i.position >= 0 and _shows(i, entries, reasoning)}
    return [e for e in entries if e.position not in whole and not _is_empty(e)]


def shows(parts: Sequence[Part], message: Message, *, reasoning: bool) -> bool:
    """Return whether parts contain all of a message; ids of calls may differ.

    Args:
        parts: The shown parts.
        message: The original message.
        reasoning: Whether its reasoning is to be shown, too.
    """
    sent = {_without_id(part) for part in parts}
    return all(
        _without_id(part) in sent
        or _is_space(part)
        or (isinstance(part, Thinking) and not reasoning)
        for part in message.parts
    )


def _shows(item: WindowItem, entries: Sequence[Entry], reasoning: bool) -> bool:  # noqa: FBT001
    first = entries[0].position
    if not first <= item.position < first + len(entries):
        return False
    message = entries[item.position - first].message
    return shows(item.message.parts, message, reasoning=reasoning)


def _is_empty(entry: Entry) -> bool:
    return all(_is_space(part) for part in entry.message.parts)


def _is_space(part: Part) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _without_id(part: Part) -> Part:
    return replace(part, id="") if isinstance(part, ToolCall) else part
