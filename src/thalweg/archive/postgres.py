"""The archive in a PostgreSQL database, for any number of processes on any machines."""

from collections.abc import Iterable, Sequence

import psycopg

from thalweg.archive.search.postgres_words import WordIndex
from thalweg.archive.tables import TableArchive, closed
from thalweg.database.postgres import PostgresDatabase, PostgresRows

_FORMAT = 3
"""Format 2 of the SQLite archive, with row-level security."""


class PostgresArchive(TableArchive):
    """The log of every thread, in the tables `archive_…` of a PostgreSQL database.

    Writers of one thread wait for each other up to `busy_timeout_s`, others not at all. The methods
    are documented in `Archive`, the connections in `PostgresDatabase`.
    """

    def __init__(
        self, url: str, *, secret: bytes | None = None, busy_timeout_s: float = 10.0
    ) -> None:
        database = PostgresDatabase(url, _ArchiveTransaction, closed, busy_timeout_s=busy_timeout_s)
        super().__init__(database, secret, version=_FORMAT)

    def prune(self) -> int:
        """Delete unreferenced blobs, of all owners; return bytes freed."""
        with self._database.writing(None) as rows:
            (freed,) = rows.row("SELECT archive_prune()")
        return int(freed)


class _ArchiveTransaction(PostgresRows):
    """A transaction on the archive's tables."""

    bound = "set_config('thalweg.thread', CAST(id AS text), true)"

    def __init__(self, connection: psycopg.Connection) -> None:
        super().__init__(connection)
        self._words = WordIndex(connection)

    def drop_thread(self, thread: int, *tables: str) -> None:
        """Delete a thread's rows in one statement: access to the others needs the first."""
        rest = ", ".join(
            f"{table}_ AS (DELETE FROM {table} WHERE thread = {thread})"  # noqa: S608 (ours)
            for table in tables
        )
        self.run(f"WITH {rest} DELETE FROM archive_thread WHERE id = {thread}")  # noqa: S608 (ours)

    def list_words(self, listed: Iterable[tuple[int, str]]) -> None:
        """Add passages to the word index."""
        self._words.add(listed)

    def unlist_words(self, first: int, end: int) -> None:
        """Remove passages from the word index; `end` excluded."""
        self._words.remove(first, end)

    def count_listed(self, word: str, first: int, end: int, limit: int) -> tuple[int, int]:
        """Count the passages with a word, all of them: the blocks of its range know how many."""
        del limit
        return self._words.count(word, first, end), first

    def listed_under(
        self,
        words: Sequence[str],
        first: int,
        end: int,
        limit: int,
        *,
        any_of: Sequence[str] = (),
    ) -> list[int]:
        """Return the passages with all of some words, the highest id first."""
        return self._words.find(words, first, end, limit, any_of)
