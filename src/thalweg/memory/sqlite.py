"""The memory in one SQLite file, for any number of processes on one machine."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from threading import RLock

from thalweg.archive.sqlite_rows import SqliteRows
from thalweg.archive.sqlite_schema import MEMORY, as_storage_error, connect
from thalweg.errors import MemoryStoreError
from thalweg.memory.embedded import Embed
from thalweg.memory.queue import DUE_JOB
from thalweg.memory.rows import MemoryRows
from thalweg.memory.sqlite_erasure import begin_erasure, finish_erasure, is_unfinished
from thalweg.memory.sqlite_schema import prepare
from thalweg.memory.tables import TableMemory


class SqliteMemory(TableMemory):
    """The memories of all scopes, in a SQLite file or in memory.

    The file may hold an archive, too. One connection, used by one thread of the process at a
    time; other processes wait for each other's writes up to `busy_timeout_s`. See `MemoryStore`
    for what the methods promise.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        secret: bytes | None = None,
        embed: Embed | None = None,
        busy_timeout_s: float = 10.0,
    ) -> None:
        super().__init__()
        self._embed = embed
        self._path = fspath(path)
        self._lock = RLock()
        self._closed = False
        self._timeout_s = busy_timeout_s
        self._connection = connect(self._path, busy_timeout_s)
        try:
            self._secret = prepare(self._connection, self._path, secret)
            self._finish_unfinished()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """See `MemoryStore.close`."""
        with self._lock:
            self._closed = True
            self._connection.close()

    @contextmanager
    def _use(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._closed:
                problem = f"{self._path}: the memory is closed; open it again"
                raise MemoryStoreError(problem)
            try:
                yield self._connection
            except sqlite3.Error as error:
                raise as_storage_error(self._path, error) from error

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._use() as connection:
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @contextmanager
    def _reading(self, owner: str | None) -> Iterator[MemoryRows]:
        del owner  # nothing here keeps owners apart but the statements
        with self._transaction("BEGIN") as connection:
            yield _Transaction(connection)

    @contextmanager
    def _writing(self, owner: str | None) -> Iterator[MemoryRows]:
        del owner
        with self._use():
            with self._transaction("BEGIN IMMEDIATE") as connection:
                yield _Transaction(connection)
            self._finish_unfinished()

    @contextmanager
    def _forgetting(self, owner: str) -> Iterator[MemoryRows]:
        del owner
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield _Transaction(connection)
            begin_erasure(connection)

    def _erased(self) -> tuple[str, ...]:
        with self._use() as connection:
            if self._path == MEMORY or finish_erasure(connection):
                return ()
        return (f"{self._path}-wal: a reader is in the way; the next write tries again",)

    def _finish_unfinished(self) -> None:
        """Finish what a crash or a reader kept `forget` from, if nothing is in the way now."""
        with self._use() as connection:
            if self._path == MEMORY or not is_unfinished(connection):
                return
            connection.execute("PRAGMA busy_timeout = 0").fetchall()
            try:
                finish_erasure(connection)
            finally:
                timeout = f"PRAGMA busy_timeout = {round(self._timeout_s * 1_000)}"
                connection.execute(timeout).fetchall()


class _Transaction(SqliteRows):
    """A transaction on the memory's tables."""

    due_job = DUE_JOB
    next_due = "SELECT MIN(due) FROM memory_job"
    bound = "0"
