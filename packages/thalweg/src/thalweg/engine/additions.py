"""Additions: the parts of a request that are no messages of its thread.

Two rules: what changes between runs precedes a new message of the user, so that a request begins
like the previous one, and the system prompt changes once a day at most; an addition whose message
was removed is due again in the next run.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from thalweg.engine.prompts import prompt

PLACE, DATE, UPLOADS, TASKS = "place", "date", "uploads", "tasks"
MEMORY, SKILLS = "memory", "skills"
"""Names of parts."""
MAX_REMINDER_LINES = 20
"""Most files and most tasks that one reminder lists, the newest."""


@dataclass(frozen=True, slots=True)
class Addition:
    """One part of a request that is no message of the thread."""

    part: str
    """Its kind, in one word: `date`, `memory`, `skills`."""
    text: str
    about: str = ""
    """One line about it for people: counts and names, without content of a memory."""
    before: str = ""
    """`uid` of the user's message that it precedes; empty for the system prompt."""
    lines: Sequence[str] = ()
    """The lines that a reminder announces, those of older files or tasks included."""


@dataclass(frozen=True, slots=True)
class AdditionSize:
    """An addition as the journal stores it: its size, without its text."""

    part: str
    tokens: int
    about: str = ""
    position: int = -1
    """Position of the message that it precedes; -1 for the system prompt."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The surroundings of a run that begins."""

    date: str = ""
    """The day, such as `2026-11-23 (Monday)`; empty to omit it."""
    place: str = ""
    """The location of the user, on one line: a folder and its project; empty if unspecified."""
    uploads: Sequence[tuple[str, str]] = ()
    """Files of the user, each with a note such as its size, oldest first."""
    tasks: Sequence[tuple[str, str]] = ()
    """Delegated tasks, each with its status and result, oldest first."""


def plan_additions(
    surroundings: Surroundings, live: Iterable[Addition], uid: str
) -> tuple[Addition, ...]:
    """Plan the additions of a run: place, date, and new uploads and tasks.

    Args:
        surroundings: The surroundings.
        live: Reminders of earlier runs that are still sent.
        uid: `uid` of the user's message that begins the run. If empty, no reminder is added.

    Returns:
        Place and date, the reminders that are still sent, and those that are due.

    Example:
        >>> old, new = ("/a.csv", "(9 bytes)"), ("/b (1).csv", "(5 bytes)")
        >>> sent = plan_additions(Surroundings(uploads=[old]), (), "m1")
        >>> more = plan_additions(Surroundings(uploads=[old, new]), sent, "m2")
        >>> [(addition.part, addition.before, addition.about) for addition in more]
        [('uploads', 'm1', '/a.csv'), ('uploads', 'm2', '/b (1).csv')]
    """
    reminders = [addition for addition in live if addition.before]
    stated = ((PLACE, _fence_safe_line(surroundings.place)), (DATE, surroundings.date))
    of_system_prompt = (
        Addition(part, prompt(part).render(**{part: text}), text) for part, text in stated if text
    )
    due_reminders = (
        _reminder(part, lines, reminders, uid)
        for part, lines in ((UPLOADS, surroundings.uploads), (TASKS, surroundings.tasks))
    )
    return (
        *of_system_prompt,
        *reminders,
        *(addition for addition in due_reminders if addition is not None and uid),
    )


def _reminder(
    part: str, items: Sequence[tuple[str, str]], live: Iterable[Addition], uid: str
) -> Addition | None:
    """Return a reminder of the items that no live reminder announces; `None` if there are none."""
    known = {line for addition in live if addition.part == part for line in addition.lines}
    names = {_fence_safe_line(f"{name} {note}"): _fence_safe_line(name) for name, note in items}
    new = [line for line in names if line not in known]
    if not new:
        return None
    newest = new[-MAX_REMINDER_LINES:]
    older = [f"… and {len(new) - len(newest):,} older"] if len(new) > len(newest) else []
    listing = "\n".join(f"- {line}" for line in (*older, *newest))
    about = ", ".join(names[line] for line in newest)
    return Addition(part, prompt(part).render(lines=listing), about, uid, new)


def _fence_safe_line(text: str) -> str:
    """Return a text on one line, which cannot end the fence around it."""
    flat = " ".join(text.split())
    return re.sub(r"<(?=\s*/?\s*run-context)", r"<\\", flat, flags=re.IGNORECASE)


def with_instructions(listed: Sequence[AdditionSize], system_tokens: int) -> Iterator[AdditionSize]:
    """Yield the part of the system prompt that no addition has, then the additions."""
    instruction_tokens = system_tokens - sum(
        addition.tokens for addition in listed if addition.position < 0
    )
    if instruction_tokens > 0:
        yield AdditionSize("instructions", instruction_tokens)
    yield from listed
