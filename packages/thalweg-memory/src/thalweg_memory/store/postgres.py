"""The memory in a PostgreSQL database, for any number of processes on any machines.

Deleted rows are erased from the server as far as a client can. After a `DELETE`, a plain `VACUUM`
frees the space in a table's files, and does not overwrite it: bytes remain until a new row replaces
them. `VACUUM FULL` rewrites the tables and removes the old files under an exclusive lock, so it is
for small tables. Neither reaches rows that a transaction older than the deletion may still see, nor
the data that only the server's operator has: its write-ahead log, its archives, backups and
replicas, and free blocks of its disk.
"""

import time
from contextlib import AbstractContextManager

import psycopg

from thalweg.database.jobs import JobQueue
from thalweg.database.postgres import PostgresDatabase, PostgresRows
from thalweg.database.postgres_server import connect
from thalweg.errors import MemoryStoreError, StorageError
from thalweg_memory.store.scoped import CONTENT, MemoryRows
from thalweg_memory.store.tables import MemoryStore

_TABLES = ", ".join(CONTENT)
_SIZE = """
SELECT SUM(pg_total_relation_size(oid)), bool_and(
    pg_has_role(relowner, 'USAGE')
    OR CASE WHEN CAST(current_setting('server_version_num') AS integer) >= 170000
        THEN has_table_privilege(oid, 'MAINTAIN') ELSE false END
)
FROM pg_class WHERE relname = ANY(%s) AND pg_table_is_visible(oid)
"""
_OLDER = """
SELECT COUNT(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND backend_type <> 'autovacuum worker' AND backend_xmin IS NOT NULL
    AND age(backend_xmin) > age(CAST(CAST(%s AS text) AS xid))
"""
"""Transactions that may still see rows deleted before a transaction began."""
KEPT_BY_SERVER = "the server's write-ahead log, archives, backups and replicas: see its operator"
_IN_FILES = "the files of the tables: {why}; VACUUM FULL rewrites them"
LARGE = _IN_FILES.format(why="they are large, so that their pages were freed only")
OLDER = _IN_FILES.format(why="a transaction is open that began before")
HELD = _IN_FILES.format(why="they were in use all the time")
OWNED = _IN_FILES.format(why="they belong to another user")
FAILED = _IN_FILES.format(why="the server failed")
_FORMAT = 2
"""Format 1 with the queue's rows secured, too."""


def erase(connection: psycopg.Connection, timeout_s: float, rewrite_bytes: int) -> tuple[str, ...]:
    """Rewrite tables up to a size, or free the space of deleted rows in larger ones.

    Args:
        connection: Outside of any transaction, begun after the deletion was committed.
        timeout_s: Seconds to wait for older transactions, and then for the lock of the tables.
        rewrite_bytes: Maximum bytes to rewrite.

    Returns:
        The places in which the bytes may remain.
    """
    try:
        left = _erase(connection, timeout_s, rewrite_bytes)
    except psycopg.errors.LockNotAvailable:
        left = HELD
    except psycopg.Error:
        left = FAILED
    return (left, KEPT_BY_SERVER) if left else (KEPT_BY_SERVER,)


def _erase(connection: psycopg.Connection, timeout_s: float, rewrite_bytes: int) -> str:
    size, may_vacuum = connection.execute(_SIZE, (list(CONTENT),)).fetchone() or (0, False)
    if not may_vacuum:
        return OWNED
    is_seen = _is_seen_by_older(connection, timeout_s)
    connection.execute(f"SET lock_timeout = {max(1, round(timeout_s * 1_000))}".encode())
    is_large = size > rewrite_bytes
    connection.execute(f"VACUUM {'' if is_large else '(FULL)'} {_TABLES}".encode())
    if is_seen:
        return OLDER
    return LARGE if is_large else ""


def _is_seen_by_older(connection: psycopg.Connection, timeout_s: float) -> bool:
    """Wait until no transaction sees the deleted rows; return whether one still does."""
    (now,) = connection.execute("SELECT txid_current() % 4294967296").fetchone() or (0,)
    deadline = time.monotonic() + timeout_s
    while connection.execute(_OLDER, (str(now),)).fetchone() != (0,):
        if time.monotonic() > deadline:
            return True
        time.sleep(0.02)
    return False


class PostgresMemory(MemoryStore):
    """The memories of all scopes, in the tables `memory_…` of a PostgreSQL database.

    Writers of one scope wait for each other up to `busy_timeout_s`, others not at all. See
    `PostgresDatabase`; `MemoryStore` for the contracts of the methods, and `erase` for
    the forgotten content that the server keeps.
    """

    def __init__(
        self,
        url: str,
        *,
        secret: bytes | None = None,
        busy_timeout_s: float = 10.0,
        rewrite_bytes: int = 64 << 20,
    ) -> None:
        self._url = url
        self._timeout_s = busy_timeout_s
        self._rewrite_bytes = rewrite_bytes
        database = PostgresDatabase(
            url, _PostgresMemoryTransaction, _closed, busy_timeout_s=busy_timeout_s
        )
        super().__init__(database, secret, version=_FORMAT)

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
    """A transaction on the memory's tables."""

    jobs = JobQueue("memory", "postgres")
    bound = "set_config('thalweg.scope', CAST(id AS text), true)"
