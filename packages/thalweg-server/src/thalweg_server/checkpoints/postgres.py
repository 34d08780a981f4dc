"""LangGraph's checkpoints in PostgreSQL, with row-level security between owners.

LangGraph's tables have no owners, so a thread is named `TAG:THREAD` in them, and each
transaction first sets its owner's tag on the server. LangGraph itself creates and migrates the
tables.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from copy import copy
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, TypeAlias

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg import AsyncConnection, AsyncCursor, Connection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from thalweg.database.postgres_server import as_storage_error, place_of
from thalweg.engine.entries import stored_text
from thalweg.errors import ConfigError
from thalweg_server.checkpoints.batches import MOST_DELETED, BatchSaver, CheckpointWrite, Medium
from thalweg_server.runs.base import POOLS
from thalweg_server.runs.postgres_connections import TIMEOUT_S, configure, pipelined, pooled

Pool: TypeAlias = AsyncConnectionPool[AsyncConnection[DictRow]]

MOST_CONNECTIONS = 6
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

_GRAPH = "thread_id = %(thread)s AND checkpoint_ns = ''"
_DELETE_YOUNGEST = f"""
WITH youngest AS MATERIALIZED (
    SELECT checkpoint_id FROM checkpoints WHERE {_GRAPH} AND checkpoint_id < %(checkpoint)s
    ORDER BY checkpoint_id DESC LIMIT %(most)s
), written AS (
    DELETE FROM checkpoint_writes
    WHERE {_GRAPH} AND checkpoint_id < %(checkpoint)s
    AND checkpoint_id >= (SELECT min(checkpoint_id) FROM youngest)
)
DELETE FROM checkpoints WHERE {_GRAPH} AND checkpoint_id IN (SELECT * FROM youngest) RETURNING 1
"""  # noqa: S608 (ours)
_DELETE_UNUSED = f"""
DELETE FROM checkpoint_blobs WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM checkpoint_blobs AS blob WHERE {_GRAPH} AND NOT EXISTS (
        SELECT 1 FROM checkpoints
        WHERE {_GRAPH} AND checkpoint -> 'channel_versions' ->> blob.channel = blob.version
    ) LIMIT %(most)s
)) RETURNING 1
"""  # noqa: S608 (ours)


@dataclass(frozen=True, slots=True)
class _Boxed:
    """A value that LangGraph's saver stores as bytes, although its type is one of JSON."""

    value: str | float


def _fits_jsonb(value: object) -> bool:
    """Return whether PostgreSQL's JSON can have a value, if its type is one of JSON."""
    if isinstance(value, str):
        return "\0" not in value and stored_text(value) == value
    return not isinstance(value, float) or isfinite(value)


class OwnedCheckpoints(AsyncPostgresSaver, BatchSaver):
    """The checkpoints of one owner's threads, on connections that all owners share.

    Args:
        pool: Connections in autocommit mode.
        tag: Prefix of the names of the owner's threads, before a colon.

    Raises:
        ConfigError: The tag is empty, or contains a colon.
    """

    def __init__(self, pool: Pool, tag: str) -> None:
        if not tag or ":" in tag:
            raise ConfigError(
                "tag", f"{tag!r} cannot be distinguished from a thread", "leave out colons"
            )
        super().__init__(pool)
        self._pool = pool
        self._prefix = f"{tag}:"
        self.open_cursor: AsyncCursor[DictRow] | None = None

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, values that JSON lacks as bytes; see `BaseCheckpointSaver.aput`."""
        values = checkpoint["channel_values"].items()
        boxed = {name: one if _fits_jsonb(one) else _Boxed(one) for name, one in values}
        checkpoint = {**checkpoint, "channel_values": boxed}
        return await super().aput(config, checkpoint, metadata, new_versions)

    def _dump_blobs(
        self, thread_id: str, checkpoint_ns: str, values: dict[str, Any], versions: ChannelVersions
    ) -> list[tuple[str, str, str, str, str, bytes | None]]:
        opened = {n: one.value if isinstance(one, _Boxed) else one for n, one in values.items()}
        return super()._dump_blobs(thread_id, checkpoint_ns, opened, versions)

    async def awrite(self, batch: Sequence[CheckpointWrite]) -> object:
        """Store all writes, in order, in one transaction, or none of them."""
        async with self._cursor() as cursor:
            within = copy(self)
            within.open_cursor = cursor
            return [await write.aapply(within) for write in batch][-1]

    async def adelete_before(self, thread: str, checkpoint: str) -> bool:
        """Delete the youngest checkpoints of a thread's graph before one; see `WriteMethod`.

        With the last of them, the values that no checkpoint has are deleted.
        """
        values = {"thread": thread, "checkpoint": checkpoint, "most": MOST_DELETED}
        async with self._cursor() as cursor:
            for statement in (_DELETE_YOUNGEST, _DELETE_UNUSED):
                await cursor.execute(statement.encode(), values)
                if len(await cursor.fetchall()) == MOST_DELETED:
                    return True
        return False

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[AsyncCursor[DictRow]]:
        """Yield a cursor in a transaction that sees this owner's threads.

        Setting the owner is sent to a server together with the first statement.
        """
        del pipeline
        if self.open_cursor is not None:
            yield self.open_cursor
            return
        async with (
            pooled(self._pool) as connection,
            pipelined(connection),
            connection.transaction(),
            connection.cursor(binary=True, row_factory=dict_row) as cursor,
        ):
            prefix = "SELECT set_config('thalweg.checkpoint_prefix', %s, true)"
            await connection.execute(prefix, (self._prefix,))
            yield cursor


@asynccontextmanager
async def open_server(url: str) -> AsyncIterator[Medium]:
    """Open the checkpoints of all owners on a server; see `open_checkpoints`."""
    place = place_of(url)

    @contextmanager
    def converting_errors() -> Iterator[None]:
        try:
            yield
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise as_storage_error(place, error) from error
        except psycopg.DataError as error:
            problem = (
                f"PostgreSQL cannot store a name or an id: {error.diag.message_primary or error}"
            )
            raise ConfigError(
                "checkpoint", problem, "remove its NUL characters, or shorten it"
            ) from None

    await asyncio.to_thread(_set_up, url, place)
    pool: AsyncConnectionPool[Any] = AsyncConnectionPool(
        url,
        min_size=1,
        max_size=MOST_CONNECTIONS,
        kwargs={"autocommit": True, "prepare_threshold": None, "row_factory": dict_row},
        configure=configure,
        open=False,
        timeout=TIMEOUT_S,
        name="thalweg-checkpoints",
        check=AsyncConnectionPool.check_connection,
    )
    POOLS.add(pool)
    async with pool:
        yield partial(OwnedCheckpoints, pool), converting_errors


def _set_up(url: str, place: str) -> None:
    """Create LangGraph's tables if they are missing, as far as this role may."""
    try:
        is_walled = set_up_checkpoints(url)
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedTable):
        problem = "LangGraph's tables are missing or older, and this role may not create them"
        fix = "run `thalweg db upgrade --role NAME` as the owner of the tables"
        raise ConfigError(place, problem, fix) from None
    except psycopg.Error as error:
        raise as_storage_error(place, error) from None
    if not is_walled:
        problem = "LangGraph's tables hold threads of another application"
        raise ConfigError(place, problem, "use a separate database for Thalweg")


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


def _one(connection: Connection[DictRow], statement: str, values: Sequence[object]) -> bool:
    row = connection.execute(statement.encode(), values).fetchone()
    return row is not None and bool(row["one"])
