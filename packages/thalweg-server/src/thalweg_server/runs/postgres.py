"""Runs on a PostgreSQL server, for any number of processes on any number of machines."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from psycopg.errors import UniqueViolation

from thalweg.database.jobs import LEASE_S, Job, JobQueue, JobSql
from thalweg.database.postgres import driver_statement
from thalweg.errors import BusyError, ClaimLostError, StorageError
from thalweg_server.runs.base import Claim, Event, RunKey
from thalweg_server.runs.crons import DELETE_CRONS
from thalweg_server.runs.drafts import PACKED
from thalweg_server.runs.journal import Journal
from thalweg_server.runs.postgres_connections import WRITE, Connection, RunConnections
from thalweg_server.runs.tables import RunState, RunWrite, unpacked

MOST = 6
"""Connections of one process that anybody asks, and as many that keep claims good."""
_HOLD = "SELECT pg_advisory_xact_lock_shared(hashtextextended(%s, 7))"
_TAKE = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))"
"""A lock that is shared by holders of claims, and exclusive for a process that claims."""
_IS_GOOD = (
    "SELECT 1 FROM runs WHERE owner = %s AND thread = %s AND run = %s"
    " AND attempt = %s AND status = 'running'"
)
_STATES = """
    SELECT owner, runs.thread, run, status, attempt, last_seq, cancel_asked
    FROM unnest(%s::text[], %s::text[], %s::text[]) AS asked (owner, thread, run)
    JOIN runs USING (owner, run) WHERE runs.thread = asked.thread
"""
_AFTER = """
    FROM run_events WHERE owner = asked.owner AND thread = asked.thread AND run = asked.run
        AND seq > asked.after ORDER BY seq LIMIT
"""
_READ_EACH = f"""
    SELECT asked.owner, asked.thread, asked.run, event.seq, event.type, event.data
    FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[])
        AS asked (owner, thread, run, after)
    CROSS JOIN LATERAL (
        SELECT seq, type, data {_AFTER} coalesce(
            (SELECT CASE type WHEN '{PACKED}' THEN 1 ELSE %s END {_AFTER} 1), 1
        )
    ) AS event ORDER BY 1, 2, 3, 4
"""  # noqa: S608 (constants)


class PostgresJournal(Journal):
    """A journal on a server."""

    now = "now()"
    jobs = JobQueue("run", "postgres")
    submit_missing = "SELECT run_submit_missing(?)"

    def __init__(self, url: str, direct: str | None = None) -> None:
        super().__init__()
        self._connections = RunConnections(url, MOST, direct)

    async def _connect(self) -> None:
        await self._connections.open(self._on_changes)

    async def _disconnect(self) -> None:
        await self._connections.close()

    async def _read(self, owner: str, statement: str, values: Sequence[Any]) -> Sequence[Any]:
        return await self._connections.ask([owner], statement, values)

    async def _change(
        self,
        owner: str,
        statement: str,
        values: Sequence[Any],
        *,
        notified: RunKey | None = None,
        locked: str = "",
        before: JobSql | None = None,
        then: Sequence[JobSql] = (),
    ) -> Sequence[Any]:
        first: list[tuple[str, Sequence[Any]]] = [(_TAKE, (locked,))] if locked else []
        first += [] if before is None else [before]
        changed = await self._connections.ask(
            [owner],
            statement,
            values,
            first=first,
            then=then,
            notified=[] if notified is None else [notified],
        )
        if then:
            self.job_available.set()
        return changed

    async def claim_job(
        self, worker: str, *, lease_s: float = LEASE_S, only_runs: bool = False
    ) -> Job | None:
        """Claim a job, see `Tables.claim_job`; again if another process claims one of its lock."""
        while True:
            try:
                return await super().claim_job(worker, lease_s=lease_s, only_runs=only_runs)
            except StorageError as error:
                if not isinstance(error.__cause__, UniqueViolation):
                    raise

    @asynccontextmanager
    async def hold(self, claim: Claim) -> AsyncIterator[None]:
        """Lock a claim inside the context: another process that claims the run waits."""
        key = claim.key
        async with self._connections.transaction([key.owner], is_held=True) as connection:
            await connection.execute(_HOLD, (key.mark,))
            if not await _rows(connection, _IS_GOOD, (*key, claim.attempt)):
                raise ClaimLostError(key.run, claim.attempt)
            yield

    async def write(self, writes: Sequence[RunWrite]) -> Sequence[bool]:
        """Write all or, if the database fails, nothing; a void claim's part is skipped."""
        keys = [write.claim.key for write in writes]
        owners = [key.owner for key in keys]
        rows = await self._connections.write(owners, WRITE, _arrays(writes), keys)
        good = {number for (number,) in rows}
        return [number in good for number in range(1, len(writes) + 1)]

    async def states(self, keys: Sequence[RunKey]) -> Mapping[RunKey, RunState]:
        """Return the states of runs; missing runs are omitted."""
        owners = [key.owner for key in keys]
        rows = await self._connections.ask(owners, _STATES, _key_arrays(keys))
        return {RunKey(*row[:3]): RunState(*row[3:]) for row in rows}

    async def read_each(
        self, after: Mapping[RunKey, int], limit: int
    ) -> Mapping[RunKey, Sequence[Event]]:
        """Return the events of many runs, after a number each; at most `limit` of each."""
        values = (*_key_arrays(after), list(after.values()), limit)
        rows = await self._connections.ask([key.owner for key in after], _READ_EACH, values)
        found: dict[RunKey, list[Sequence[Any]]] = {}
        for row in rows:
            found.setdefault(RunKey(*row[:3]), []).append(row[3:])
        return {key: await unpacked(page, after[key], limit) for key, page in found.items()}

    async def renew_jobs(self, worker: str, ids: Collection[int]) -> None:
        """Renew leases; see `Tables`. It waits for no connection: a late renewal loses runs."""
        await self._connections.write([], *self.jobs.renew(worker, ids), [])

    async def delete(self, owner: str, thread: str, run: str | None = None) -> int:
        """Delete the runs of a thread, or one of them, events and all."""
        lock = "SELECT run, status FROM runs WHERE owner = %s AND thread = %s FOR UPDATE"
        async with self._connections.transaction([owner]) as connection:
            if run is None:
                await connection.execute(driver_statement(DELETE_CRONS), (owner, thread))
            found = await _rows(connection, lock, (owner, thread))
            runs = [row for row in found if run in {None, row[0]}]
            for id_, status in runs:
                if status in {"queued", "running"}:
                    raise BusyError(thread, id_)
            ids = (owner, thread, [id_ for id_, _ in runs])
            where = "WHERE owner = %s AND thread = %s AND run = ANY (%s)"
            for table in ("run_events", "runs"):
                await connection.execute(driver_statement(f"DELETE FROM {table} {where}"), ids)  # noqa: S608
        return len(runs)


def _arrays(writes: Sequence[RunWrite]) -> dict[str, list[Any]]:
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


def _key_arrays(keys: Iterable[RunKey]) -> list[list[str]]:
    return [list(column) for column in zip(*keys, strict=True)]


async def _rows(connection: Connection, statement: str, values: Sequence[Any]) -> Sequence[Any]:
    return await (await connection.execute(driver_statement(statement), values)).fetchall()
