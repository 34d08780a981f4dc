"""The memory in a PostgreSQL database, for any number of processes on any machines."""

from contextlib import AbstractContextManager

from thalweg.database.postgres import PostgresDatabase, PostgresRows
from thalweg.database.postgres_server import connect
from thalweg.errors import MemoryStoreError, StorageError
from thalweg_memory.forgetting.postgres_erasure import FAILED, KEPT_BY_SERVER, erase
from thalweg_memory.search.embedding_function import Embed
from thalweg_memory.store.rows import MemoryRows
from thalweg_memory.store.tables import TableMemory

_FORMAT = 2
"""Format 1 with the queue's rows secured, too."""


class PostgresMemory(TableMemory):
    """The memories of all scopes, in the tables `memory_…` of a PostgreSQL database.

    Writers of one scope wait for each other up to `busy_timeout_s`, others not at all. See
    `PostgresDatabase`; `MemoryStore` for the contracts of the methods, and `postgres_erasure` for
    the forgotten content that the server keeps.
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
        self._url = url
        self._timeout_s = busy_timeout_s
        self._rewrite_bytes = rewrite_bytes
        database = PostgresDatabase(
            url, _PostgresMemoryTransaction, _closed, busy_timeout_s=busy_timeout_s
        )
        super().__init__(database, secret, embed=embed, version=_FORMAT)

    def _forgetting(self, owner: str) -> AbstractContextManager[MemoryRows]:
        return self._database.writing(owner)

    def _erased(self) -> tuple[str, ...]:
        try:
            with connect(self._url, self._database.place, self._timeout_s) as connection:
                return erase(connection, self._timeout_s, self._rewrite_bytes)
        except StorageError:
            return FAILED, KEPT_BY_SERVER


def _closed(place: str) -> MemoryStoreError:
    return MemoryStoreError(f"{place}: the memory is closed; open it again")


class _PostgresMemoryTransaction(PostgresRows):
    """A transaction on the memory's tables. The queue is looked at by functions of the database.

    They see the jobs of all owners, and make the transaction that of whom they find.
    """

    due_job = "SELECT scope, thread, attempt FROM memory_due_job(?)"
    next_due = "SELECT memory_next_due()"
    bound = "set_config('thalweg.scope', CAST(id AS text), true)"
