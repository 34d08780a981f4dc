"""The memory in one SQLite file, for any number of processes on one machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike

from thalweg.database.sqlite import SqliteDatabase, SqliteRows
from thalweg.database.sqlite_files import MEMORY
from thalweg.errors import MemoryStoreError
from thalweg_memory.forgetting.sqlite_erasure import begin_erasure, finish_erasure, is_unfinished
from thalweg_memory.search.embedding_function import Embed
from thalweg_memory.store.queue import DUE_JOB
from thalweg_memory.store.rows import MemoryRows
from thalweg_memory.store.tables import TableMemory


class SqliteMemory(TableMemory):
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
        embed: Embed | None = None,
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
        super().__init__(database, secret, embed=embed, version=_FORMAT)
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


_FORMAT = 2
"""Since 2, turns can be hidden."""


def _closed(path: str) -> MemoryStoreError:
    return MemoryStoreError(f"{path}: the memory is closed; open it again")


class _SqliteMemoryTransaction(SqliteRows):
    """A transaction on the memory's tables."""

    due_job = DUE_JOB
    next_due = "SELECT MIN(due) FROM memory_job"
    bound = "0"
