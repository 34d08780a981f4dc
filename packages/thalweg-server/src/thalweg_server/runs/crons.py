"""The table of crons. Each cron that is enabled has a job in the queue of runs.

The row states when the next run is due, and the job of that time submits the run, the next time
and its job in one transaction. So each due time has one run, and a job of another time is void.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from thalweg.database.jobs import BETWEEN, NEVER_MS, JobSql
from thalweg.errors import BusyError
from thalweg_server.runs.base import CRON, RunKey, now_ms
from thalweg_server.runs.drafts import sound
from thalweg_server.runs.tables import COUNT_ACTIVE, CREATED_AT, INTO_RUNS, Tables

MOST_CRONS = 100
"""Crons of an owner."""
Limits = tuple[int | None, int | None]
"""Runs of an owner at once and a minute; see `CronTables.fire`."""


class PostponedError(BusyError):
    """The run of a cron cannot start yet."""

    sentence = "{problem}"

    problem: str
    """The reason."""
    is_limit: bool = False
    """Whether the reason is a limit of the owner."""


@dataclass(frozen=True, slots=True)
class CronRecord:
    """A row of the table. Times are milliseconds since 1970."""

    owner: str
    id: str
    thread: str
    """The thread of its runs; empty if each has a new one."""
    due_ms: int
    """When its next run is due; 0 for never."""
    body: str
    """The request, a JSON object."""
    created_ms: int
    updated_ms: int

    @property
    def job(self) -> RunKey:
        """The key of its job."""
        return RunKey(self.owner, self.id, f"{CRON} {self.due_ms}")


class CronTables(Tables):
    """The tables of runs, with that of crons.

    Raises (all methods):
        StorageError: The database failed.
    """

    async def crons(self, owner: str, id_: str | None = None) -> Sequence[CronRecord]:
        """Return the crons of an owner, the newest first, or the one with an id."""
        rows = await self._read(owner, _SELECT, (owner, id_))
        return [CronRecord(*row) for row in rows]

    async def put_cron(self, new: CronRecord, old: CronRecord | None = None) -> bool:
        """Store a new cron, or one in place of an old one, with its job.

        Returns:
            False if the old one was changed since it was read, or there are `MOST_CRONS`.
        """
        new = replace(new, body=sound(new.body))
        if old is None:
            values = (*astuple(new), new.owner, MOST_CRONS)
            return await self._change_cron(new, _INSERT, values)
        changed = (new.due_ms, new.body, new.updated_ms, *_place(old))
        return await self._change_cron(new, _UPDATE, changed)

    async def delete_cron(self, cron: CronRecord) -> None:
        """Delete a cron with its job."""
        gone = replace(cron, due_ms=0)
        await self._change_cron(gone, f"{_DELETE} AND cron = ? RETURNING 1", (cron.owner, cron.id))

    async def delete_crons(self, owner: str, until_ms: int = NEVER_MS) -> None:
        """Delete the crons of an owner updated up to a time; their jobs have no effect any more."""
        await self._change(owner, f"{_DELETE} AND updated <= ? RETURNING 1", (owner, until_ms))

    async def fire(
        self,
        cron: CronRecord,
        due_ms: int,
        key: RunKey,
        request: str,
        limits: Limits = (None, None),
    ) -> bool:
        """Submit the run of a cron that is due. The crons of an owner are fired one by one.

        Args:
            cron: The cron.
            due_ms: Its next due time; 0 if there is none.
            key: The key of the run.
            request: The request of the run, a JSON object.
            limits: Runs of the owner that may be queued or running, and that may be created in a
                minute, this one included; `None` for no limit.

        Returns:
            False if the cron was changed, this due time has its run, or a limit is reached.
        """
        where, values, (at_once, per_minute) = "", list[str | int](), limits
        if at_once is not None:
            where, values = _HAS_FEWER_ACTIVE, [cron.owner, now_ms(), at_once]
        if per_minute is not None:
            since = datetime.now(UTC) - timedelta(minutes=1)
            where += _HAS_FEWER_SINCE
            values += [cron.owner, per_minute - 1, since.isoformat(timespec="milliseconds")]
        run = JobSql(_RUN.format(now=self.now), (*key, sound(request)))
        job = self.jobs.submit(key.job, key.lock, priority=_PRIORITY)
        return await self._move(cron, due_ms, JobSql(where, tuple(values)), run, job)

    async def skip(self, cron: CronRecord, due_ms: int) -> None:
        """Move a cron to its next due time without a run; no effect if it was changed."""
        await self._move(cron, due_ms, JobSql("", ()))

    async def _move(self, cron: CronRecord, due_ms: int, where: JobSql, *then: JobSql) -> bool:
        """Move a cron that meets a condition to its next due time; then run statements."""
        every = (*then, *self._submitted(replace(cron, due_ms=due_ms)))
        statement, owner = f"{_MOVE}{where.text} RETURNING 1", cron.owner
        values = (due_ms, *_place(cron), *where.values)
        return bool(await self._change(owner, statement, values, locked=owner, then=every))

    async def _change_cron(self, cron: CronRecord, statement: str, values: Sequence[Any]) -> bool:
        """Run a statement on a cron; replace its waiting job if a row is returned."""
        others = self.jobs.discard(f"{cron.job.lock}{BETWEEN}{CRON}", held=False)
        then, owner = (others, *self._submitted(cron)), cron.owner
        return bool(await self._change(owner, statement, values, locked=owner, then=then))

    def _submitted(self, cron: CronRecord) -> Sequence[JobSql]:
        key, due_ms = cron.job, cron.due_ms
        job = self.jobs.submit(key.job, key.lock, due_ms=due_ms, priority=_PRIORITY)
        return (job,) if due_ms else ()


_SELECT = """
    SELECT owner, cron, thread, due, body, created, updated FROM run_cron
    WHERE owner = ? AND cron = coalesce(?, cron) ORDER BY created DESC, cron
"""
_INSERT = """
    INSERT INTO run_cron (owner, cron, thread, due, body, created, updated)
    SELECT ?, ?, ?, ?, ?, ?, ? WHERE (SELECT count(*) FROM run_cron WHERE owner = ?) < ?
    RETURNING 1
"""
_THIS = "owner = ? AND cron = ? AND due = ? AND updated = ?"
_MOVE = f"UPDATE run_cron SET due = ? WHERE {_THIS}"  # noqa: S608 (constants)
_HAS_FEWER_ACTIVE = f" AND ({COUNT_ACTIVE}) < ?"
_HAS_FEWER_SINCE = f" AND NOT EXISTS (SELECT 1 FROM ({CREATED_AT}) AS earlier WHERE created > ?)"  # noqa: S608
_UPDATE = f"UPDATE run_cron SET due = ?, body = ?, updated = ? WHERE {_THIS} RETURNING 1"  # noqa: S608
_DELETE = "DELETE FROM run_cron WHERE owner = ?"
DELETE_CRONS = f"{_DELETE} AND thread = ?"
"""Deletes the crons of a thread."""
_RUN = f"{INTO_RUNS} VALUES (?, ?, ?, ?, 0, {{now}}) ON CONFLICT DO NOTHING"
_PRIORITY = -1
"""Of crons and their runs. Lower than that of runs that clients start."""


def _place(cron: CronRecord) -> tuple[str, str, int, int]:
    return cron.owner, cron.id, cron.due_ms, cron.updated_ms
