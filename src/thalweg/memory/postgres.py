"""The memory in a PostgreSQL database, for any number of processes on any machines."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from thalweg.archive.postgres_connections import Connections
from thalweg.archive.postgres_rows import PostgresRows, as_owner
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
        self._secret = prepare(url, self._place, busy_timeout_s, secret)
        self._begin_write = (
            "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
            f" SET LOCAL lock_timeout = {max(1, round(busy_timeout_s * 1_000))};"
            " SET LOCAL enable_seqscan = off; SET LOCAL jit = off;"
            # A machine that vanishes in the middle lets go of its scope.
            " SET LOCAL idle_in_transaction_session_timeout = '5min';"
        )

    def close(self) -> None:
        """See `MemoryStore.close`."""
        self._connections.close()

    def _reading(self, owner: str | None) -> AbstractContextManager[MemoryRows]:
        return self._transaction(_BEGIN_READ, owner)

    def _writing(self, owner: str | None) -> AbstractContextManager[MemoryRows]:
        return self._transaction(self._begin_write, owner)

    def _forgetting(self, owner: str) -> AbstractContextManager[MemoryRows]:
        return self._transaction(self._begin_write, owner)

    def _erased(self) -> tuple[str, ...]:
        try:
            with connect(self._url, self._place, self._timeout_s) as connection:
                return erase(connection, self._timeout_s, self._rewrite_bytes)
        except StorageError:
            return FAILED, KEPT_BY_SERVER

    @contextmanager
    def _transaction(self, begin: str, owner: str | None) -> Iterator[MemoryRows]:
        whole = begin if owner is None else begin + as_owner(owner)
        with self._connections.transaction(whole) as connection:
            yield _Transaction(connection)


# Every lookup has an index; a table that was not analyzed yet may seem too small to use it.
_BEGIN_READ = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;"
    " SET LOCAL enable_seqscan = off; SET LOCAL jit = off;"
)


def _closed(place: str) -> MemoryStoreError:
    return MemoryStoreError(f"{place}: the memory is closed; open it again")


class _Transaction(PostgresRows):
    """A transaction on the memory's tables. The queue is looked at by functions of the database.

    They see the jobs of all owners, and make the transaction that of whom they find.
    """

    due_job = "SELECT scope, thread, attempt FROM memory_due_job(?)"
    next_due = "SELECT memory_next_due()"
    bound = "set_config('thalweg.scope', CAST(id AS text), true)"
