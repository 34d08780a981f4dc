"""Which threads an owner has, and those that have some words in them."""

import re
import time

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.base import INSIDE
from thalweg.archive.threads.journal import read_page
from thalweg.engine.transcript import as_text
from thalweg_server.app.registry import Registry, ThreadRow

PAGE = 100
"""Threads that are looked at together where words are looked for."""
MOST_SEARCHED = 2_000
"""Threads whose messages are looked into for one list."""
_TITLE_CHARS = 60


class Finder:
    """The threads of one owner: those that are registered, and those that the archive has."""

    def __init__(self, owner: str, archive: Archive, registry: Registry) -> None:
        self._owner = owner
        self._archive = archive
        self._registry = registry

    def get(self, thread: str) -> ThreadRow | None:
        """Return one thread; one that was created elsewhere is registered."""
        row = self._registry.get(self._owner, thread)
        if row is None and INSIDE not in thread and self._is_archived(thread):
            self._registry.adopt(self._owner, [self._row(thread)])
            row = self._registry.get(self._owner, thread)
        return row

    def adopt(self) -> None:
        """Register threads that were made elsewhere: on the command line, by another program."""
        known = self._registry.names(self._owner)
        found = self._archive.threads(self._owner)
        new = [one for one in found if INSIDE not in one and one not in known]
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
            return list(self._registry.list(self._owner, limit, after))
        found: list[ThreadRow] = []
        looked = 0
        while len(found) < limit and looked < MOST_SEARCHED:
            rows = self._registry.list(self._owner, PAGE, after)
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
        opening = self._archive.messages(key, 0, 3)
        request = next((as_text(one) for one in opening if one.is_request), "")
        title = " ".join(request.split())[:_TITLE_CHARS]
        return ThreadRow(thread, title, round(first * 1000), round(last * 1000))


def _begins_in(word: str, title: str) -> bool:
    """Return whether a word of a title has this prefix or, in scripts without spaces, has it."""
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}", title) is not None
