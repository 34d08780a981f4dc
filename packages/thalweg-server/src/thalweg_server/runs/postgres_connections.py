"""Connections to a PostgreSQL server: concurrent statements share a round trip.

A statement may be about many runs at a time. Row-level security selects rows by the setting
`thalweg.owner`. A group commit writes for many owners in one transaction: it lists them all,
separated by `BETWEEN`, and the security policy parses that.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping
from psycopg.rows import tuple_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from thalweg.database.jobs import BETWEEN, JobSql
from thalweg.database.postgres import driver_statement
from thalweg.database.postgres_server import (
    as_storage_error,
    connection_options,
    place_of,
    prepare_tables,
)
from thalweg.errors import StorageError
from thalweg_server.runs.base import JOB, POOLS, RunKey

CHANNEL = "thalweg_runs"
"""The channel of notifications of changes: `ORIGIN MARK MARK …`."""
WRITE = """
    WITH given AS (
        SELECT * FROM unnest(
            %(owners)s::text[], %(runs)s::text[], %(attempts)s::int[], %(after)s::bigint[],
            %(last)s::bigint[], %(statuses)s::text[], %(errors)s::text[]
        ) WITH ORDINALITY AS given (owner, run, attempt, after, last, status, error, number)
    ), good AS (
        UPDATE runs SET
            last_seq = given.last,
            status = coalesce(given.status, runs.status),
            ended = CASE WHEN given.status IS NULL THEN NULL ELSE now() END,
            error = given.error
        FROM given
        WHERE runs.owner = given.owner AND runs.run = given.run
            AND runs.attempt = given.attempt AND runs.last_seq = given.after
            AND runs.status = 'running'
        RETURNING given.number, runs.owner, runs.thread, runs.run
    ), added AS (
        INSERT INTO run_events (owner, thread, run, seq, type, data)
        SELECT owner, thread, run, seq, type, data FROM unnest(
            %(numbers)s::bigint[], %(seqs)s::bigint[], %(types)s::text[], %(data)s::text[]
        ) AS event (number, seq, type, data)
        JOIN good USING (number)
    )
    SELECT number FROM good
"""
"""Writes for every valid claim, and returns which are valid."""
_log = logging.getLogger("thalweg.server.runs")
Values = Sequence[Any] | Mapping[str, Any]
Connection = psycopg.AsyncConnection[Any]
ChangeHandler = Callable[[Sequence[str] | None], None]
"""Called with the marks of runs that changed; `None`: any may have."""
TIMEOUT_S = 10.0
"""Seconds to wait for a connection before the server is tried."""
_PREPARE_AFTER = 5
"""Executions after which a statement is prepared."""
_MARKS = 500
"""Marks in one notice: it may have 8,000 bytes."""
_AGAIN_S = 0.5
"""Before a listener whose connection broke tries again."""
_POOLED = (
    "%s is a pooler, which may lose notifications; streams of other processes then lag by seconds. "
    "Set storage.direct_url to the address of the server itself"
)
_BORROWED: WeakKeyDictionary[AsyncConnectionPool[Any], int] = WeakKeyDictionary()
"""Connections of each pool that are in use."""
_CHECKS: WeakKeyDictionary[AsyncConnectionPool[Any], asyncio.Task[None]] = WeakKeyDictionary()
"""The check of each pool's server that is under way: all who wait share it."""
_OWNER = "SELECT set_config('thalweg.owner', %s, true)"
_NOTIFY = "SELECT pg_notify(%s, %s)"


def named(owners: Iterable[str]) -> str:
    r"""Return the value of `thalweg.owner` for a transaction on rows of some owners.

    Example:
        >>> named(["ann", "bob", "ann"])
        'ann\x1fbob'
    """
    return BETWEEN.join(sorted(set(owners)))


async def configure(connection: Connection) -> None:
    """Prepare statements, unless a pooler may use another server process for each transaction.

    A client of a pooler does not get the id of the server process.
    """
    async with connection.cursor(row_factory=tuple_row) as cursor:
        found = await (await cursor.execute("SELECT pg_backend_pid()")).fetchone()
    if found == (connection.info.backend_pid,):
        connection.prepare_threshold = _PREPARE_AFTER


def pipelined(connection: Connection) -> AbstractAsyncContextManager[object]:
    """Send the statements of a block together, unless a pooler is between.

    PgBouncer gives a server process to whatever follows a transaction, and takes it back when it
    has an answer. The end of a pipeline may have none: two of these block a pool of two until
    their clients send more (https://github.com/pgbouncer/pgbouncer/issues/759).

    Args:
        connection: Of `configure`.
    """
    return nullcontext() if connection.prepare_threshold is None else connection.pipeline()


@asynccontextmanager
async def pooled(pool: AsyncConnectionPool[Any]) -> AsyncIterator[Connection]:
    """Borrow a connection, and wait for as long as all are in use and the server can be reached.

    Raises:
        psycopg.Error: The server cannot be reached, or refuses a connection.
    """
    while True:
        try:
            connection = await pool.getconn()
        except PoolTimeout:
            if (check := _CHECKS.get(pool)) is None:
                check = _CHECKS[pool] = asyncio.create_task(_check_server(pool))
                check.add_done_callback(lambda _: _CHECKS.pop(pool, None))
            await asyncio.shield(check)
        else:
            break
    _BORROWED[pool] = _BORROWED.get(pool, 0) + 1
    try:
        async with connection:
            yield connection
    finally:
        _BORROWED[pool] -= 1
        await pool.putconn(connection)


async def _check_server(pool: AsyncConnectionPool[Any]) -> None:
    """Raise the reason if no connection can be made, or if the server does not answer."""
    address = make_conninfo(str(pool.conninfo), connect_timeout=round(TIMEOUT_S))
    if not _BORROWED.get(pool):  # the pool has none: an own one raises the reason
        await (await psycopg.AsyncConnection.connect(address)).close()
    # It needs no free connection of the server.
    elif await asyncio.to_thread(PGconn.ping, address.encode()) != Ping.OK:
        message = f"the server of {pool.name} does not answer"
        raise PoolTimeout(message)


class RunConnections:
    """A few connections that anybody asks, one that writes events, one that listens.

    A few more keep claims good while checkpoints are written: so many runs may do that at a
    time that those who ask would wait for them.

    Raises (all methods):
        StorageError: The database failed.
    """

    def __init__(self, url: str, most: int, direct: str | None = None) -> None:
        self.place = place_of(url)
        self._url = url
        self._direct = direct or url
        self._origin = secrets.token_hex(4)
        self._asking = self._pool(most, "thalweg-runs")
        self._holding = self._pool(most, "thalweg-runs-holding")
        self._writer: Connection | None = None
        self._writing = asyncio.Lock()
        self._listener: asyncio.Task[None] | None = None

    async def open(self, on_changes: ChangeHandler) -> None:
        """Create the tables if they are missing, and begin to listen."""
        try:
            await asyncio.to_thread(prepare_tables, self._url, self.place, TIMEOUT_S)
            await self._asking.open()
            await self._holding.open()
        except psycopg.Error as error:
            raise as_storage_error(self.place, error) from error
        self._listener = asyncio.create_task(
            self._listen_on(on_changes), name="thalweg-runs-listener"
        )

    async def close(self) -> None:
        """Stop listening and close them all."""
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait([self._listener])
        await self._lose_writer()
        await self._asking.close()
        await self._holding.close()

    async def ask(
        self,
        owners: Iterable[str],
        statement: str,
        values: Values,
        *,
        first: Sequence[tuple[str, Sequence[Any]]] = (),
        then: Sequence[JobSql] = (),
        notified: Sequence[RunKey] = (),
    ) -> Sequence[Any]:
        """Run one statement in a transaction, and return its rows.

        Args:
            owners: Whose rows it may see.
            statement: Values as `?`, or as the driver's placeholders.
            values: Their values.
            first: Statements to run before it.
            then: Statements to run if it returned rows; then other processes are notified of a
                job.
            notified: Runs that other processes are notified of.
        """
        async with self._pooled(self._asking) as connection:
            statements = [*first, (statement, values)]
            return await self._at_once(connection, owners, statements, notified, then)

    async def write(
        self, owners: Iterable[str], statement: str, values: Values, notified: Sequence[RunKey]
    ) -> Sequence[Any]:
        """Run one statement on the connection that is kept for it."""
        async with self._writing:
            try:
                if self._writer is None:
                    self._writer = await self._connect(self._url)
                return await self._at_once(self._writer, owners, [(statement, values)], notified)
            except psycopg.Error as error:
                await self._lose_writer()
                raise as_storage_error(self.place, error) from error

    @asynccontextmanager
    async def transaction(
        self, owners: Iterable[str], *, is_held: bool = False
    ) -> AsyncIterator[Connection]:
        """Run a block in a transaction on rows of some owners.

        Args:
            owners: Whose.
            is_held: Whether it only keeps something while others write.
        """
        pool = self._holding if is_held else self._asking
        async with self._pooled(pool) as connection, connection.transaction():
            await connection.execute(_OWNER, (named(owners),))
            yield connection

    async def _at_once(
        self,
        connection: Connection,
        owners: Iterable[str],
        statements: Sequence[tuple[str, Values]],
        notified: Sequence[RunKey],
        then: Sequence[JobSql] = (),
    ) -> Sequence[Any]:
        marks = [key.mark for key in notified]
        async with pipelined(connection), connection.transaction():
            await connection.execute(_OWNER, (named(owners),))
            for text, values in statements:
                cursor = await connection.execute(driver_statement(text), values)
            rows = await cursor.fetchall() if then else None
            for one in then if rows else ():
                await connection.execute(driver_statement(one.text), one.values)
            if rows:
                marks.append(JOB)
            for payload in self._payloads(marks):
                await connection.execute(_NOTIFY, (CHANNEL, payload))
        return await cursor.fetchall() if rows is None else rows

    def _payloads(self, marks: Sequence[str]) -> list[str]:
        return [
            " ".join([self._origin, *marks[start : start + _MARKS]])
            for start in range(0, len(marks), _MARKS)
        ]

    @asynccontextmanager
    async def _pooled(self, pool: AsyncConnectionPool[Connection]) -> AsyncIterator[Connection]:
        try:
            async with pooled(pool) as connection:
                yield connection
        except psycopg.Error as error:
            raise as_storage_error(self.place, error) from error

    def _pool(self, most: int, name: str) -> AsyncConnectionPool[Connection]:
        pool = AsyncConnectionPool(
            self._url,
            kwargs=connection_options(TIMEOUT_S),
            configure=configure,
            min_size=1,
            max_size=most,
            open=False,
            timeout=TIMEOUT_S,
            name=name,
            check=AsyncConnectionPool.check_connection,
        )
        POOLS.add(pool)
        return pool

    async def _connect(self, url: str) -> Connection:
        options = connection_options(TIMEOUT_S)
        connection = await psycopg.AsyncConnection.connect(url, **options)
        await configure(connection)
        return connection

    async def _lose_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            with suppress(psycopg.Error):
                await writer.close()

    async def _listen_on(self, on_changes: ChangeHandler) -> None:
        while True:
            with suppress(psycopg.Error, StorageError):
                await self._listen(on_changes)
            await asyncio.sleep(_AGAIN_S)

    async def _listen(self, on_changes: ChangeHandler) -> None:
        async with await self._connect(self._direct) as connection:
            if connection.prepare_threshold is None:
                _log.warning(_POOLED, self.place)
            await connection.execute(f"LISTEN {CHANNEL}")
            on_changes(None)  # what was sent meanwhile
            async for notice in connection.notifies():
                origin, *marks = notice.payload.split(" ")
                if origin != self._origin:
                    on_changes(marks)
