"""The tables of the registry in a PostgreSQL database."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from thalweg.archive.database import Rows
from thalweg.archive.postgres_connections import Connections
from thalweg.archive.postgres_rows import PostgresRows, as_owner
from thalweg.archive.postgres_schema import connect
from thalweg.errors import StorageError, ThalwegError
from thalweg.migrations import bring_up_to_date


class PostgresTables:
    """See `thalweg.app.registry.Tables`."""

    def __init__(self, url: str, *, busy_timeout_s: float = 10.0) -> None:
        self._connections = Connections(url, busy_timeout_s, _closed)
        place = self._connections.place
        bring_up_to_date(lambda: connect(url, place, busy_timeout_s), place)

    def reading(self, owner: str) -> AbstractContextManager[Rows]:
        """See `Tables.reading`."""
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
        return self._transaction(begin + as_owner(owner))

    def writing(self, owner: str) -> AbstractContextManager[Rows]:
        """See `Tables.writing`."""
        begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
        return self._transaction(begin + as_owner(owner))

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Rows]:
        with self._connections.transaction(begin) as connection:
            yield PostgresRows(connection)

    def close(self) -> None:
        """See `Tables.close`."""
        self._connections.close()


def _closed(place: str) -> ThalwegError:
    return StorageError(place, "it is closed", "open it again")
