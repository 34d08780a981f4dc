"""The memory in one SQLite file, for any number of processes on one machine.

Deleted rows are erased from the file and from its write-ahead log. SQLite's `secure_delete`
overwrites a row in place when it is deleted. It does not overwrite the copies that remain in a page
when rows move to another one as pages are split and joined: some of these exist after a few hundred
writes. So the tables are rewritten, which overwrites whole pages of the old ones, and the log,
which contains everything, is truncated.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike

from thalweg.database.base import Rows
from thalweg.database.jobs import JobQueue
from thalweg.database.sqlite import SqliteDatabase, SqliteRows
from thalweg.database.sqlite_files import MEMORY
from thalweg.errors import MemoryStoreError
from thalweg_memory.store.scoped import CONTENT, MemoryRows
from thalweg_memory.store.tables import MemoryStore

_FORMAT = 2
"""Since 2, turns can be hidden."""


def begin_erasure(rows: Rows) -> None:
    """Rewrite the tables, in the transaction of the deletion, and record the pending work.

    The transaction locks the file exclusively; tables are copied through memory.
    """
    for table in CONTENT:
        rows.run(f"CREATE TEMP TABLE copied AS SELECT * FROM main.{table}")  # noqa: S608 (ours)
        rows.run(f"DELETE FROM main.{table}")  # noqa: S608 (ours)
        rows.run(f"INSERT INTO main.{table} SELECT * FROM copied")  # noqa: S608 (ours)
        rows.run("DROP TABLE temp.copied")
    rows.run("INSERT OR REPLACE INTO memory_meta VALUES ('unfinished', x'31')")


def is_unfinished(connection: sqlite3.Connection) -> bool:
    """Return whether the log has still to be truncated."""
    row = connection.execute("SELECT 1 FROM memory_meta WHERE name = 'unfinished'").fetchone()
    return row is not None


def finish_erasure(connection: sqlite3.Connection) -> bool:
    """Truncate the log once it has no readers, within the timeout of locks.

    Returns:
        Whether it was truncated.
    """
    (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        return False
    # Where a writer is in the way the log is cut once more by the next one.
    with suppress(sqlite3.OperationalError):
        connection.execute("DELETE FROM memory_meta WHERE name = 'unfinished'")
    return True


class SqliteMemory(MemoryStore):
    """The memories of all scopes, in a SQLite file or in memory.

    The file may hold an archive, too. See `SqliteDatabase` for who may use it at the same time,
    and `MemoryStore` for the contracts of the methods.
    """

    _database: "SqliteDatabase[_SqliteMemoryTransaction]"

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        secret: bytes | None = None,
        busy_timeout_s: float = 10.0,
    ) -> None:
        self._timeout_s = busy_timeout_s
        database = SqliteDatabase(
            path, "memory", _SqliteMemoryTransaction, _closed, busy_timeout_s=busy_timeout_s
        )
        with database.connection() as connection:
            # Deleted content is overwritten, and no copy of it is written to a file of its own.
            connection.execute("PRAGMA secure_delete = ON").fetchall()
            connection.execute("PRAGMA temp_store = MEMORY")
        super().__init__(database, secret, version=_FORMAT)
        self._finish_unfinished()

    @contextmanager
    def _writing(self, owner: str | None) -> Iterator[MemoryRows]:
        with self._database.writing(owner) as rows:
            yield rows
        self._finish_unfinished()

    @contextmanager
    def _forgetting(self, owner: str) -> Iterator[MemoryRows]:
        with self._database.writing(owner) as rows:
            yield rows
            begin_erasure(rows)

    def _erased(self) -> tuple[str, ...]:
        place = self._database.place
        with self._database.connection() as connection:
            if place == MEMORY or finish_erasure(connection):
                return ()
        return (f"{place}-wal: a reader is in the way; the next write tries again",)

    def _finish_unfinished(self) -> None:
        """Finish a `forget` that a crash or a reader interrupted, if nothing is in the way now."""
        with self._database.connection() as connection:
            if self._database.place == MEMORY or not is_unfinished(connection):
                return
            connection.execute("PRAGMA busy_timeout = 0").fetchall()
            try:
                finish_erasure(connection)
            finally:
                timeout = f"PRAGMA busy_timeout = {round(self._timeout_s * 1_000)}"
                connection.execute(timeout).fetchall()


def _closed(path: str) -> MemoryStoreError:
    return MemoryStoreError(f"{path}: the memory is closed; open it again")


class _SqliteMemoryTransaction(SqliteRows):
    """A transaction on the memory's tables."""

    jobs = JobQueue("memory", "sqlite")
    bound = "0"
