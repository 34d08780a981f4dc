"""Runs on a PostgreSQL server, for any number of processes on any number of machines."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, LiteralString, cast

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from thalweg.archive.postgres_schema import as_storage_error, place_of
from thalweg.errors import BusyError, ClaimLostError, RunExistsError, StorageError
from thalweg.runs.base import Claim, Event, Run, RunKey
from thalweg.runs.journal import mark
from thalweg.runs.postgres_schema import CHANNEL, COLUMNS, LOCK, SCHEMA, WRITE, named
from thalweg.runs.tables import Heard, State, Write

MOST = 8
"""Connections of one process, beside the one that listens."""
_TIMEOUT_S = 10.0
_MARKS = 500
"""Marks in one notice: it may have 8,000 bytes."""
_AGAIN_S = 0.5
"""Before a listener whose connection broke tries again."""
_HOLD = "SELECT pg_advisory_xact_lock_shared(hashtextextended(%s, 7))"
_TAKE = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))"
"""Whoever holds a claim does so together with others; whoever claims, alone."""
_ACTIVE = "status IN ('queued', 'running')"
_KEY = "owner = %s AND thread = %s AND run = %s"


class PostgresTables:
    """The tables on a server: a few connections that write and read, one that listens."""

    def __init__(self, url: str, *, most: int = MOST) -> None:
        self.place = place_of(url)
        self._url = url
        self._most = most
        self._origin = secrets.token_hex(4)
        self._pool: AsyncConnectionPool[psycopg.AsyncConnection[Any]] | None = None
        self._listener: asyncio.Task[None] | None = None

    async def open(self, heard: Heard, is_awaited: Callable[[], bool]) -> None:
        """See `Tables.open`."""
        del is_awaited  # a notice costs nothing to hear
        try:
            await self._make()
            await self._open_pool()
        except psycopg.Error as error:
            raise as_storage_error(self.place, error) from error
        self._listener = asyncio.create_task(self._listen_on(heard), name="thalweg-runs-listener")

    async def create(self, key: RunKey, request: str) -> Run:
        """See `Tables.create`."""
        insert = f"""
            INSERT INTO runs (owner, thread, run, request) VALUES (%s, %s, %s, %s)
            ON CONFLICT DO NOTHING RETURNING {COLUMNS}
        """
        exists = "SELECT 1 FROM runs WHERE owner = %s AND run = %s"
        busy = f"SELECT run FROM runs WHERE owner = %s AND thread = %s AND {_ACTIVE}"
        while True:
            async with self._transaction([key.owner]) as connection:
                row = await _row(connection, insert, (*_columns(key), request))
                if row is not None:
                    return _run(row)
                if await _row(connection, exists, (key.owner, key.run)) is not None:
                    raise RunExistsError(key.run)
                row = await _row(connection, busy, (key.owner, key.thread))
                if row is not None:
                    raise BusyError(key.thread, row[0])
            # What stood in the way ended in between.

    async def get(self, key: RunKey) -> Run | None:
        """See `Tables.get`."""
        async with self._transaction([key.owner]) as connection:
            statement = f"SELECT {COLUMNS} FROM runs WHERE {_KEY}"
            row = await _row(connection, statement, _columns(key))
        return None if row is None else _run(row)

    async def list(
        self, owner: str, thread: str | None, limit: int, before: str | None
    ) -> Sequence[Run]:
        """See `Tables.list`."""
        statement = f"SELECT {COLUMNS} FROM runs WHERE owner = %s"
        values: list[str | int] = [owner]
        if thread is not None:
            statement += " AND thread = %s"
            values.append(thread)
        if before is not None:
            statement += " AND number < (SELECT number FROM runs WHERE owner = %s AND run = %s)"
            values += [owner, before]
        statement += " ORDER BY number DESC LIMIT %s"
        values.append(limit)
        async with self._transaction([owner]) as connection:
            return [_run(row) for row in await _rows(connection, statement, values)]

    async def claim(self, key: RunKey) -> Run | None:
        """See `Tables.claim`."""
        statement = f"""
            UPDATE runs SET status = 'running', attempt = attempt + 1,
                started = coalesce(started, now())
            WHERE {_KEY} AND {_ACTIVE} RETURNING {COLUMNS}
        """
        async with self._transaction([key.owner]) as connection:
            await connection.execute(_TAKE, (mark(key),))
            row = await _row(connection, statement, _columns(key))
            if row is not None:
                await self._tell(connection, [key])
        return None if row is None else _run(row)

    async def release(self, claim: Claim) -> bool:
        """See `Tables.release`."""
        statement = f"""
            UPDATE runs SET status = 'queued', handed = handed + 1
            WHERE {_KEY} AND attempt = %s AND status = 'running' RETURNING 1
        """
        return await self._change(claim.key, statement, claim.attempt) is not None

    @asynccontextmanager
    async def hold(self, claim: Claim) -> AsyncIterator[None]:
        """See `Tables.hold`."""
        statement = f"SELECT 1 FROM runs WHERE {_KEY} AND attempt = %s AND status = 'running'"
        async with self._transaction([claim.key.owner]) as connection:
            await connection.execute(_HOLD, (mark(claim.key),))
            found = await _row(connection, statement, (*_columns(claim.key), claim.attempt))
            if found is None:
                raise ClaimLostError(claim.key.run, claim.attempt)
            yield

    async def write(self, writes: Sequence[Write]) -> Sequence[bool]:
        """See `Tables.write`."""
        async with self._transaction(write.claim.key.owner for write in writes) as connection:
            rows = await _rows(connection, WRITE, _arrays(writes))
            good = {(owner, run, attempt) for owner, run, attempt in rows}
            is_good = [
                (write.claim.key.owner, write.claim.key.run, write.claim.attempt) in good
                for write in writes
            ]
            keys = [
                write.claim.key for write, is_one in zip(writes, is_good, strict=True) if is_one
            ]
            await self._tell(connection, keys)
        return is_good

    async def states(self, keys: Sequence[RunKey]) -> Mapping[RunKey, State]:
        """See `Tables.states`."""
        statement = """
            SELECT owner, runs.thread, run, status, attempt, last_seq, cancel_asked
            FROM unnest(%s::text[], %s::text[], %s::text[]) AS asked (owner, thread, run)
            JOIN runs USING (owner, run) WHERE runs.thread = asked.thread
        """
        async with self._transaction(key.owner for key in keys) as connection:
            rows = await _rows(connection, statement, _key_arrays(keys))
        return {RunKey(*row[:3]): State(*row[3:]) for row in rows}

    async def read(self, key: RunKey, after: int, limit: int) -> Sequence[Event]:
        """See `Tables.read`."""
        statement = (
            f"SELECT seq, type, data FROM run_events WHERE {_KEY} AND seq > %s"
            " ORDER BY seq LIMIT %s"
        )
        async with self._transaction([key.owner]) as connection:
            rows = await _rows(connection, statement, (*_columns(key), after, limit))
        return [Event(*row) for row in rows]

    async def read_each(
        self, after: Mapping[RunKey, int], limit: int
    ) -> Mapping[RunKey, Sequence[Event]]:
        """See `Tables.read_each`."""
        statement = """
            SELECT asked.owner, asked.thread, asked.run, event.seq, event.type, event.data
            FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[])
                AS asked (owner, thread, run, after)
            CROSS JOIN LATERAL (
                SELECT seq, type, data FROM run_events
                WHERE owner = asked.owner AND thread = asked.thread AND run = asked.run
                    AND seq > asked.after
                ORDER BY seq LIMIT %s
            ) AS event ORDER BY 1, 2, 3, 4
        """
        values = (*_key_arrays(list(after)), list(after.values()), limit)
        async with self._transaction(key.owner for key in after) as connection:
            rows = await _rows(connection, statement, values)
        found: dict[RunKey, list[Event]] = {}
        for row in rows:
            found.setdefault(RunKey(*row[:3]), []).append(Event(*row[3:]))
        return found

    async def ask_cancel(self, key: RunKey) -> bool:
        """See `Tables.ask_cancel`."""
        statement = f"UPDATE runs SET cancel_asked = true WHERE {_KEY} AND {_ACTIVE} RETURNING 1"
        return await self._change(key, statement) is not None

    async def delete(self, owner: str, thread: str) -> int:
        """See `Tables.delete`."""
        lock = "SELECT run, status FROM runs WHERE owner = %s AND thread = %s FOR UPDATE"
        async with self._transaction([owner]) as connection:
            for run, status in await _rows(connection, lock, (owner, thread)):
                if status in {"queued", "running"}:
                    raise BusyError(thread, run)
            for table in ("run_events", "runs"):
                statement = f"DELETE FROM {table} WHERE owner = %s AND thread = %s"
                deleted = await connection.execute(_trusted(statement), (owner, thread))
        return deleted.rowcount

    async def close(self) -> None:
        """See `Tables.close`."""
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait([self._listener])
        if self._pool is not None:
            await self._pool.close()

    async def _make(self) -> None:
        async with await psycopg.AsyncConnection.connect(
            self._url, connect_timeout=int(_TIMEOUT_S)
        ) as connection:
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
            for statement in SCHEMA:
                await connection.execute(_trusted(statement))

    async def _open_pool(self) -> None:
        self._pool = AsyncConnectionPool(
            self._url,
            min_size=1,
            max_size=self._most,
            open=False,
            timeout=_TIMEOUT_S,
            name="thalweg-runs",
            check=AsyncConnectionPool.check_connection,
        )
        await self._pool.open()

    @asynccontextmanager
    async def _transaction(
        self, owners: Iterable[str]
    ) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        assert self._pool is not None, "the tables were not opened"
        try:
            async with self._pool.connection() as connection:
                setting = "SELECT set_config('thalweg.owner', %s, true)"
                await connection.execute(setting, (named(owners),))
                yield connection
        except (psycopg.Error, PoolTimeout) as error:
            raise as_storage_error(self.place, error) from error

    async def _change(self, key: RunKey, statement: str, *values: int) -> Sequence[Any] | None:
        async with self._transaction([key.owner]) as connection:
            row = await _row(connection, statement, (*_columns(key), *values))
            if row is not None:
                await self._tell(connection, [key])
        return row

    async def _tell(self, connection: psycopg.AsyncConnection[Any], keys: Sequence[RunKey]) -> None:
        marks = [mark(key) for key in keys]
        for first in range(0, len(marks), _MARKS):
            payload = " ".join([self._origin, *marks[first : first + _MARKS]])
            await connection.execute("SELECT pg_notify(%s, %s)", (CHANNEL, payload))

    async def _listen_on(self, heard: Heard) -> None:
        while True:
            with suppress(psycopg.Error):
                await self._listen(heard)
            await asyncio.sleep(_AGAIN_S)

    async def _listen(self, heard: Heard) -> None:
        connection = await psycopg.AsyncConnection.connect(
            self._url, autocommit=True, connect_timeout=int(_TIMEOUT_S)
        )
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            heard(None)  # what was told while nobody listened
            async for notice in connection.notifies():
                origin, *marks = notice.payload.split(" ")
                if origin != self._origin:
                    heard(marks)


def _arrays(writes: Sequence[Write]) -> dict[str, list[Any]]:
    events = [
        (write.claim, seq, draft)
        for write in writes
        for seq, draft in enumerate(write.drafts, start=write.after + 1)
    ]
    return {
        "owners": [write.claim.key.owner for write in writes],
        "runs": [write.claim.key.run for write in writes],
        "attempts": [write.claim.attempt for write in writes],
        "after": [write.after for write in writes],
        "last": [write.last for write in writes],
        "statuses": [None if write.end is None else write.end.status for write in writes],
        "errors": [None if write.end is None else write.end.error for write in writes],
        "event_owners": [claim.key.owner for claim, _, _ in events],
        "event_runs": [claim.key.run for claim, _, _ in events],
        "event_attempts": [claim.attempt for claim, _, _ in events],
        "seqs": [seq for _, seq, _ in events],
        "types": [draft.type for _, _, draft in events],
        "data": [draft.data for _, _, draft in events],
    }


def _key_arrays(keys: Sequence[RunKey]) -> tuple[list[str], list[str], list[str]]:
    return [k.owner for k in keys], [k.thread for k in keys], [k.run for k in keys]


def _columns(key: RunKey) -> tuple[str, str, str]:
    return key.owner, key.thread, key.run


def _trusted(statement: str) -> LiteralString:
    """Mark a statement that is put together here, of nothing but constants."""
    return cast("LiteralString", statement)


async def _rows(
    connection: psycopg.AsyncConnection[Any],
    statement: str,
    values: Sequence[Any] | Mapping[str, Any],
) -> Sequence[Any]:
    return await (await connection.execute(_trusted(statement), values)).fetchall()


async def _row(
    connection: psycopg.AsyncConnection[Any], statement: str, values: Sequence[Any]
) -> Sequence[Any] | None:
    found: Sequence[Any] | None = await (
        await connection.execute(_trusted(statement), values)
    ).fetchone()
    return found


def _run(row: Sequence[Any]) -> Run:
    status, request, created, started, ended, error, *rest = row[3:]
    attempt, handed, last_seq, cancel_asked = rest
    return Run(
        key=RunKey(*row[:3]),
        status=status,
        request=request,
        created=created,
        started=started,
        ended=ended,
        error=error,
        attempt=attempt,
        handed=handed,
        last_seq=last_seq,
        cancel_asked=cancel_asked,
    )
