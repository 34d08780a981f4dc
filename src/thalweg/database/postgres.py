"""A PostgreSQL database, for any number of processes on any machines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg

from thalweg.database.base import Database, Rows, Value, encode
from thalweg.database.postgres_connections import PostgresConnections
from thalweg.database.postgres_server import prepare
from thalweg.errors import ThalwegError

R = TypeVar("R", bound=Rows)


def as_owner(owner: str) -> str:
    r"""Write the statement that makes a transaction an owner's: it sees no rows of others.

    Example:
        >>> as_owner("ada")
        " SET LOCAL thalweg.owner = E'\\\\x616461'"
    """
    return f" SET LOCAL thalweg.owner = E'\\\\x{encode(owner).hex()}'"


class PostgresRows(Rows):
    """A transaction on a PostgreSQL database. See `Rows`."""

    for_update = " FOR UPDATE"

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, values: Sequence[Value | None] = ()) -> Iterator[Any]:
        """See `Rows.rows`."""
        return iter(self._connection.execute(marked(statement), values, binary=True))

    def rows_by(
        self, statement: str, values: Sequence[Value], given: Sequence[Value] = ()
    ) -> Iterator[Any]:
        """See `Rows.rows_by`."""
        query = marked(f"{statement} = ANY(?)")
        return iter(self._connection.execute(query, (*given, list(values)), binary=True))

    def run(self, statement: str, values: Sequence[Value] = ()) -> None:
        """See `Rows.run`."""
        self._connection.execute(marked(statement), values)

    def run_each(self, statement: str, values: Iterable[Sequence[Value]]) -> None:
        """See `Rows.run_each`."""
        with self._connection.cursor() as cursor:
            cursor.executemany(marked(statement), values)

    def _add(self, table: str, rows: Sequence[Sequence[Value]], conflict: str = "") -> None:
        """See `Rows`. Where rows are secured, they cannot be copied in."""
        if rows:
            columns = ", ".join(f"%b::{_ARRAYS[type(value)]}" for value in rows[0])
            values = [list(column) for column in zip(*rows, strict=True)]
            statement = f"INSERT INTO {table} SELECT * FROM unnest({columns}){conflict}"  # noqa: S608 (ours)
            self._connection.execute(statement.encode(), values)


_ARRAYS = {int: "bigint[]", str: "text[]", bytes: "bytea[]"}


def marked(statement: str) -> bytes:
    """Write a statement with the driver's marks in place of `?`."""
    return statement.replace("?", "%s").encode()


class PostgresDatabase(Database[R]):
    """A database with the tables of all components. See `Database`; row-level security holds, too.

    For PostgreSQL 15 and later, tested on 15 and 18. Threads of a process share some connections.
    Who writes waits for a row that another writer holds up to `busy_timeout_s`.

    Args:
        url: `postgresql://user:password@host:port/database`.
        rows: Makes a transaction of a connection.
        closed: Makes the error, of the database's name, of a call after `close`.
        busy_timeout_s: How long to wait for a connection, and for other writers.
        as_owner: Writes the statement that makes a transaction an owner's.

    Raises:
        ConfigError: The address cannot be read; the tables were made by a newer version; or they
            are missing or older, and this role may not make or change them; or the server is
            older than PostgreSQL 15.
        StorageError: The server cannot be reached, or fails.
    """

    def __init__(
        self,
        url: str,
        rows: Callable[[psycopg.Connection], R],
        closed: Callable[[str], ThalwegError],
        *,
        busy_timeout_s: float = 10.0,
        as_owner: Callable[[str], str] = as_owner,
    ) -> None:
        self._rows = rows
        self._as_owner = as_owner
        self._connections = PostgresConnections(url, busy_timeout_s, closed)
        self.place = self._connections.place
        self.begin_read = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;{_BY_INDEX}"
        self.begin_write = (
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
            f" SET LOCAL lock_timeout = {max(1, round(busy_timeout_s * 1_000))};{_BY_INDEX}"
            # A machine that vanishes in the middle lets go of its rows.
            " SET LOCAL idle_in_transaction_session_timeout = '5min';"
        )
        prepare(url, self.place, busy_timeout_s)

    @contextmanager
    def _transaction(self, begin: str, owner: str | None) -> Iterator[R]:
        whole = begin if owner is None else begin + self._as_owner(owner)
        with self._connections.transaction(whole) as connection:
            yield self._rows(connection)

    def close(self) -> None:
        """See `Database.close`."""
        self._connections.close()


# Every lookup has an index; a table that was not analyzed yet may seem too small to use it.
_BY_INDEX = " SET LOCAL enable_seqscan = off; SET LOCAL jit = off;"
