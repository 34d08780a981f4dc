"""LangGraph's checkpoints in PostgreSQL, with row-level security between owners.

LangGraph's tables have no owners, so a thread is named `TAG:THREAD` in them, and each
transaction first sets its owner's tag on the server. LangGraph itself creates and migrates the
tables.
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg import AsyncConnection, AsyncCursor, Capabilities, Connection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from thalweg.errors import ConfigError
from thalweg.server.checkpoints.batches import BatchSaver, CheckpointWrite

Pool: TypeAlias = AsyncConnectionPool[AsyncConnection[DictRow]]

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")
"""LangGraph's tables that hold the content of threads."""
_LOCK = int.from_bytes(b"ckpoint")
"""Key of the advisory lock for creating or migrating the tables."""
_WALL = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS of_owner ON {table};
CREATE POLICY of_owner ON {table} USING (
    left(thread_id, strpos(thread_id, ':'))
        = NULLIF(current_setting('thalweg.checkpoint_prefix', true), '')
);
"""


class OwnedCheckpoints(AsyncPostgresSaver, BatchSaver):
    """The checkpoints of one owner's threads, on connections that all owners share.

    Args:
        pool: Connections in autocommit mode.
        tag: Prefix of the names of the owner's threads, before a colon.
        serde: LangGraph's serializer.

    Raises:
        ConfigError: The tag is empty, or contains a colon.
    """

    def __init__(self, pool: Pool, tag: str, *, serde: SerializerProtocol | None = None) -> None:
        if not tag or ":" in tag:
            raise ConfigError(
                "tag", f"{tag!r} cannot be distinguished from a thread", "leave out colons"
            )
        super().__init__(pool, serde=serde)
        self._pool = pool
        self._prefix = f"{tag}:"

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete checkpoints of threads, except for the strategy `keep_latest`.

        Raises:
            NotImplementedError: For `keep_latest`, whose transactions cannot set an owner.
        """
        if strategy == "keep_latest":
            msg = "with row-level security, checkpoints are deleted with their thread only"
            raise NotImplementedError(msg)
        await super().aprune(thread_ids, strategy=strategy)

    async def awrite(self, batch: Sequence[CheckpointWrite]) -> None:
        """Store all writes, in order, in one transaction, or none of them."""
        async with self._cursor() as cursor:
            within = _InTransaction(self, cursor)
            for write in batch:
                await write.aapply(within)

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        """Yield a cursor in a transaction that sees this owner's threads.

        Setting the owner is sent to the server together with the first statement.
        """
        del pipeline
        async with self._pool.connection() as connection:
            if not Capabilities().has_pipeline():
                async with self._told(connection) as cursor:
                    yield cursor
                return
            async with connection.pipeline(), self._told(connection) as cursor:
                yield cursor

    @asynccontextmanager
    async def _told(
        self, connection: AsyncConnection[DictRow]
    ) -> AsyncIterator[AsyncCursor[DictRow]]:
        async with (
            connection.transaction(),
            connection.cursor(binary=True, row_factory=dict_row) as cursor,
        ):
            told = "SELECT set_config('thalweg.checkpoint_prefix', %s, true)"
            await connection.execute(told, (self._prefix,))
            yield cursor


class _InTransaction(AsyncPostgresSaver):
    """The same checkpointer, within an open transaction."""

    def __init__(self, saver: OwnedCheckpoints, cursor: AsyncCursor[DictRow]) -> None:
        super().__init__(saver.conn, serde=saver.serde)
        self._open_cursor = cursor

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        del pipeline
        yield self._open_cursor


def set_up_checkpoints(url: str) -> bool:
    """Create or migrate LangGraph's tables if necessary, and enable row-level security.

    Returns:
        Whether row-level security is enabled. It is not if another application stores threads
        without tags in the tables, since it could not see them any more.

    Raises:
        psycopg.Error: The server failed, or the role lacks a privilege.
    """
    connecting = psycopg.Connection[DictRow].connect(url, autocommit=True, row_factory=dict_row)
    with connecting as connection:
        if _is_walled(connection) and not _is_older(connection):
            return True
        _lock(connection)
        try:
            PostgresSaver(connection).setup()
            if _is_walled(connection):
                return True
            if _is_anothers(connection):
                return False
            with connection.transaction():
                for table in TABLES:
                    connection.execute(_WALL.format(table=table).encode())
        finally:
            connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))
    return True


def _lock(connection: Connection[DictRow]) -> None:
    # Polled, not waited for: `CREATE INDEX CONCURRENTLY` waits for all running statements.
    while not _one(connection, "SELECT pg_try_advisory_lock(%s) AS one", (_LOCK,)):
        time.sleep(0.05)


def _is_walled(connection: Connection[DictRow]) -> bool:
    walled = (
        "SELECT count(*) = %s AS one FROM pg_class WHERE relname = ANY(%s)"
        " AND pg_table_is_visible(oid) AND relrowsecurity AND relforcerowsecurity"
        " AND EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = pg_class.oid"
        " AND polname = 'of_owner')"
    )
    return _one(connection, walled, (len(TABLES), list(TABLES)))


def _is_older(connection: Connection[DictRow]) -> bool:
    newest = "SELECT COALESCE(max(v), -1) < %s AS one FROM checkpoint_migrations"
    return _one(connection, newest, (len(PostgresSaver.MIGRATIONS) - 1,))


def _is_anothers(connection: Connection[DictRow]) -> bool:
    untagged = "SELECT EXISTS (SELECT 1 FROM checkpoints WHERE strpos(thread_id, ':') = 0) AS one"
    return _one(connection, untagged, ())


def _one(connection: Connection[DictRow], asked: str, values: Sequence[object]) -> bool:
    row = connection.execute(asked.encode(), values).fetchone()
    return row is not None and bool(row["one"])
