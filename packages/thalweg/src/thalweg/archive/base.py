"""The values of an archive: ids of threads, spans, rows, and results of reading and searching."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, NewType

from thalweg.engine.entries import Message
from thalweg.errors import ThreadIdError

Handle = NewType("Handle", str)
"""Sixteen letters and digits that refer to a span of one thread. Unguessable, and no credential:
it resolves only for the owner and thread it was made for. `HANDLE#12` refers to the message at
position 12 inside the span, `HANDLE#12-15` to those from 12 to 15."""


SUBAGENT_SEPARATOR = "/~/"
"""Separates a thread's id from the path of a subagent in it; no name of a caller's contains it."""


@lru_cache(maxsize=1_024)
def escape_thread_id(thread: str) -> str:
    """Return the thread name of a caller's id; it does not contain `SUBAGENT_SEPARATOR`."""
    return thread.replace("/~", "/~~")


def caller_id(name: str) -> str:
    """Return the caller's id of a thread's name, or of a subagent's: what `thread_id` was.

    Example:
        >>> caller_id(escape_thread_id("a/~b") + SUBAGENT_SEPARATOR + "tools:1")
        'a/~b'
    """
    return name.partition(SUBAGENT_SEPARATOR)[0].replace("/~~", "/~")


ThreadId = NewType("ThreadId", str)
"""The id of a thread, as a caller chooses it (LangGraph's `thread_id`): `parse_thread_id` makes it.

It is also the name of the thread in an archive, which has further threads: those of subagents."""
MAX_ID_BYTES = 512
"""Of an id of a thread, as UTF-8: keys of PostgreSQL are bounded."""
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def parse_thread_id(given: str) -> ThreadId:
    """Return a text as the id of a thread.

    It may have letters of any script, spaces and punctuation, such as `:` and `/`. It is never the
    name of a file or of a folder.

    Raises:
        ThreadIdError: It is empty, has a control character, a lone surrogate or `/~`, or is longer
            than `MAX_ID_BYTES`.

    Example:
        >>> parse_thread_id("claude-code:8b1c3f")
        'claude-code:8b1c3f'
        >>> parse_thread_id("")
        Traceback (most recent call last):
        thalweg.errors.ThreadIdError: the thread id '' is empty; use at least one character
    """
    if not given:
        raise ThreadIdError(given, "is empty; use at least one character")
    if (wrong := _UNPRINTABLE.search(given)) is not None:
        raise ThreadIdError(given, f"has {wrong[0]!r}, which is no character of a text; omit it")
    if SUBAGENT_SEPARATOR[:2] in given:
        problem = (
            f"has {SUBAGENT_SEPARATOR[:2]!r}, which only names of subagents' threads have; omit it"
        )
        raise ThreadIdError(given, problem)
    if (size := len(given.encode())) > MAX_ID_BYTES:
        raise ThreadIdError(given, f"has {size:,} bytes; use at most {MAX_ID_BYTES}")
    return ThreadId(given)


def is_thread_id(name: str) -> bool:
    """Return whether a thread's name in an archive is a `ThreadId`.

    Neither a subagent's is one, nor the escaped name of an id with `/~`, which only
    `ContextMiddleware` accepts: a run under that name would be of another thread.
    """
    try:
        parse_thread_id(name)
    except ThreadIdError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """The owner and the name of a thread. Every call to an archive is bound to one."""

    owner: str
    thread: str


@dataclass(frozen=True, slots=True)
class Span:
    """Positions `first` to `last` of a thread, both included, from 0."""

    first: int
    last: int


def intersect_spans(spans: Sequence[Span], whole: Span) -> list[Span]:
    """Return the intersections of spans with another span."""
    return [
        Span(max(whole.first, span.first), min(whole.last, span.last))
        for span in spans
        if span.first <= whole.last and whole.first <= span.last
    ]


@dataclass(frozen=True, slots=True)
class Logged:
    """A message to append to the log, with additional text for search."""

    message: Message
    about: str = ""
    """In a tool result: the call it answers, on one line. Searched, never returned."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A row of the journal, which the archive stores next to a log."""

    body: str
    """JSON of the archive's caller; the archive does not parse it."""
    state: bytes = b""
    """The state to continue from this turn without reading the log from its beginning, or what is
    read of the newest records of all threads (`Archive.newest_states`); empty on most turns."""
    attachments: Sequence[str] = ()
    """Texts to store with the thread, as `Archive.attach` does."""


class Extent(NamedTuple):
    """The sizes of a thread."""

    generation: int = 0
    """Another one after the thread was deleted and began again; 0 if there is no thread."""
    length: int = 0
    """Messages in its log."""
    turns: int = 0
    """Records in its journal."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of reading a reference: a bounded piece of text and its position in the whole."""

    text: str
    start: int
    """Index of the first character of `text` in the whole."""
    total_chars: int
    """Characters of the whole; -1 for an outline, since not all of its messages were read."""
    total_lines: int
    """Lines of the whole; an outline has one for each message of its span."""
    next: str = ""
    """Instructions for the model to read on; empty at the end."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One hit of a search."""

    position: int
    speaker: str
    text: str
    """The text around the hit, verbatim."""
    start: int
    """Index of the first character of `text` in the message's text (`transcript.as_text`)."""
    about: str = ""


@dataclass(frozen=True, slots=True)
class ThreadPassage:
    """One hit of a search over several threads."""

    thread: str
    passage: Passage
    exchange: tuple[Passage, ...] = ()
    """Passages of the messages around it, in their order."""


def render_passages(passages: Sequence[Passage]) -> str:
    """Render passages for the model: position, speaker and call, then the text.

    Example:
        >>> print(render_passages([Passage(3, "tool ls", "README.md", 0, "ls {}")]))
        #3 tool ls · ls {}
        README.md
    """
    return "\n\n".join(
        f"#{p.position} {p.speaker}{f' · {p.about}' if p.about else ''}\n{p.text}" for p in passages
    )
