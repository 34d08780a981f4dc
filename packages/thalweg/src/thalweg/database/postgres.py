"""A PostgreSQL database, for any number of processes on any machines."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any, TypeVar

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from thalweg.database.base import Database, Rows, Value, encode
from thalweg.database.postgres_server import (
    as_storage_error,
    connect,
    connection_options,
    place_of,
    prepare_tables,
)
from thalweg.errors import StorageError, ThalwegError

MAX_CONNECTIONS = 10
"""Connections of one database; more threads than this wait for each other."""

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
        return iter(self._connection.execute(driver_statement(statement), values, binary=True))

    def rows_by(
        self, statement: str, values: Sequence[Value], statement_values: Sequence[Value] = ()
    ) -> Iterator[Any]:
        """See `Rows.rows_by`."""
        query = driver_statement(f"{statement} = ANY(?)")
        return iter(self._connection.execute(query, (*statement_values, list(values)), binary=True))

    def run(self, statement: str, values: Sequence[Value] = ()) -> None:
        """See `Rows.run`."""
        self._connection.execute(driver_statement(statement), values)

    def run_each(self, statement: str, values: Iterable[Sequence[Value]]) -> None:
        """See `Rows.run_each`."""
        with self._connection.cursor() as cursor:
            cursor.executemany(driver_statement(statement), values)

    def _add(self, table: str, rows: Sequence[Sequence[Value]], conflict_clause: str = "") -> None:
        """See `Rows`. Where rows are secured, they cannot be copied in."""
        if rows:
            columns = ", ".join(f"%b::{_ARRAY_TYPES[type(value)]}" for value in rows[0])
            column_values = [list(column) for column in zip(*rows, strict=True)]
            statement = f"INSERT INTO {table} SELECT * FROM unnest({columns}){conflict_clause}"  # noqa: S608 (ours)
            self._connection.execute(statement.encode(), column_values)


_ARRAY_TYPES = {int: "bigint[]", str: "text[]", bytes: "bytea[]"}


def driver_statement(statement: str) -> bytes:
    """Write a statement with the driver's marks in place of `?`."""
    return statement.replace("?", "%s").encode()


class PostgresDatabase(Database[R]):
    """A database with the tables of all components. See `Database`; row-level security holds, too.

    For PostgreSQL 15 and later, tested on 15 and 18. Threads of a process share at most
    `MAX_CONNECTIONS`; a forked process opens its own. A connection that broke between two
    transactions is replaced, one that breaks within a transaction is a `StorageError`.
    Who writes waits for a row that another writer holds up to `busy_timeout_s`.

    Args:
        url: `postgresql://user:password@host:port/database`.
        make_transaction: Makes a transaction from a connection.
        closed_error: Returns the error of a call after `close`, from the database's name.
        busy_timeout_s: How long to wait for other writers, and, at least two seconds, for a
            connection.
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
        make_transaction: Callable[[psycopg.Connection], R],
        closed_error: Callable[[str], ThalwegError],
        *,
        busy_timeout_s: float = 10.0,
        as_owner: Callable[[str], str] = as_owner,
    ) -> None:
        self._rows = make_transaction
        self._as_owner = as_owner
        self._url = url
        self._closed_error = closed_error
        self._timeout_s = busy_timeout_s
        self.place = place_of(url)
        self.begin_read = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;{_PREFER_INDEXES}"
        self.begin_write = (
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
            f" SET LOCAL lock_timeout = {max(1, round(busy_timeout_s * 1_000))};{_PREFER_INDEXES}"
            # A machine that vanishes in the middle lets go of its rows.
            " SET LOCAL idle_in_transaction_session_timeout = '5min';"
        )
        prepare_tables(url, self.place, busy_timeout_s)
        self._lock = Lock()
        self._is_server_lost = False
        self._process_id = os.getpid()
        self._pools = [self._open_pool()]

    @contextmanager
    def _transaction(self, begin: str, owner: str | None) -> Iterator[R]:
        pool = self._pool()
        connection = self._begin_on_connection(
            pool, begin if owner is None else begin + self._as_owner(owner)
        )
        try:
            try:
                yield self._rows(connection)
            except psycopg.Error as error:
                raise as_storage_error(self.place, error) from error
            self._commit(connection)
        finally:
            with suppress(psycopg.Error):
                connection.rollback()  # nothing after a commit
            pool.putconn(connection)

    def _commit(self, connection: psycopg.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except psycopg.Error as error:
            failure = as_storage_error(self.place, error)
            if connection.closed:
                fix = "the write may have succeeded: read the thread before you write again"
                failure = StorageError(failure.place, failure.problem, fix)
            raise failure from error

    def _begin_on_connection(self, pool: ConnectionPool, begin: str) -> psycopg.Connection:
        """Take a connection, and begin a transaction on it."""
        if self._is_server_lost:
            self._reach_server()
        attempts = MAX_CONNECTIONS + 1  # all idle connections may be broken, a new one is not
        while True:
            connection = self._borrow_connection(pool)
            attempts -= 1
            try:
                connection.execute(begin.encode())
            except psycopg.Error as error:
                is_broken = connection.closed
                pool.putconn(connection)
                if not is_broken or not attempts:
                    raise as_storage_error(self.place, error) from error
                self._reach_server()
            else:
                return connection

    def _borrow_connection(self, pool: ConnectionPool) -> psycopg.Connection:
        try:
            return pool.getconn()
        except PoolClosed:
            raise self._closed_error(self.place) from None
        except PoolTimeout:
            self._reach_server()
            problem = (
                f"all {MAX_CONNECTIONS} connections are in use for longer than {pool.timeout} s"
            )
            fix = "try again later, or with fewer threads"
            raise StorageError(self.place, problem, fix) from None

    def _reach_server(self) -> None:
        """Raise the reason if the server cannot be reached: the pool would time out without it."""
        self._is_server_lost = True
        connect(self._url, self.place, self._timeout_s).close()
        self._is_server_lost = False

    def _pool(self) -> ConnectionPool:
        """Return this process's pool; a forked one opens its own, and never closes its parent's."""
        if self._process_id != os.getpid():
            with self._lock:
                if self._process_id != os.getpid():
                    self._pools.append(self._open_pool())
                    self._process_id = os.getpid()
        return self._pools[-1]

    def _open_pool(self) -> ConnectionPool:
        wait_s = max(2.0, self._timeout_s)  # a connection may have to be opened first
        return ConnectionPool(
            self._url,
            kwargs=connection_options(self._timeout_s),
            min_size=0,
            max_size=MAX_CONNECTIONS,
            open=True,
            timeout=wait_s,
            reconnect_timeout=wait_s,
            num_workers=1,
        )

    def close(self) -> None:
        """See `Database.close`. Connections in use are closed when their transaction ends."""
        self._pool().close()


# Every lookup has an index; a table that was not analyzed yet may seem too small to use it.
_PREFER_INDEXES = " SET LOCAL enable_seqscan = off; SET LOCAL jit = off;"
