"""What a replay asks of the final context: are the goals there, can the needles be found?"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, NonNegativeInt, ValidationError

from thalweg.archive import Archive, Passage, Span, ThreadKey, render_passages
from thalweg.context.window import Item
from thalweg.entries import Entry, Part, Text, ToolCall
from thalweg.errors import HandleError, RecordingError
from thalweg.replay.results import Recall
from thalweg.tokens import Counter
from thalweg.transcript import as_outline, as_text

RECALL_TOKENS = 2_000
"""Most tokens of one recall."""
FURTHER_STEPS = 2
"""How many more recalls are tried for a needle that the first does not bring."""


@dataclass(frozen=True, slots=True)
class Needle:
    """A question whose answer stands once in the recording."""

    question: str
    answer: str
    line: int
    """Line of the recording that says it."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A quote of a goal, a request or a constraint that must not be lost."""

    quote: str
    kind: str
    line: int


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of one recording; empty when nothing lies beside it."""

    needles: tuple[Needle, ...] = ()
    goals: tuple[Goal, ...] = ()


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


def questions_beside(path: Path) -> dict[str, Questions]:
    """Read `needles.jsonl` and `goals.jsonl` beside a recording or in a folder above it.

    Returns:
        Questions by the name of the recording they are about.

    Raises:
        RecordingError: A file of questions cannot be read; it is named, with the line.
    """
    needles: dict[str, list[Needle]] = defaultdict(list)
    goals: dict[str, list[Goal]] = defaultdict(list)
    for needle in _rows(path, "needles.jsonl", _NeedleRow):
        asked = Needle(needle.question, needle.answer, needle.message_index)
        needles[needle.trajectory].append(asked)
    for goal in _rows(path, "goals.jsonl", _GoalRow):
        goals[goal.trajectory].append(Goal(goal.quote, goal.kind, goal.message_index))
    return {
        name: Questions(tuple(needles[name]), tuple(goals[name])) for name in {*needles, *goals}
    }


ABOVE = 3
"""How many folders above a recording are looked into."""
_AnyRow = TypeVar("_AnyRow", _NeedleRow, _GoalRow)


def _rows(path: Path, name: str, row: type[_AnyRow]) -> list[_AnyRow]:
    """Read the nearest file of that name; fields that nobody asks for are passed over."""
    for folder in [*path.resolve().parents][:ABOVE]:
        file = folder / name
        try:
            if file.is_file():
                # A line ends with a line feed only: a quote may hold any other separator.
                lines = enumerate(file.read_text(encoding="utf-8").split("\n"), 1)
                return [_row(file, n, line, row) for n, line in lines if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            problem = f"cannot be read ({error})"
            raise RecordingError(str(file), problem, "mend it or move it away") from error
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
    told = f"line {number} {problem}"
    raise RecordingError(str(file), told, "mend it or move it away")


def goals_in(goals: Iterable[Goal], items: Sequence[Item]) -> tuple[int, int]:
    """Count goal quotes that a context has word for word, and those it has not."""
    text = "\n".join(item.message.text for item in items)
    verbatim = [goal.quote in text for goal in goals]
    return sum(verbatim), len(verbatim) - sum(verbatim)


_HANDLE = re.compile(r"\b[a-z2-7]{16}\b")


def handles_shown(archive: Archive, key: ThreadKey, items: Sequence[Item]) -> dict[str, Span]:
    """Find the handles that messages show, by resolving each as the model would."""
    shown: dict[str, Span] = {}
    words = (word for item in items for word in _HANDLE.findall(as_text(item.message)))
    for handle in dict.fromkeys(words):
        try:
            shown[handle] = archive.span(key, handle)
        except HandleError:
            continue
    return shown


def spans_reached(archive: Archive, key: ThreadKey, items: Sequence[Item]) -> list[Span]:
    """Find the spans whose handles a context shows."""
    return [*handles_shown(archive, key, items).values()]


def unreachable_bytes(
    archive: Archive, key: ThreadKey, items: Sequence[Item], entries: Sequence[Entry]
) -> int:
    """Count the bytes of the log that a context neither shows whole nor reaches by a handle.

    What a handle reaches is read back from the archive and compared with what arrived.
    """
    whole = {i.position for i in items if i.position >= 0 and _shows(i, entries)}
    hidden = [e for e in entries if e.position not in whole and not _is_empty(e)]
    if not hidden:
        return 0
    spans = spans_reached(archive, key, items)
    lost = 0
    for entry in hidden:
        p = entry.position
        named = any(s.first <= p <= s.last for s in spans)
        if not named or archive.messages(key, p, p) != [entry.message]:
            lost += entry.size_bytes
    return lost


def _shows(item: Item, entries: Sequence[Entry]) -> bool:
    first = entries[0].position
    if not first <= item.position < first + len(entries):
        return False
    parts = entries[item.position - first].message.parts
    sent = {_without_id(part) for part in item.message.parts}
    return all(_without_id(part) in sent or _is_space(part) for part in parts)


def _is_empty(entry: Entry) -> bool:
    return all(_is_space(part) for part in entry.message.parts)


def _is_space(part: Part) -> bool:
    return isinstance(part, Text) and not part.text.strip()


def _without_id(part: Part) -> Part:
    return replace(part, id="") if isinstance(part, ToolCall) else part


def ask(
    needles: Sequence[Needle],
    archive: Archive,
    key: ThreadKey,
    entries: Sequence[Entry],
    items: Sequence[Item],
    count: Counter,
) -> Recall:
    """Look for each needle: in the context, by one recall with the question's words, by more.

    A recall searches what the context reaches by its handles; where it reaches nothing,
    there is nothing to search.
    """
    context = "\n".join(as_text(item.message) for item in items)
    spans = spans_reached(archive, key, items)
    inline = search = lost = tokens = 0
    steps: list[int] = []
    for needle in needles:
        if needle.answer in context:
            inline += 1
            continue
        found: list[Passage] = []
        if spans:
            found = archive.search(key, needle.question, within=spans, max_tokens=RECALL_TOKENS)
        brought = render_passages(found)
        tokens += count(brought)
        if needle.answer in brought:
            search += 1
            continue
        lost += 1
        at = next((e.position for e in entries if e.message.line == needle.line), -1)
        named = set(map(int, _NAMED.findall(f"{context}\n{brought}")))
        steps.append(_further_steps(needle, at, named if spans else set(), archive, key))
    return Recall(inline, search, lost, tuple(steps), tokens)


_NAMED = re.compile(r"(?m)^#(\d+) ")
READ_CHARS = 8_000
"""Characters that one reading of a handle brings."""
AROUND = 20
"""Messages before and behind a hit that one outline shows."""


def _further_steps(
    needle: Needle, at: int, named: set[int], archive: Archive, key: ThreadKey
) -> int:
    """Count the steps from what a context and a first recall name to the needle's words.

    One step reads a named message, or outlines the messages around one; then a message that
    the outline names is read. A reading is one page, found by the question's words when the
    message has several.

    Returns:
        Steps, at most `FURTHER_STEPS`; -1 when they do not reach it.
    """
    last = archive.length(key) - 1
    if not 0 <= at <= last or not _one_reading_brings(needle, at, archive, key):
        return -1
    if at in named:
        return 1
    for hit in sorted(named, key=lambda n: abs(n - at)):
        first, end = max(0, hit - AROUND), min(last, hit + AROUND)
        outline = as_outline(archive.messages(key, first, end), first)
        if first <= at <= end and at in map(int, _NAMED.findall(outline)):
            return FURTHER_STEPS
    return -1


def _one_reading_brings(needle: Needle, at: int, archive: Archive, key: ThreadKey) -> bool:
    handle = archive.handle(key, Span(at, at))
    if needle.answer in archive.read(key, handle, max_chars=READ_CHARS).text:
        return True
    inside = archive.search(key, needle.question, within=[Span(at, at)], max_tokens=RECALL_TOKENS)
    return needle.answer in render_passages(inside)
