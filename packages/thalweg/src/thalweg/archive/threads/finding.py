"""List the threads of an owner, and find one by its name."""

from dataclasses import dataclass
from difflib import get_close_matches

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.base import INSIDE, escaped
from thalweg.archive.threads.journal import TurnRecord, read_page
from thalweg.errors import ArchiveError


def own_threads(archive: Archive, owner: str, thread: str) -> list[str]:
    """Return the names of the thread with a caller's id and of those of its subagents."""
    name = escaped(thread)
    found = archive.threads(owner)
    return [one for one in found if one == name or one.startswith(name + INSIDE)]


@dataclass(frozen=True, slots=True)
class ThreadOverview:
    """Overview of one thread of an owner."""

    thread: str
    length: int
    """Messages in its log."""
    model_calls: int
    newest: TurnRecord | None
    """The newest turn; `None` if the thread has no journal."""


def known_threads(archive: Archive, owner: str) -> list[ThreadOverview]:
    """Return an owner's threads, oldest first."""
    found = []
    for thread in archive.threads(owner):
        key = ThreadKey(owner, thread)
        count = archive.turn_count(key)
        newest = read_page(archive, key, count - 1) if count else None
        found.append(
            ThreadOverview(thread, archive.length(key), newest.turn if newest else 0, newest)
        )
    return found


def find_thread(archive: Archive, owner: str, thread: str) -> ThreadKey:
    """Return the key of an existing thread.

    Raises:
        ArchiveError: The owner has no thread of this name.
    """
    threads = archive.threads(owner)
    if thread in threads:
        return ThreadKey(owner, thread)
    near = ", ".join(map(repr, get_close_matches(thread, threads, n=3, cutoff=0.5)))
    hint = f"near it: {near}" if near else "`thalweg thread list` shows the names"
    problem = f"owner {owner!r} has no thread {thread!r}; {hint}"
    raise ArchiveError(problem)
