"""Which threads an owner has, and those that have some words in them."""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import Any

from thalweg.archive import Archive, Passage, ThreadKey, is_thread_id
from thalweg.archive.base import Extent
from thalweg.archive.threads.finding import newest_import, thread_title
from thalweg.archive.threads.journal import read_page, read_pages
from thalweg.engine.edits import Fold
from thalweg.errors import EmptyThreadError, NoSuchThreadError, RecordedThreadError
from thalweg_server.app.registry import Registry, ThreadRow

PAGE = 100
"""Threads that are read together."""
OWN = "own"
"""What a filter names instead of an agent: threads that no other agent recorded."""
_CACHED = 1 << 15
"""Threads about which each cache has an entry."""


@dataclass(frozen=True, slots=True)
class ThreadFilter:
    """The threads of a list; an empty field narrows nothing."""

    words: str = ""
    """Words of the title or of the messages."""
    agent: str = ""
    """The agent that recorded them, or `OWN`."""
    project: str = ""
    compacted: bool = False


@dataclass(frozen=True, slots=True)
class FoundThread:
    """A thread of a list, with the passage that has the words of the filter."""

    row: ThreadRow
    passage: Passage | None = None


def recorded_by(archive: Archive, key: ThreadKey) -> str:
    """Return the agent whose imported session a thread is; empty for any other thread."""
    page = newest_import(archive, key)
    return "" if page is None else str(page.session["agent"])


def check_writable(archive: Archive, key: ThreadKey) -> None:
    """Refuse to change or to answer a thread that another agent recorded.

    Raises:
        RecordedThreadError: It is one.
    """
    if agent := recorded_by(archive, key):
        raise RecordedThreadError(key.thread, agent)


class Finder:
    """The threads of one owner: those that are registered, and those that the archive has."""

    def __init__(self, owner: str, archive: Archive, registry: Registry) -> None:
        self._owner = owner
        self._archive = archive
        self._registry = registry

    def get(self, thread: str) -> ThreadRow:
        """Return one thread; one that was created elsewhere is registered.

        Raises:
            NoSuchThreadError: There is none.
        """
        row, key = self._registry.get(self._owner, thread), ThreadKey(self._owner, thread)
        if row is None and is_thread_id(thread) and self._archive.length(key):
            self._registry.adopt(self._owner, [self._row(thread)])
            row = self._registry.get(self._owner, thread)
        if row is None:
            raise NoSuchThreadError(thread)
        return replace(row, title=self._session(row).get("title", row.title))

    def adopt(self) -> None:
        """Register threads that were made elsewhere: on the command line, by another program."""
        known = self._registry.names(self._owner)
        found = self._archive.threads(self._owner)
        new = [one for one in found if one not in known and is_thread_id(one)]
        if new:
            self._registry.adopt(self._owner, map(self._row, new))

    def find(
        self, only: ThreadFilter, limit: int, after: ThreadRow | None = None
    ) -> list[FoundThread]:
        """Return threads, the most recently used first.

        Args:
            only: Which ones.
            limit: How many at most.
            after: Continue after this one.
        """
        self.adopt()
        return [*islice(self._find(only, after), limit)]

    def _find(self, only: ThreadFilter, after: ThreadRow | None) -> Iterator[FoundThread]:
        words = only.words.split()
        hits = self._archive.find_threads(self._owner, only.words) if words else ()
        passages = {hit.thread: hit.passage for hit in hits}
        for row in self._rows(after):
            session, passage = self._session(row), passages.get(row.thread)
            title = str(session.get("title", row.title))
            is_named = all(_begins_in(word.casefold(), title.casefold()) for word in words)
            if (is_named or passage) and self._is_of(row, session, only):
                yield FoundThread(replace(row, title=title), passage)

    def _rows(self, after: ThreadRow | None = None) -> Iterator[ThreadRow]:
        while rows := self._registry.list(self._owner, PAGE, after):
            yield from rows
            after = rows[-1]

    def _is_of(self, row: ThreadRow, session: Mapping[str, Any], only: ThreadFilter) -> bool:
        """Return whether a thread has the agent, the project and the compactions of a filter."""
        agent, project = session.get("agent", OWN), session.get("project", "")
        if only.agent not in {"", agent} or only.project not in {"", project}:
            return False
        if not only.compacted or session.get("compactions"):
            return True
        key = ThreadKey(self._owner, row.thread)
        return _is_compacted(self._archive, key, self._archive.extent(key))  # type: ignore[arg-type]  # hashable

    def origins(self) -> set[tuple[str, str]]:
        """Return the agents of the threads with their projects; `OWN` and none, of others."""
        sessions = map(self._session, self._rows())
        return {(one.get("agent", OWN), one.get("project", "")) for one in sessions}

    def _session(self, row: ThreadRow) -> Mapping[str, Any]:
        """Return the facts of a recorded session as of its newest import; empty for others."""
        key = ThreadKey(self._owner, row.thread)
        with suppress(EmptyThreadError):
            if _is_recorded(self._archive, key, row.created):  # type: ignore[arg-type]  # hashable
                return _newest_session(self._archive, key, self._archive.extent(key))  # type: ignore[arg-type]  # hashable
        return {}

    def _row(self, thread: str) -> ThreadRow:
        key = ThreadKey(self._owner, thread)
        count = self._archive.turn_count(key)
        now = time.time()
        first = read_page(self._archive, key, 0).at if count else now
        last = read_page(self._archive, key, count - 1).at if count else now
        session = page.session if (page := newest_import(self._archive, key)) else {}
        first, last = _time(session, "started_at", first), _time(session, "ended_at", last)
        title = thread_title(self._archive, key)
        return ThreadRow(thread, title, round(first * 1000), round(last * 1000))


@lru_cache(_CACHED)
def _is_recorded(archive: Archive, key: ThreadKey, created: int) -> bool:
    """Return whether the first record of a thread, which never changes, is an import.

    Raises:
        EmptyThreadError: It has no record yet; that is not cached.
    """
    del created  # another one after the thread was deleted and began again
    if not archive.turn_count(key):
        raise EmptyThreadError(key.thread)
    return "agent" in read_page(archive, key, 0).session


@lru_cache(_CACHED)
def _newest_session(archive: Archive, key: ThreadKey, extent: Extent) -> Mapping[str, Any]:
    """Return the facts of a recorded session with its title, as of the sizes of its thread."""
    del extent
    page = newest_import(archive, key)
    return {**page.session, "title": thread_title(archive, key)} if page else {}


@lru_cache(_CACHED)
def _is_compacted(archive: Archive, key: ThreadKey, extent: Extent) -> bool:
    """Return whether a thread was compacted, on any branch, as of its sizes."""
    del extent
    pages = read_pages(archive, key).values()
    return any(isinstance(edit, Fold) for page in pages for edit in page.edits)


def _time(session: Mapping[str, object], name: str, otherwise: float) -> float:
    """Return a time of a recorded session, in seconds since 1970."""
    try:
        return datetime.fromisoformat(str(session.get(name, ""))).timestamp()
    except ValueError:
        return otherwise


def _begins_in(word: str, title: str) -> bool:
    """Return whether a word of a title has this prefix or, in scripts without spaces, has it."""
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}", title) is not None
