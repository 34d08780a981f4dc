"""The tables of the registry in a PostgreSQL database."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import psycopg

from thalweg.app.registry import statements
from thalweg.archive.database import Rows
from thalweg.archive.postgres_connections import Connections
from thalweg.archive.postgres_rows import PostgresRows
from thalweg.archive.postgres_schema import as_storage_error, connect
from thalweg.errors import StorageError, ThalwegError

_SET_UP = int.from_bytes(b"registry")
"""The advisory lock of whoever sets the tables up."""


class PostgresTables:
    """See `thalweg.app.registry.Tables`."""

    def __init__(self, url: str, *, busy_timeout_s: float = 10.0) -> None:
        self._connections = Connections(url, busy_timeout_s, _closed)
        place = self._connections.place
        with connect(url, place, busy_timeout_s) as connection:
            try:
                with connection.transaction():
                    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_SET_UP,))
                    for statement in statements(bytes_type="BYTEA", int_type="BIGINT"):
                        connection.execute(statement.encode())
            except psycopg.Error as error:
                raise as_storage_error(place, error) from None

    def reading(self) -> AbstractContextManager[Rows]:
        """See `Tables.reading`."""
        return self._transaction("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def writing(self) -> AbstractContextManager[Rows]:
        """See `Tables.writing`."""
        return self._transaction("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Rows]:
        with self._connections.transaction(begin) as connection:
            yield PostgresRows(connection)

    def close(self) -> None:
        """See `Tables.close`."""
        self._connections.close()


def _closed(place: str) -> ThalwegError:
    return StorageError(place, "it is closed", "open it again")
