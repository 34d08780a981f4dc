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
MOST_LINES = 20
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


@dataclass(frozen=True, slots=True)
class Listed:
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
    uploads: Sequence[str] = ()
    """Files of the user, one line each, oldest first."""
    tasks: Sequence[str] = ()
    """Delegated tasks, one line each with status and result, oldest first."""


def plan_additions(now: Surroundings, live: Iterable[Addition], uid: str) -> tuple[Addition, ...]:
    """Plan the additions of a run: place, date, and new uploads and tasks.

    Args:
        now: The surroundings.
        live: Reminders of earlier runs that are still sent.
        uid: `uid` of the user's message that begins the run. If empty, no reminder is added.

    Returns:
        Place and date, the reminders that are still sent, and those that are due.

    Example:
        >>> told = plan_additions(Surroundings(uploads=["/a.csv"]), (), "m1")
        >>> more = plan_additions(Surroundings(uploads=["/a.csv", "/b.csv"]), told, "m2")
        >>> [(one.part, one.before, one.about) for one in more]
        [('uploads', 'm1', '/a.csv'), ('uploads', 'm2', '/b.csv')]
    """
    reminders = [one for one in live if one.before]
    place = _flat(now.place)
    named = [Addition(PLACE, prompt("place").render(place=place), place)] if place else []
    dated = [Addition(DATE, prompt("date").render(date=now.date), now.date)] if now.date else []
    due = (
        _reminder(part, lines, reminders, uid)
        for part, lines in ((UPLOADS, now.uploads), (TASKS, now.tasks))
    )
    return (*named, *dated, *reminders, *(one for one in due if one is not None and uid))


def _reminder(
    part: str, lines: Sequence[str], live: Iterable[Addition], uid: str
) -> Addition | None:
    """Return a reminder with the lines that no live reminder has; `None` if there are none."""
    known = {line for one in live if one.part == part for line in one.text.splitlines()}
    new = [line for line in map(_item, lines) if line not in known]
    if not new:
        return None
    shown, over = new[-MOST_LINES:], max(0, len(new) - MOST_LINES)
    listed = "\n".join(([f"- … and {over:,} older"] if over else []) + shown)
    names = ", ".join(line.removeprefix("- ").partition(" (")[0] for line in shown)
    return Addition(part, prompt(part).render(lines=listed), names, uid)


def _item(line: str) -> str:
    """Return a list item on one line, which cannot end the fence around it."""
    return f"- {_flat(line)}"


def _flat(text: str) -> str:
    flat = " ".join(text.split())
    return re.sub(r"<(?=\s*/?\s*run-context)", r"<\\", flat, flags=re.IGNORECASE)


def with_rest(listed: Sequence[Listed], system_tokens: int) -> Iterator[Listed]:
    """Yield the rest of the system prompt, the author's and the harness's text, then the others."""
    rest = system_tokens - sum(one.tokens for one in listed if one.position < 0)
    if rest > 0:
        yield Listed("instructions", rest)
    yield from listed
