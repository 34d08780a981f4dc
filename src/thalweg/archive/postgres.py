"""The archive in a PostgreSQL database, for any number of processes on any machines."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

import psycopg

from thalweg.archive.database import Database
from thalweg.archive.postgres_connections import Connections
from thalweg.archive.postgres_rows import PostgresRows, as_owner
from thalweg.archive.postgres_schema import prepare
from thalweg.archive.postgres_words import WordIndex
from thalweg.archive.tables import TableArchive
from thalweg.errors import ArchiveError


class PostgresArchive(TableArchive):
    """The log of every thread, in the tables `archive_…` of a PostgreSQL database.

    Made for PostgreSQL 12 and later. Threads of a process share some connections; writers of
    one thread wait for each other up to `busy_timeout_s`, others not at all. See `Archive` for
    what the methods promise.
    """

    def __init__(
        self, url: str, *, secret: bytes | None = None, busy_timeout_s: float = 10.0
    ) -> None:
        self._connections = Connections(url, busy_timeout_s, _closed)
        place = self._connections.place
        self._secret = prepare(url, place, busy_timeout_s, secret)
        self._begin_write = (
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
            f" SET LOCAL lock_timeout = {max(1, round(busy_timeout_s * 1_000))};"
            # A machine that vanishes in the middle lets go of its thread.
            " SET LOCAL idle_in_transaction_session_timeout = '5min';"
        )

    def prune(self) -> int:
        """See `Archive.prune`. It looks across owners, as a function of the database does."""
        with self._connections.transaction(self._begin_write) as connection:
            row = connection.execute("SELECT archive_prune()").fetchone()
        return 0 if row is None else int(row[0])

    def close(self) -> None:
        """See `Archive.close`."""
        self._connections.close()

    def _read(self, owner: str) -> AbstractContextManager[Database]:
        return self._transaction(_BEGIN_READ + as_owner(owner))

    def _write(self, owner: str) -> AbstractContextManager[Database]:
        return self._transaction(self._begin_write + as_owner(owner))

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Database]:
        with self._connections.transaction(begin) as connection:
            yield _Transaction(connection)


def _closed(place: str) -> ArchiveError:
    return ArchiveError(f"{place}: the archive is closed; open it again")


# Every lookup has an index; a table that was not analyzed yet may seem too small to use it.
_BEGIN_READ = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
    " SET LOCAL enable_seqscan = off; SET LOCAL jit = off;"
)


class _Transaction(PostgresRows):
    """A transaction on the archive's tables."""

    bound = "set_config('thalweg.thread', CAST(id AS text), true)"

    def __init__(self, connection: psycopg.Connection) -> None:
        super().__init__(connection)
        self._words = WordIndex(connection)

    def drop_thread(self, thread: int, *tables: str) -> None:
        """See `Database.drop_thread`. In one statement: without its row, no other is seen."""
        rest = ", ".join(
            f"{table}_ AS (DELETE FROM {table} WHERE thread = {thread})"  # noqa: S608 (ours)
            for table in tables
        )
        self.run(f"WITH {rest} DELETE FROM archive_thread WHERE id = {thread}")  # noqa: S608 (ours)

    def list_words(self, listed: Iterable[tuple[int, str]]) -> None:
        """See `Database.list_words`."""
        self._words.add(listed)

    def unlist_words(self, first: int, end: int) -> None:
        """See `Database.unlist_words`."""
        self._words.remove(first, end)

    def listed_under(self, words: Sequence[str], first: int, end: int, limit: int) -> list[int]:
        """See `Database.listed_under`."""
        return self._words.find(words, first, end, limit)
