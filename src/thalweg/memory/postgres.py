"""The memory in a PostgreSQL database, for any number of processes on any machines."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from thalweg.archive.database import Value
from thalweg.archive.postgres_connections import Connections
from thalweg.archive.postgres_rows import PostgresRows
from thalweg.archive.postgres_schema import connect
from thalweg.errors import MemoryStoreError, StorageError
from thalweg.memory.embedded import Embed
from thalweg.memory.postgres_erasure import FAILED, KEPT_BY_SERVER, erase
from thalweg.memory.postgres_schema import prepare
from thalweg.memory.rows import MemoryRows
from thalweg.memory.tables import TableMemory


class PostgresMemory(TableMemory):
    """The memories of all scopes, in the tables `memory_…` of a PostgreSQL database.

    Made for PostgreSQL 12 and later. Threads of a process share some connections; writers of
    one scope wait for each other up to `busy_timeout_s`, others not at all. See `MemoryStore`
    for what the methods promise, and `postgres_erasure` for what the server keeps of what was
    forgotten.
    """

    def __init__(
        self,
        url: str,
        *,
        secret: bytes | None = None,
        embed: Embed | None = None,
        busy_timeout_s: float = 10.0,
        rewrite_bytes: int = 64 << 20,
    ) -> None:
        super().__init__()
        self._embed = embed
        self._url = url
        self._timeout_s = busy_timeout_s
        self._rewrite_bytes = rewrite_bytes
        self._connections = Connections(url, busy_timeout_s, _closed)
        self._place = self._connections.place
        with connect(url, self._place, busy_timeout_s) as connection:
            self._secret = prepare(connection, self._place, secret)
        self._begin_write = (
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
            f" SET LOCAL lock_timeout = {max(1, round(busy_timeout_s * 1_000))};"
            " SET LOCAL enable_seqscan = off; SET LOCAL jit = off;"
            # A machine that vanishes in the middle lets go of its scope.
            " SET LOCAL idle_in_transaction_session_timeout = '5min'"
        )

    def close(self) -> None:
        """See `MemoryStore.close`."""
        self._connections.close()

    def _reading(self) -> AbstractContextManager[MemoryRows]:
        return self._transaction(_BEGIN_READ)

    def _writing(self) -> AbstractContextManager[MemoryRows]:
        return self._transaction(self._begin_write)

    def _forgetting(self) -> AbstractContextManager[MemoryRows]:
        return self._transaction(self._begin_write)

    def _erased(self) -> tuple[str, ...]:
        try:
            with connect(self._url, self._place, self._timeout_s) as connection:
                return erase(connection, self._timeout_s, self._rewrite_bytes)
        except StorageError:
            return FAILED, KEPT_BY_SERVER

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[MemoryRows]:
        with self._connections.transaction(begin) as connection:
            yield _Transaction(connection)


# Every lookup has an index; a table that was not analyzed yet may seem too small to use it.
_BEGIN_READ = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
    " SET LOCAL enable_seqscan = off; SET LOCAL jit = off"
)


def _closed(place: str) -> MemoryStoreError:
    return MemoryStoreError(f"{place}: the memory is closed; open it again")


class _Transaction(PostgresRows):
    """A transaction on the memory's tables."""

    skip_held = " FOR UPDATE OF memory_job SKIP LOCKED"
    bound = "set_config('thalweg.scope', CAST(id AS text), true)"

    def insert(self, table: str, rows: Sequence[Sequence[Value]]) -> None:
        """See `Rows.insert`. Where rows are secured, they cannot be copied in."""
        if rows:
            columns = ", ".join(f"%b::{_ARRAYS[type(value)]}" for value in rows[0])
            values = [list(column) for column in zip(*rows, strict=True)]
            statement = f"INSERT INTO {table} SELECT * FROM unnest({columns})"  # noqa: S608 (ours)
            self._connection.execute(statement.encode(), values)


_ARRAYS = {int: "bigint[]", str: "text[]", bytes: "bytea[]"}
