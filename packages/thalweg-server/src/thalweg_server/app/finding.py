"""Which threads an owner has, and those that have some words in them."""

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from thalweg.archive import Archive, ThreadKey, is_thread_id
from thalweg.archive.threads.finding import newest_import, thread_title
from thalweg.archive.threads.journal import read_page
from thalweg.errors import RecordedThreadError
from thalweg_server.app.registry import Registry, ThreadRow

PAGE = 100
"""Threads that are looked at together where words are looked for."""
MOST_SEARCHED = 2_000
"""Threads whose messages are looked into for one list."""


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

    def get(self, thread: str) -> ThreadRow | None:
        """Return one thread; one that was created elsewhere is registered."""
        row = self._registry.get(self._owner, thread)
        if row is None and is_thread_id(thread) and self._is_archived(thread):
            self._registry.adopt(self._owner, [self._row(thread)])
            row = self._registry.get(self._owner, thread)
        return None if row is None else self._titled(row)

    def adopt(self) -> None:
        """Register threads that were made elsewhere: on the command line, by another program."""
        known = self._registry.names(self._owner)
        found = self._archive.threads(self._owner)
        new = [one for one in found if one not in known and is_thread_id(one)]
        if new:
            self._registry.adopt(self._owner, map(self._row, new))

    def find(self, words: str, limit: int, after: ThreadRow | None = None) -> list[ThreadRow]:
        """Return threads, the most recently used first.

        Args:
            words: Words of the title or the messages; empty for all threads.
            limit: How many at most.
            after: Continue after this one.
        """
        self.adopt()
        if not words.strip():
            return [*map(self._titled, self._registry.list(self._owner, limit, after))]
        found: list[ThreadRow] = []
        looked = 0
        while len(found) < limit and looked < MOST_SEARCHED:
            rows = [*map(self._titled, self._registry.list(self._owner, PAGE, after))]
            if not rows:
                break
            found += [row for row in rows if self._has(row, words)]
            after, looked = rows[-1], looked + len(rows)
        return found[:limit]

    def _has(self, row: ThreadRow, words: str) -> bool:
        title = row.title.casefold()
        if all(_begins_in(word, title) for word in words.casefold().split()):
            return True
        key = ThreadKey(self._owner, row.thread)
        return bool(self._archive.search(key, words, max_tokens=200))

    def _is_archived(self, thread: str) -> bool:
        return bool(self._archive.length(ThreadKey(self._owner, thread)))

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

    def _titled(self, row: ThreadRow) -> ThreadRow:
        """Return a row with the title of today: each import of a session may change its title."""
        key = ThreadKey(self._owner, row.thread)
        is_recorded = bool(recorded_by(self._archive, key))
        return replace(row, title=thread_title(self._archive, key)) if is_recorded else row


def _time(session: Mapping[str, object], name: str, otherwise: float) -> float:
    """Return a time of a recorded session, in seconds since 1970."""
    try:
        return datetime.fromisoformat(str(session.get(name, ""))).timestamp()
    except ValueError:
        return otherwise


def _begins_in(word: str, title: str) -> bool:
    """Return whether a word of a title has this prefix or, in scripts without spaces, has it."""
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}", title) is not None
