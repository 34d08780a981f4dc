"""Runs on a PostgreSQL server, for any number of processes on any number of machines."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC
from typing import Any

from thalweg.errors import BusyError, ClaimLostError, RunExistsError
from thalweg.runs.base import Claim, Event, Run, RunKey
from thalweg.runs.marks import mark
from thalweg.runs.postgres_connections import Connection, Connections, trusted
from thalweg.runs.postgres_schema import COLUMNS, WRITE
from thalweg.runs.tables import Heard, State, Write

MOST = 6
"""Connections of one process that anybody asks, and as many that keep claims good."""
_HOLD = "SELECT pg_advisory_xact_lock_shared(hashtextextended(%s, 7))"
_TAKE = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))"
"""Whoever holds a claim does so together with others; whoever claims, alone."""
_IS_ACTIVE = "status IN ('queued', 'running')"
_KEY = "owner = %s AND thread = %s AND run = %s"
# Put together of constants alone, once, here.
_CREATE = f"""
    INSERT INTO runs (owner, thread, run, request, work) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT DO NOTHING RETURNING {COLUMNS}
"""  # noqa: S608
_ACTIVE = f"SELECT run FROM runs WHERE owner = %s AND thread = %s AND {_IS_ACTIVE}"  # noqa: S608
_GET = f"SELECT {COLUMNS} FROM runs WHERE {_KEY}"  # noqa: S608
_COUNT_ACTIVE = f"SELECT count(*) FROM runs WHERE owner = %s AND {_IS_ACTIVE}"  # noqa: S608
_LIST = f"SELECT {COLUMNS} FROM runs WHERE owner = %s"  # noqa: S608
_CLAIM = f"""
    UPDATE runs SET status = 'running', attempt = attempt + 1, started = coalesce(started, now())
    WHERE {_KEY} AND {_IS_ACTIVE} RETURNING {COLUMNS}
"""  # noqa: S608
_WORKERS = "SELECT run_workers()"
_TAKE_OVER = "SELECT * FROM run_take_over(%s::text[], %s, %s)"
_RELEASE = f"""
    UPDATE runs SET status = 'queued', handed = handed + 1
    WHERE {_KEY} AND attempt = %s AND status = 'running' RETURNING 1
"""  # noqa: S608
_IS_GOOD = f"SELECT 1 FROM runs WHERE {_KEY} AND attempt = %s AND status = 'running'"  # noqa: S608
_STATES = """
    SELECT owner, runs.thread, run, status, attempt, last_seq, cancel_asked
    FROM unnest(%s::text[], %s::text[], %s::text[]) AS asked (owner, thread, run)
    JOIN runs USING (owner, run) WHERE runs.thread = asked.thread
"""
_READ = f"""
    SELECT seq, type, data FROM run_events WHERE {_KEY} AND seq > %s ORDER BY seq LIMIT %s
"""  # noqa: S608
_READ_EACH = """
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
_CANCEL = f"UPDATE runs SET cancel_asked = true WHERE {_KEY} AND {_IS_ACTIVE} RETURNING 1"  # noqa: S608


class PostgresTables:
    """The tables on a server."""

    def __init__(self, url: str, *, most: int = MOST) -> None:
        self._connections = Connections(url, most)

    async def open(self, heard: Heard, is_awaited: Callable[[], bool]) -> None:
        """See `Tables.open`."""
        del is_awaited  # a notice costs nothing to hear
        await self._connections.open(heard)

    async def create(self, key: RunKey, request: str, worker: str) -> Run:
        """See `Tables.create`."""
        exists = "SELECT 1 FROM runs WHERE owner = %s AND run = %s"
        while True:
            async with self._connections.transaction([key.owner]) as connection:
                if rows := await _rows(connection, _CREATE, (*_columns(key), request, worker)):
                    return _run(rows[0])
                if await _rows(connection, exists, (key.owner, key.run)):
                    raise RunExistsError(key.run)
                if rows := await _rows(connection, _ACTIVE, (key.owner, key.thread)):
                    raise BusyError(key.thread, rows[0][0])
            # What stood in the way ended in between.

    async def get(self, key: RunKey) -> Run | None:
        """See `Tables.get`."""
        rows = await self._connections.ask([key.owner], _GET, _columns(key))
        return _run(rows[0]) if rows else None

    async def list(
        self, owner: str, thread: str | None, limit: int, before: str | None
    ) -> Sequence[Run]:
        """See `Tables.list`."""
        statement = _LIST
        values: list[str | int] = [owner]
        if thread is not None:
            statement += " AND thread = %s"
            values.append(thread)
        if before is not None:
            statement += " AND number < (SELECT number FROM runs WHERE owner = %s AND run = %s)"
            values += [owner, before]
        statement += " ORDER BY number DESC LIMIT %s"
        rows = await self._connections.ask([owner], statement, [*values, limit])
        return [_run(row) for row in rows]

    async def count_active(self, owner: str) -> int:
        """See `Tables.count_active`."""
        ((count,),) = await self._connections.ask([owner], _COUNT_ACTIVE, (owner,))
        return int(count)

    async def claim(self, key: RunKey) -> Run | None:
        """See `Tables.claim`."""
        rows = await self._connections.ask(
            [key.owner], _CLAIM, _columns(key), first=(_TAKE, (mark(key),)), told=[key]
        )
        return _run(rows[0]) if rows else None

    async def workers(self) -> Collection[str]:
        """See `Tables.workers`."""
        return {name for (name,) in await self._connections.ask([], _WORKERS, ())}

    async def take_over(
        self, workers: Collection[str], worker: str, limit: int
    ) -> Sequence[RunKey]:
        """See `Tables.take_over`."""
        rows = await self._connections.ask([], _TAKE_OVER, (list(workers), worker, limit))
        return [RunKey(*row) for row in rows]

    async def release(self, claim: Claim) -> bool:
        """See `Tables.release`."""
        key, values = claim.key, (*_columns(claim.key), claim.attempt)
        return bool(await self._connections.ask([key.owner], _RELEASE, values, told=[key]))

    @asynccontextmanager
    async def hold(self, claim: Claim) -> AsyncIterator[None]:
        """See `Tables.hold`."""
        key = claim.key
        async with self._connections.transaction([key.owner], is_held=True) as connection:
            await connection.execute(_HOLD, (mark(key),))
            if not await _rows(connection, _IS_GOOD, (*_columns(key), claim.attempt)):
                raise ClaimLostError(key.run, claim.attempt)
            yield

    async def write(self, writes: Sequence[Write]) -> Sequence[bool]:
        """See `Tables.write`."""
        keys = [write.claim.key for write in writes]
        owners = [key.owner for key in keys]
        rows = await self._connections.write(owners, WRITE, _arrays(writes), keys)
        good = {number for (number,) in rows}
        return [number in good for number in range(1, len(writes) + 1)]

    async def states(self, keys: Sequence[RunKey]) -> Mapping[RunKey, State]:
        """See `Tables.states`."""
        owners = [key.owner for key in keys]
        rows = await self._connections.ask(owners, _STATES, _key_arrays(keys))
        return {RunKey(*row[:3]): State(*row[3:]) for row in rows}

    async def read(self, key: RunKey, after: int, limit: int) -> Sequence[Event]:
        """See `Tables.read`."""
        rows = await self._connections.ask([key.owner], _READ, (*_columns(key), after, limit))
        return [Event(*row) for row in rows]

    async def read_each(
        self, after: Mapping[RunKey, int], limit: int
    ) -> Mapping[RunKey, Sequence[Event]]:
        """See `Tables.read_each`."""
        values = (*_key_arrays(list(after)), list(after.values()), limit)
        rows = await self._connections.ask([key.owner for key in after], _READ_EACH, values)
        found: dict[RunKey, list[Event]] = {}
        for row in rows:
            found.setdefault(RunKey(*row[:3]), []).append(Event(*row[3:]))
        return found

    async def ask_cancel(self, key: RunKey) -> bool:
        """See `Tables.ask_cancel`."""
        asked = await self._connections.ask([key.owner], _CANCEL, _columns(key), told=[key])
        return bool(asked)

    async def delete(self, owner: str, thread: str) -> int:
        """See `Tables.delete`."""
        lock = "SELECT run, status FROM runs WHERE owner = %s AND thread = %s FOR UPDATE"
        async with self._connections.transaction([owner]) as connection:
            runs = await _rows(connection, lock, (owner, thread))
            for run, status in runs:
                if status in {"queued", "running"}:
                    raise BusyError(thread, run)
            ids = (owner, thread, [run for run, _ in runs])
            where = "WHERE owner = %s AND thread = %s AND run = ANY (%s)"
            for table in ("run_events", "runs"):
                await connection.execute(trusted(f"DELETE FROM {table} {where}"), ids)  # noqa: S608
        return len(runs)

    async def close(self) -> None:
        """See `Tables.close`."""
        await self._connections.close()


def _arrays(writes: Sequence[Write]) -> dict[str, list[Any]]:
    events = [
        (number, seq, draft)
        for number, write in enumerate(writes, start=1)
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
        "numbers": [number for number, _, _ in events],
        "seqs": [seq for _, seq, _ in events],
        "types": [draft.type for _, _, draft in events],
        "data": [draft.data for _, _, draft in events],
    }


def _key_arrays(keys: Sequence[RunKey]) -> tuple[list[str], list[str], list[str]]:
    return [key.owner for key in keys], [key.thread for key in keys], [key.run for key in keys]


def _columns(key: RunKey) -> tuple[str, str, str]:
    return key.owner, key.thread, key.run


async def _rows(connection: Connection, statement: str, values: Sequence[Any]) -> Sequence[Any]:
    return await (await connection.execute(trusted(statement), values)).fetchall()


def _run(row: Sequence[Any]) -> Run:
    status, request, created, started, ended, error, *rest = row[3:]
    attempt, handed, last_seq, cancel_asked, worker = rest
    return Run(
        key=RunKey(*row[:3]),
        status=status,
        request=request,
        created=created.astimezone(UTC),
        started=None if started is None else started.astimezone(UTC),
        ended=None if ended is None else ended.astimezone(UTC),
        error=error,
        attempt=attempt,
        handed=handed,
        last_seq=last_seq,
        cancel_asked=cancel_asked,
        worker=worker,
    )
