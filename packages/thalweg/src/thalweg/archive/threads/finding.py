"""List the threads of an owner, find one by its name, and its title."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.base import SUBAGENT_SEPARATOR, escape_thread_id
from thalweg.archive.threads.journal import (
    TurnRecord,
    count_turns,
    page_at,
    read_page,
    read_pages,
)
from thalweg.errors import ArchiveError


def own_threads(archive: Archive, owner: str, thread: str) -> list[str]:
    """Return the names of the thread with a caller's id and of those of its subagents."""
    name = escape_thread_id(thread)
    all_names = archive.threads(owner)
    return [
        candidate
        for candidate in all_names
        if candidate == name or candidate.startswith(name + SUBAGENT_SEPARATOR)
    ]


def subagent_threads(archive: Archive, owner: str, names: Iterable[str]) -> list[str]:
    """Return the names of some subagents' threads that exist, and of those of their subagents."""
    prefixes = tuple(f"{name}|" for name in names)
    return [one for one in archive.threads(owner) if f"{one}|".startswith(prefixes)]


TITLE_CHARS = 80
"""Longest title that is made of a request."""
_OPENING = 4
"""Messages at the beginning of a thread among which its first request is."""


def title_of(request: str) -> str:
    r"""Return the title of a thread that has none of its own: the beginning of its first request.

    Example:
        >>> title_of("Fix the build, please.\n\nIt fails since Tuesday.")
        'Fix the build, please. It fails since Tuesday.'
    """
    line = " ".join(request[: 4 * TITLE_CHARS].split())
    return line if len(line) <= TITLE_CHARS else f"{line[: TITLE_CHARS - 1]}…"


def thread_title(archive: Archive, key: ThreadKey) -> str:
    """Return the title that an archive knows of a thread; empty if it has no request.

    It is that of the recorded session, or else `title_of` the first request.
    """
    page = newest_import(archive, key)
    if page is not None and page.session.get("title"):
        return str(page.session["title"])
    opening = archive.messages(key, 0, _OPENING - 1)
    return title_of(next((one.text for one in opening if one.is_request), ""))


def newest_import(archive: Archive, key: ThreadKey) -> TurnRecord | None:
    """Return the record of the newest import of a recorded session; `None` for any other thread.

    Its `session` has the agent that recorded it.
    """
    count = archive.turn_count(key)
    if not count or "agent" not in read_page(archive, key, 0).session:
        return None
    newest = read_page(archive, key, count - 1)
    if "agent" in newest.session:
        return newest
    pages = reversed(read_pages(archive, key).values())
    return next((page for page in pages if "agent" in page.session), None)


@dataclass(frozen=True, slots=True)
class ThreadOverview:
    """Overview of one thread of an owner."""

    thread: str
    length: int
    """Messages in its log."""
    model_calls: int
    """Its turns, those of abandoned branches included."""
    newest: TurnRecord | None
    """The newest record of its journal; `None` if it has none."""


def known_threads(archive: Archive, owner: str) -> list[ThreadOverview]:
    """Return an owner's threads, oldest first."""
    overviews = []
    for thread in archive.threads(owner):
        key = ThreadKey(owner, thread)
        newest = page_at(archive, key)[1] if archive.turn_count(key) else None
        turns = count_turns(archive, key)
        overviews.append(ThreadOverview(thread, archive.length(key), turns, newest))
    return overviews


def find_thread(archive: Archive, owner: str, thread: str) -> ThreadKey:
    """Return the key of an existing thread, by its name in the archive or its caller's id.

    Raises:
        ArchiveError: The owner has no thread of this name.
    """
    threads = archive.threads(owner)
    for name in (thread, escape_thread_id(thread)):
        if name in threads:
            return ThreadKey(owner, name)
    similar = ", ".join(map(repr, get_close_matches(thread, threads, n=3, cutoff=0.5)))
    hint = f"near it: {similar}" if similar else "`thalweg thread list --owner NAME` shows them"
    problem = f"owner {owner!r} has no thread {thread!r}; {hint}"
    raise ArchiveError(problem)
