"""A SQLite file, for any number of processes on one machine."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from threading import RLock
from typing import Any, TypeVar

from thalweg.database.base import Database, Rows, Value
from thalweg.database.migrations.schema import Component
from thalweg.database.sqlite_files import PAGE_BYTES, as_storage_error, connect
from thalweg.errors import ThalwegError

R = TypeVar("R", bound="SqliteRows")
_VALUES_PER_STATEMENT = 500
"""Values that one statement takes."""


class SqliteRows(Rows):
    """A transaction on a SQLite file: it has the file to itself once it writes. See `Rows`."""

    for_update = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def row(self, statement: str, values: Sequence[Value | None] = ()) -> Any:  # noqa: ANN401 (as in `Rows`)
        """See `Rows.row`."""
        return self.connection.execute(statement, values).fetchone()

    def rows(self, statement: str, values: Sequence[Value | None] = ()) -> Iterator[Any]:
        """See `Rows.rows`."""
        return self.connection.execute(statement, values)

    def rows_by(
        self, statement: str, values: Sequence[Value], statement_values: Sequence[Value] = ()
    ) -> Iterator[Any]:
        """See `Rows.rows_by`."""
        for start in range(0, len(values), _VALUES_PER_STATEMENT):
            batch = values[start : start + _VALUES_PER_STATEMENT]
            yield from self.rows(
                f"{statement} IN ({', '.join('?' * len(batch))})", (*statement_values, *batch)
            )

    def run(self, statement: str, values: Sequence[Value] = ()) -> None:
        """See `Rows.run`."""
        self.connection.execute(statement, values)

    def run_each(self, statement: str, values: Iterable[Sequence[Value]]) -> None:
        """See `Rows.run_each`."""
        self.connection.executemany(statement, values)

    def _add(self, table: str, rows: Sequence[Sequence[Value]], conflict_clause: str = "") -> None:
        if rows:
            placeholders = ", ".join("?" * len(rows[0]))
            statement = f"INSERT INTO {table} VALUES ({placeholders}){conflict_clause}"  # noqa: S608 (ours)
            self.connection.executemany(statement, rows)


class SqliteDatabase(Database[R]):
    """A SQLite file with the tables of a component. See `Database`; statements keep owners apart.

    One connection, used by one thread of the process at a time; other processes wait for each
    other's writes up to `busy_timeout_s`.

    Args:
        path: The file, or `:memory:`.
        component: Whose tables it has.
        make_transaction: Makes a transaction from the connection.
        closed_error: Returns the error of a call after `close`, from the file's name.
        busy_timeout_s: How long to wait for other processes.
        page_bytes: Page size of a new file.

    Raises:
        ConfigError: See `sqlite_files.connect`.
        StorageError: Another process holds the file.
    """

    begin_read = "BEGIN"
    begin_write = "BEGIN IMMEDIATE"

    def __init__(
        self,
        path: str | PathLike[str],
        component: Component,
        make_transaction: Callable[[sqlite3.Connection], R],
        closed_error: Callable[[str], ThalwegError],
        *,
        busy_timeout_s: float = 10.0,
        page_bytes: int = PAGE_BYTES,
    ) -> None:
        self.place = fspath(path)
        self._closed_error = closed_error
        self._lock = RLock()
        self._connection: sqlite3.Connection | None = connect(
            self.place, component, busy_timeout_s, page_bytes=page_bytes
        )
        self._rows = make_transaction(self._connection)
        self.is_read_only = bool(self._connection.execute("PRAGMA query_only").fetchone()[0])

    def row(self, statement: str, values: Sequence[Value]) -> Any:  # noqa: ANN401 (as in `Rows`)
        """Return the first row of one statement, or `None`, without a transaction around it."""
        with self._lock:
            if self._connection is None:
                raise self._closed_error(self.place)
            try:
                return self._connection.execute(statement, values).fetchone()
            except sqlite3.Error as error:
                raise as_storage_error(self.place, error) from error

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Use the connection outside of a transaction, alone."""
        with self._transaction("", None) as rows:
            yield rows.connection

    @contextmanager
    def _transaction(self, begin: str, owner: str | None) -> Iterator[R]:
        del owner
        with self._lock:
            if (connection := self._connection) is None:
                raise self._closed_error(self.place)
            try:
                if begin:
                    connection.execute(begin)
                try:
                    yield self._rows
                    if begin:
                        connection.execute("COMMIT")
                finally:
                    if begin and connection.in_transaction:
                        connection.execute("ROLLBACK")
            except sqlite3.Error as error:
                raise as_storage_error(self.place, error) from error

    def close(self) -> None:
        """See `Database.close`."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
