"""Search over recorded sessions: by words, and by where, when and from whom an answer is wanted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thalweg.archive import Archive, Passage, ThreadKey
from thalweg.engine.tokens import exact_counter
from thalweg_recorder.sessions import OWNER, RecordedSession, list_sessions

WIDER = 4
"""How many times the tokens of an answer are searched where passages are picked from the hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilter:
    """The filters of a search; an empty field narrows nothing."""

    project: str = ""
    """A folder: sessions in it, or below it."""
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

    def admits(self, session: RecordedSession) -> bool:
        """Return whether a session is searched.

        Example:
            >>> session = RecordedSession(agent="codex", project="/src/shop", ended_at="2026-11-20")
            >>> SearchFilter(project="/src", since="2026-11-21").admits(session)
            False
        """
        return (
            session.is_in(self.project)
            and (not self.agent or session.agent == self.agent)
            and (not self.since or session.ended_at >= self.since)
            and (not self.until or session.started_at <= f"{self.until}~")
        )

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
    """One hit of a search."""

    reference: str
    """`THREAD#POSITION`: names the message, for `read_reference`."""
    thread: str
    passage: Passage


def search_sessions(
    archive: Archive,
    query: str,
    only: SearchFilter | None = None,
    *,
    owner: str = OWNER,
    max_tokens: int = 2_000,
) -> list[SearchHit]:
    """Find passages in the threads of an owner, best first.

    Args:
        archive: The archive of the threads.
        query: A question or some words. If it is empty, the filter's own words are sought.
        only: The filters. Threads that were not imported are searched if no project, agent or time
            is passed.
        owner: The owner of the threads.
        max_tokens: Bound on `render_found` of the result.
    """
    only = only or SearchFilter()
    threads = None
    if only.names_sessions:
        listed = list_sessions(archive, owner)
        threads = [thread for thread, session in listed if only.admits(session)]
    words = " ".join(filter(None, (query, only.file, only.command, "error" * only.errors)))
    room = max_tokens * (WIDER if only.names_messages else 1)
    hits = archive.search_threads(owner, words, threads=threads, max_tokens=room)
    found = [
        SearchHit(f"{hit.thread}#{hit.passage.position}", hit.thread, hit.passage)
        for hit in hits
        if _matches(archive, ThreadKey(owner, hit.thread), hit.passage, only)
    ]
    count = exact_counter()
    while found and count(render_found(found)) > max_tokens:
        found.pop()
    return found


def _matches(archive: Archive, key: ThreadKey, passage: Passage, only: SearchFilter) -> bool:
    shown = f"{passage.about}\n{passage.text}".lower()
    if any(word.lower() not in shown for word in (only.file, only.command) if word):
        return False
    if not only.errors:
        return True
    (message,) = archive.messages(key, passage.position, passage.position)
    return message.is_error


def render_found(found: Sequence[SearchHit]) -> str:
    """Write hits as people and models read them: reference, speaker and call, then the words.

    Example:
        >>> hit = Passage(3, "tool Bash", "2 passed", 0, "Bash make test")
        >>> print(render_found([SearchHit("codex:s1#3", "codex:s1", hit)]))
        codex:s1#3 tool Bash · Bash make test
        2 passed
    """
    return "\n\n".join(_rendered(found))


def _rendered(found: Sequence[SearchHit]) -> Iterator[str]:
    for one in found:
        about = f" · {one.passage.about}" if one.passage.about else ""
        yield f"{one.reference} {one.passage.speaker}{about}\n{one.passage.text}"
