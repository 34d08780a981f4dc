"""Search over recorded sessions: by words, and by where, when and from whom an answer is wanted."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice, product
from pathlib import Path
from typing import TypeVar

from thalweg.archive import Archive, Passage, ThreadKey, ThreadPassage
from thalweg.engine.entries import Message
from thalweg.engine.sections import name_choices_remedy
from thalweg.engine.tokens import exact_counter
from thalweg.engine.transcript import as_text, one_line, speaker
from thalweg.errors import ConfigError
from thalweg_recorder.sessions import (
    OWNER,
    RecordedSession,
    SessionOrigin,
    list_origins,
    newest_session,
)

WIDER = 4
"""How many times the tokens of an answer are searched where passages are picked from the hits."""
ORIGIN_TOKENS = 150
"""Of an answer, left for the times, titles and projects of its hits."""
TITLE_CHARS = 60
"""Of a session's title in a hit."""
ERROR_CHARS = 600
"""Of an error without words to search for, its end."""
ERROR_TOKENS = 40
"""Of a hit that is an error, at least: a reference, the call and a line."""
MAX_NAMED = 8
"""Projects that an error names."""
NO_SESSIONS = "import sessions first: thalweg record import"
_Origin = TypeVar("_Origin", bound=SessionOrigin)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilter:
    """The filters of a search; an empty field narrows nothing."""

    project: str = ""
    """A folder: sessions in it, or below it; a relative one is below the current folder."""
    or_above: bool = False
    """Whether sessions in folders above it are searched if there are none."""
    agent: str = ""
    since: str = ""
    """ISO 8601: sessions that ended at this time or later."""
    until: str = ""
    """Sessions that began at this time or earlier."""
    file: str = ""
    """A part of a path: messages that name it, and results of calls that do."""
    command: str = ""
    """A part of a command, likewise."""
    errors: bool = False
    """Only results that the agent marked as errors."""

    def select(self, sessions: Iterable[tuple[str, _Origin]]) -> list[tuple[str, _Origin]]:
        """Return the sessions that are searched, of all sessions with the names of their threads.

        Raises:
            ConfigError: No session is of the agent or in the project, or a time is not ISO 8601.

        Example:
            >>> session = RecordedSession(agent="codex", project="/src/shop", ended_at="2026-11-20")
            >>> SearchFilter(project="/src", since="2026-11-21").select([("t", session)])
            []
        """
        found = [*sessions]
        since, until = _checked_time("since", self.since), _checked_time("until", self.until)
        agents = sorted({session.agent for _, session in found})
        if self.agent and self.agent not in agents:
            fix = name_choices_remedy(self.agent, agents) if agents else NO_SESSIONS
            raise ConfigError("agent", f"no session of {self.agent!r} is recorded", fix)
        found = self._in_project(found)
        return [
            (thread, session)
            for thread, session in found
            if (not self.agent or session.agent == self.agent)
            and (not since or session.ended_at >= since)
            and (not until or "" < session.started_at <= f"{until}~")
        ]

    def _in_project(self, sessions: list[tuple[str, _Origin]]) -> list[tuple[str, _Origin]]:
        folders = (self.project, str(Path(self.project).expanduser().resolve()))
        relations = (SessionOrigin.is_in, SessionOrigin.is_above)[: 1 + self.or_above]
        for is_searched, folder in product(relations, folders):
            found = [pair for pair in sessions if is_searched(pair[1], folder)]
            if found or not self.project:
                return found
        newest = sorted(sessions, key=lambda pair: pair[1].ended_at, reverse=True)
        projects = [*dict.fromkeys(filter(None, (one.project for _, one in newest)))]
        fix = f"use {', '.join(projects[:MAX_NAMED])}" if projects else NO_SESSIONS
        more = f" or one of {len(projects) - MAX_NAMED} more" if len(projects) > MAX_NAMED else ""
        raise ConfigError("project", f"no session in {folder} is recorded", fix + more)

    @property
    def names_sessions(self) -> bool:
        """Whether not every session is searched."""
        return bool(self.project or self.agent or self.since or self.until)

    @property
    def names_messages(self) -> bool:
        """Whether not every message of a session is wanted."""
        return bool(self.file or self.command or self.errors)


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One hit of a search, with its session."""

    reference: str
    """`THREAD#POSITION`: names the message, for `read_reference`."""
    thread: str
    passage: Passage
    at: str = ""
    """Time of the message, or else of the session's newest, ISO 8601; empty if unknown."""
    title: str = ""
    project: str = ""
    exchange: tuple[Passage, ...] = ()
    """Passages of the messages around it, in their order."""


def search_sessions(
    archive: Archive,
    query: str | Sequence[str],
    only: SearchFilter | None = None,
    *,
    owner: str = OWNER,
    max_tokens: int = 3_000,
) -> list[SearchHit]:
    """Find passages in the threads of an owner, best first.

    Args:
        archive: The archive of the threads.
        query: A question or some words, or several phrasings: what more of them find comes first.
            If it is empty, the filter's own words are sought.
        only: The filters. Threads that were not imported are searched if no project, agent or time
            is passed.
        owner: The owner of the threads.
        max_tokens: Bound on `render_found` of the result.

    Raises:
        ConfigError: See `SearchFilter.select`.
    """
    only = only or SearchFilter()
    threads = None
    if only.names_sessions:
        threads = {thread for thread, _ in only.select(list_origins(archive, owner))}
    given = words = [*filter(None, [query] if isinstance(query, str) else query)]
    if only.names_messages:
        words = [" ".join([only.file, only.command, "error" * only.errors, *words])]
    room = max_tokens * WIDER if only.names_messages else max_tokens - ORIGIN_TOKENS
    hits: list[ThreadPassage] = []
    if given or not only.errors:
        hits = archive.search_threads(
            owner, words, threads=threads, max_tokens=room, exchanges=not only.names_messages
        )
    if only.names_messages:
        hits = [hit for hit in hits if _matches(_message(archive, owner, hit), hit.passage, only)]
    if only.errors and not hits:  # other messages with the words may have taken all the room
        names = archive.threads(owner) if threads is None else threads
        errors = _newest_errors(archive, owner, names, only, " ".join(given[:1]).split())
        hits = [*islice(errors, max_tokens // ERROR_TOKENS + 1)]
    sessions = {hit.thread: newest_session(archive, ThreadKey(owner, hit.thread)) for hit in hits}
    found: list[SearchHit] = []
    for hit in hits:
        thread, passage = hit.thread, hit.passage
        position, session = passage.position, sessions[thread] or _NO_SESSION
        at = _message(archive, owner, hit).at or session.ended_at
        origin = (at, session.title, session.project)
        found.append(SearchHit(f"{thread}#{position}", thread, passage, *origin, hit.exchange))
    count = exact_counter()
    while found and count(render_found(found)) > max_tokens:
        last = found.pop()
        if last.exchange:
            found.append(replace(last, exchange=last.exchange[:-1]))
    return found


def _message(archive: Archive, owner: str, hit: ThreadPassage) -> Message:
    position = hit.passage.position
    return archive.messages(ThreadKey(owner, hit.thread), position, position)[0]


def _newest_errors(
    archive: Archive, owner: str, threads: Iterable[str], only: SearchFilter, words: Sequence[str]
) -> Iterator[ThreadPassage]:
    """Yield the ends of errors that have all words, those of the newest sessions first."""
    ended = {name: one.ended_at for name, one in list_origins(archive, owner)}
    for name in sorted(threads, key=lambda one: ended.get(one, ""), reverse=True):
        for position, logged in reversed(archive.errors(ThreadKey(owner, name))):
            message = logged.message
            passage = Passage(position, speaker(message), as_text(message), 0, logged.about)
            if _matches(message, passage, only, words):
                start = max(0, len(passage.text) - ERROR_CHARS)
                yield ThreadPassage(name, replace(passage, text=passage.text[start:], start=start))


def cut_to(most: int, text: str) -> str:
    """Cut a text to a number of tokens."""
    count = exact_counter()
    while count(text) > most:
        text = text[: max(1, len(text) * most // (count(text) + 1))]
    return text


_NO_SESSION = RecordedSession(agent="")


def _matches(
    message: Message, passage: Passage, only: SearchFilter, words: Sequence[str] = ()
) -> bool:
    shown = f"{passage.about}\n{passage.text}".lower()
    has_words = all(word.lower() in shown for word in (only.file, only.command, *words))
    return has_words and (message.is_error or not only.errors)


def _checked_time(name: str, given: str) -> str:
    """Return a time as sessions store it: ISO 8601, and in UTC if it has a time zone."""
    try:
        time = datetime.fromisoformat(given or "2026-11-20")
        time = time.astimezone(UTC) if time.tzinfo else time
    except (ValueError, OverflowError):
        time = None
    if time is None or (given and (given[4:5], given[7:8]) != ("-", "-")):
        raise ConfigError(name, f"{given!r} is no date", "write 2026-11-20 or 2026-11-20T14:30")
    return given.replace(" ", "T") if time.tzinfo is None else time.strftime("%Y-%m-%dT%H:%M:%S")


def render_found(found: Sequence[SearchHit]) -> str:
    """Write hits as people and models read them: reference and call, then the words.

    The first hit of each session has its time, title and project: all hits are within the budget.
    Passages of the messages around a hit have their position alone.

    Example:
        >>> hit = Passage(3, "tool Bash", "2 passed", 0, "Bash make test")
        >>> print(
        ...     render_found([SearchHit("codex:s1#3", "codex:s1", hit, "2026-11-20T14:30", "Fix")])
        ... )
        codex:s1#3 tool Bash · Bash make test
        (2026-11-20 14:30 · Fix)
        2 passed
    """
    return "\n\n".join(_rendered(found))


def _rendered(found: Sequence[SearchHit]) -> Iterator[str]:
    named: set[str] = set()
    for one in found:
        about = f" · {one.passage.about}" if one.passage.about else ""
        lines = [f"{one.reference} {one.passage.speaker}{about}"]
        if one.thread not in named:
            named.add(one.thread)
            origin = (one.at[:16].replace("T", " "), one_line(one.title, TITLE_CHARS), one.project)
            lines += [f"({' · '.join(filter(None, origin))})"] if any(origin) else []
        lines += [one.passage.text]
        for other in one.exchange:
            lines += [f"#{other.position} {other.speaker}", other.text]
        yield "\n".join(lines)
