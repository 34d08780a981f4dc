"""The tables of runs and of their events, with the statements for either database."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Literal

from thalweg.database.jobs import BACKGROUND, BETWEEN, LEASE_S, NEVER_MS, Job, JobQueue, JobSql
from thalweg.errors import BusyError, NoSuchRunError, RunExistsError
from thalweg_server.runs.base import (
    CHORE,
    ENDED,
    Claim,
    Draft,
    Event,
    RunKey,
    RunRecord,
    Status,
    now_ms,
)
from thalweg_server.runs.drafts import PACKED, pack, portions, sound, unpack

_PAGE = 1_000
"""Events that are read at a time."""
PACK_AFTER = timedelta(hours=1)
"""Since the end of a run: until then its own process may pack it."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended."""

    status: Status
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunWrite:
    """The pending writes of one run, applied if a claim is valid."""

    claim: Claim
    after: int
    """The number of the last event before it."""
    drafts: tuple[Draft, ...]
    end: RunEnd | None = None

    @property
    def last(self) -> int:
        """The number of its last event."""
        return self.after + len(self.drafts)


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of a run."""

    status: Status
    attempt: int
    last_seq: int
    cancel_requested: bool

    @property
    def has_ended(self) -> bool:
        """Whether nothing comes any more."""
        return self.status in ENDED

    def voids(self, claim: Claim) -> bool:
        """Whether a claim may write no longer."""
        return self.status != "running" or self.attempt != claim.attempt


class Tables(ABC):
    """The tables of runs and of their events, in one database.

    Statements that both databases read are here, values as `?`. A subclass runs them, and has
    those of its own for many runs at a time.

    Raises (all methods):
        StorageError: The database failed. A `write` may have been done nevertheless.
    """

    now: ClassVar[str]
    """The time of the database, in SQL."""
    jobs: ClassVar[JobQueue]
    """The queue of runs."""
    submit_missing: ClassVar[str]
    """Submits jobs of unended runs of all owners that have none; the value is `BETWEEN`."""

    @abstractmethod
    async def _read(self, owner: str, statement: str, values: Sequence[Any]) -> Sequence[Any]:
        """Run a `SELECT` on rows of an owner and return its rows."""

    @abstractmethod
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
        """Change rows of an owner in a transaction of its own, and return the statement's rows.

        Args:
            owner: The owner.
            statement: Ends in `RETURNING`.
            values: The values of its `?`.
            notified: A run of whose change other processes are notified.
            locked: The mark of a run, or the lock of a thread, to hold exclusively.
            before: A statement for the queue of runs, before it in the same transaction.
            then: Others after it, if it returned rows; other processes are notified that a
                job may be claimed.
        """

    async def create(
        self,
        key: RunKey,
        request: str,
        *,
        if_busy: Literal["enqueue", "reject"] = "reject",
        due_ms: int = 0,
        priority: int = 0,
    ) -> RunRecord:
        """Store a new run and submit its job, in one transaction.

        Args:
            key: Its id is chosen by the caller.
            request: The request, a JSON object.
            if_busy: Whether it may wait for earlier runs of its thread.
            due_ms: The earliest start, in milliseconds since 1970.
            priority: See `JobQueue.submit`.

        Raises:
            BusyError: Another run of the thread has not ended, and the run may not wait.
            RunExistsError: The owner has a run with that id.
        """
        statement = _CREATE
        values: tuple[str | int, ...] = (*key, sound(request), due_ms)
        if if_busy == "reject":
            statement, values = _CREATE_ALONE, (*values, *key[:2])
        job = self.jobs.submit(key.job, key.lock, due_ms=due_ms, priority=priority)
        while True:
            if rows := await self._change(
                key.owner, statement.format(now=self.now), values,
                locked=key.lock if if_busy == "reject" else "", then=(job,),
            ):  # fmt: skip
                return _run(rows[0])
            if await self._read(key.owner, _EXISTS, (key.owner, key.run)):
                raise RunExistsError(key.run)
            unended = await self.unended(key.owner, key.thread)
            if unended and if_busy == "reject":
                raise BusyError(key.thread, unended[0].key.run)
            # What was in the way ended in between.

    async def get(self, key: RunKey) -> RunRecord | None:
        """Return one run; `None` if the owner has no such run."""
        rows = await self._read(key.owner, _GET, key)
        return _run(rows[0]) if rows else None

    async def existing(self, key: RunKey) -> RunRecord:
        """Return one run.

        Raises:
            NoSuchRunError: The owner has no such run.
        """
        if (run := await self.get(key)) is None:
            raise NoSuchRunError(key.run)
        return run

    async def list(
        self, owner: str, thread: str | None = None, *, limit: int = 50, before: str | None = None
    ) -> Sequence[RunRecord]:
        """Return the newest runs, newest first.

        Args:
            owner: The owner.
            thread: The thread; all threads by default.
            limit: How many at most.
            before: Continue after this run.
        """
        statement = _LIST
        values: list[str | int] = [owner]
        if thread is not None:
            statement += " AND thread = ?"
            values.append(thread)
        if before is not None:
            statement += " AND number < (SELECT number FROM runs WHERE owner = ? AND run = ?)"
            values += [owner, before]
        statement += " ORDER BY number DESC LIMIT ?"
        return [_run(row) for row in await self._read(owner, statement, [*values, limit])]

    async def unended_or_newest(self, owner: str) -> Mapping[str, RunRecord]:
        """Return a run of each thread of an owner: one that has not ended, else the newest."""
        rows = await self._read(owner, _UNENDED_OR_NEWEST, (owner, owner))
        # Rows of runs that have not ended come last, and replace the newest run of their thread.
        return {run.key.thread: run for run in map(_run, rows)}

    async def begun(self, owner: str, thread: str) -> Collection[str]:
        """Return which of the newest 1,000 runs of a thread are running or have ended."""
        rows = await self._read(owner, _STATUSES, (owner, thread))
        return {run for run, status in rows if status != "queued"}

    async def unended(self, owner: str, thread: str, due_ms: int = NEVER_MS) -> Sequence[RunRecord]:
        """Return the runs of a thread that are due at a time and have not ended, oldest first."""
        rows = await self._read(owner, _UNENDED, (owner, thread, due_ms))
        return [_run(row) for row in rows]

    async def count_active(self, owner: str, *, delayed: bool = False) -> int:
        """Return the number of unended runs of an owner that are due; if `delayed`, others, too."""
        due_ms = NEVER_MS if delayed else now_ms()
        ((count,),) = await self._read(owner, COUNT_ACTIVE, (owner, due_ms))
        return int(count)

    async def created_at(self, owner: str, place: int) -> datetime | None:
        """Return when a run of an owner was created, the newest at place 1; `None` for no run."""
        rows = await self._read(owner, CREATED_AT, (owner, place - 1))
        return _time(rows[0][0]) if rows else None

    async def claim(self, key: RunKey) -> Claim | None:
        """Claim a run to perform it; `None` if it has ended. Earlier claims become void."""
        statement = _CLAIM.format(now=self.now) + _RETURNING
        rows = await self._change(key.owner, statement, key, notified=key, locked=key.mark)
        run = _run(rows[0]) if rows else None
        return None if run is None else Claim(key, run.attempt, run)

    async def release(self, claim: Claim, job: Job | None = None) -> bool:
        """Release a claim and its job for another process; return False if it was void."""
        key, then = claim.key, () if job is None else (self.jobs.release(job),)
        values = (*key, claim.attempt)
        return bool(await self._change(key.owner, _RELEASE, values, notified=key, then=then))

    async def cancel_queued(self, key: RunKey, last: Draft) -> bool:
        """End a run that has not begun, with its only event; return False for another run."""
        then = JobSql(_ADD_FIRST, (*key, last.type, last.data)), self.jobs.cancel(key.job)
        statement = _CANCEL_QUEUED.format(now=self.now)
        return bool(await self._change(key.owner, statement, key, notified=key, then=then))

    async def ask_cancel(self, key: RunKey) -> bool:
        """Request cancellation of a run; return False if it has ended."""
        return bool(await self._change(key.owner, _CANCEL, key, notified=key))

    async def claim_job(
        self, worker: str, *, lease_s: float = LEASE_S, only_runs: bool = False
    ) -> Job | None:
        """Claim the job of a run, or of deletion by age; `None` if none may start."""
        if not await self._read("", *self.jobs.pending()):  # then nothing is written
            return None
        claim = self.jobs.claim(worker, lease_s=lease_s, above=BACKGROUND if only_runs else None)
        rows = await self._change("", *claim, before=self.jobs.promote())
        return Job(*rows[0]) if rows else None

    async def renew_jobs(self, worker: str, ids: Collection[int]) -> None:
        """Renew the leases of jobs."""
        await self._change("", *self.jobs.renew(worker, ids))

    async def finish_job(self, job: Job) -> None:
        """Remove the job of a run that has ended: the next one of its thread may be claimed."""
        await self._change("", *self.jobs.finish(job))

    async def postpone_job(self, job: Job, due_ms: int) -> None:
        """Return a job to the queue, in place of one with its key that waits there."""
        release = self.jobs.release(job, due_ms=due_ms)
        await self._change("", *release, before=self.jobs.make_way(job))

    async def change_queue(self, statement: JobSql) -> Sequence[Any]:
        """Run a statement of a queue, and return its rows."""
        return await self._change("", *statement)

    async def queue_depth(self) -> int:
        """Return how many runs of all owners wait and are due."""
        rows = await self._read("", *self.jobs.depth(f"%{BETWEEN}{CHORE}%"))
        return int(rows[0][0])

    async def submit_missing_jobs(self) -> None:
        """Submit the jobs of unended runs of all owners that have none."""
        await self._change("", self.submit_missing, (BETWEEN,))

    async def read(self, key: RunKey, after: int = 0, limit: int = _PAGE) -> Sequence[Event]:
        """Return events after a number, oldest first; none only at the end."""
        rows = await self._read(key.owner, READ, read_values(key, after, limit))
        return await unpacked(rows, after, limit)

    async def read_all(self, key: RunKey) -> Sequence[Event]:
        """Return all events of a run, oldest first."""
        events: list[Event] = []
        while page := await self.read(key, len(events)):
            events += page
        return events

    async def pack(self, key: RunKey) -> None:
        """Store the events of an ended run compressed, in one row for up to 1,000 of them.

        Two calls at once are safe: neither changes a packed row, and rows may overlap.
        """
        after = 0
        while rows := await self._read(key.owner, READ, read_values(key, after, _PAGE)):
            if rows[0][1] == PACKED:
                after = rows[0][0]
                continue
            for events in portions(Event(*row) for row in rows):
                last = events[-1].seq
                if last - after != len(events):  # a row has its number alone
                    return
                packed = await asyncio.to_thread(pack, events)
                replace = JobSql(_REPLACE, (PACKED, packed, *key, last))
                await self._change(key.owner, _DROP, (*key, after, last), before=replace)
                after = last

    async def pack_missing(self, owner: str, thread: str, *, idle: timedelta = PACK_AFTER) -> None:
        """Pack the events of runs of a thread that ended some time ago and were not packed."""
        for key in await self._ended(owner, thread, datetime.now(UTC) - idle, _IS_UNPACKED):
            await self.pack(key)

    async def outlived(self, owner: str, thread: str, oldest: datetime) -> Sequence[RunKey]:
        """Return the runs of a thread that ended before a time, except its newest run."""
        return await self._ended(owner, thread, oldest, _HAS_NEWER)

    async def _ended(
        self, owner: str, thread: str, oldest: datetime, condition: str
    ) -> Sequence[RunKey]:
        rows = await self._read(owner, _ENDED + condition, (owner, thread))
        return [RunKey(owner, thread, run) for run, ended in rows if _time(ended) <= oldest]

    @abstractmethod
    def hold(self, claim: Claim) -> AbstractAsyncContextManager[None]:
        """Lock a claim inside the context: another process that claims the run waits.

        Use it for short operations outside of this journal that need the claim.

        Raises (when entered):
            ClaimLostError: Another process has claimed the run, or it has ended.
        """

    @abstractmethod
    async def write(self, writes: Sequence[RunWrite]) -> Sequence[bool]:
        """Write all or, if the database fails, nothing; a void claim's part is skipped.

        A claim is valid if its attempt is running and `after` is the last number.

        Returns:
            For each write, whether it was done.
        """

    @abstractmethod
    async def states(self, keys: Sequence[RunKey]) -> Mapping[RunKey, RunState]:
        """Return the states of runs; missing runs are omitted."""

    @abstractmethod
    async def read_each(
        self, after: Mapping[RunKey, int], limit: int
    ) -> Mapping[RunKey, Sequence[Event]]:
        """Return the events of many runs, after a number each; at most `limit` of each."""

    @abstractmethod
    async def delete(self, owner: str, thread: str, run: str | None = None) -> int:
        """Delete the runs of a thread, or one of them, events and all.

        Raises:
            BusyError: One of them has not ended.
        """


_COLUMNS = (
    "owner, thread, run, status, request, created, started, ended, error,"
    " attempt, handed, last_seq, cancel_asked"
)
"""Columns from which a run is read, in the order of the fields of `RunRecord`."""
_KEY = "owner = ? AND thread = ? AND run = ?"
_IS_UNENDED = "status IN ('queued', 'running')"
_EXISTS = "SELECT 1 FROM runs WHERE owner = ? AND run = ?"
INTO_RUNS = "INSERT INTO runs (owner, thread, run, request, due, created)"
_RETURNING = f" RETURNING {_COLUMNS}"
_CREATE = f"{INTO_RUNS} VALUES (?, ?, ?, ?, ?, {{now}}) ON CONFLICT DO NOTHING{_RETURNING}"
_CREATE_ALONE = (
    f"{INTO_RUNS} SELECT ?, ?, ?, ?, CAST(? AS bigint), {{now}} WHERE NOT EXISTS"  # noqa: S608 (constants)
    f" (SELECT 1 FROM runs WHERE owner = ? AND thread = ? AND {_IS_UNENDED})"
    f" ON CONFLICT DO NOTHING{_RETURNING}"
)
_CLAIM = f"""
    UPDATE runs SET status = 'running', attempt = attempt + 1,
        started = coalesce(started, {{now}})
    WHERE {_KEY} AND {_IS_UNENDED}
"""  # noqa: S608 (constants)
_GET = f"SELECT {_COLUMNS} FROM runs WHERE {_KEY}"  # noqa: S608
COUNT_ACTIVE = f"SELECT count(*) FROM runs WHERE owner = ? AND {_IS_UNENDED} AND due <= ?"  # noqa: S608
"""See `Tables.count_active`."""
CREATED_AT = "SELECT created FROM runs WHERE owner = ? ORDER BY number DESC LIMIT 1 OFFSET ?"
"""See `Tables.created_at`."""
_UNENDED_OR_NEWEST = (
    f"SELECT {_COLUMNS} FROM runs WHERE owner = ? AND ({_IS_UNENDED} OR number IN"  # noqa: S608
    f" (SELECT max(number) FROM runs WHERE owner = ? GROUP BY thread)) ORDER BY {_IS_UNENDED}"
)
_UNENDED = (
    f"SELECT {_COLUMNS} FROM runs WHERE owner = ? AND thread = ? AND {_IS_UNENDED}"  # noqa: S608
    " AND due <= ? ORDER BY number"
)
_STATUSES = (
    "SELECT run, status FROM runs WHERE owner = ? AND thread = ? ORDER BY number DESC LIMIT 1000"
)
"""Columns before `request`: those behind a long one are slow to read in SQLite."""
_LIST = f"SELECT {_COLUMNS} FROM runs WHERE owner = ?"  # noqa: S608
_RELEASE = f"""
    UPDATE runs SET status = 'queued', handed = handed + 1
    WHERE {_KEY} AND attempt = ? AND status = 'running' RETURNING 1
"""  # noqa: S608
_CANCEL = f"UPDATE runs SET cancel_asked = true WHERE {_KEY} AND {_IS_UNENDED} RETURNING 1"  # noqa: S608
_CANCEL_QUEUED = f"""
    UPDATE runs SET status = 'cancelled', cancel_asked = true, last_seq = 1,
        started = {{now}}, ended = {{now}}
    WHERE {_KEY} AND status = 'queued' AND last_seq = 0 RETURNING 1
"""  # noqa: S608
_ADD_FIRST = (
    "INSERT INTO run_events (owner, thread, run, seq, type, data) VALUES (?, ?, ?, 1, ?, ?)"
)
_AFTER = f"FROM run_events WHERE {_KEY} AND seq > ? ORDER BY seq LIMIT"
READ = (
    f"SELECT seq, type, data {_AFTER} coalesce("
    f"(SELECT CASE type WHEN '{PACKED}' THEN 1 ELSE ? END {_AFTER} 1), 1)"
)
"""Rows of a run after a number: one, if it is packed; see `read_values`."""
_ENDED = f"SELECT run, ended FROM runs WHERE owner = ? AND thread = ? AND NOT {_IS_UNENDED}"  # noqa: S608
_IS_UNPACKED = (
    " AND EXISTS (SELECT 1 FROM run_events AS event"  # noqa: S608
    " WHERE event.owner = runs.owner AND event.thread = runs.thread AND event.run = runs.run"
    f" AND type <> '{PACKED}')"
)
_HAS_NEWER = (
    " AND number < (SELECT max(number) FROM runs AS other"
    " WHERE other.owner = runs.owner AND other.thread = runs.thread)"
)
_PLAIN = f"{_KEY} AND type <> '{PACKED}'"
_REPLACE = f"UPDATE run_events SET type = ?, data = ? WHERE {_PLAIN} AND seq = ?"  # noqa: S608
_DROP = f"DELETE FROM run_events WHERE {_PLAIN} AND seq > ? AND seq < ? RETURNING 1"  # noqa: S608


def read_values(key: RunKey, after: int, limit: int) -> tuple[str | int, ...]:
    """Return the values of `READ`."""
    return (*key, after, limit, *key, after)


async def unpacked(rows: Sequence[Sequence[Any]], after: int, limit: int) -> list[Event]:
    """Return `events_of` rows; those of a packed row are read in a thread."""
    if rows and rows[0][1] == PACKED:
        return await asyncio.to_thread(events_of, rows, after, limit)
    return events_of(rows, after, limit)


def events_of(rows: Iterable[Sequence[Any]], after: int, limit: int) -> list[Event]:
    """Return the events after a number that rows of a run hold, at most `limit`."""
    return [event for row in rows for event in unpack(Event(*row), after)][:limit]


def _run(row: Sequence[Any]) -> RunRecord:
    times = map(_time, row[5:8])
    fields: list[Any] = [*row[3:5], *times, *row[8:12], bool(row[12])]
    return RunRecord(RunKey(*row[:3]), *fields)


def _time(value: datetime | str | None) -> Any:  # noqa: ANN401 (`None` for two of three)
    if value is None:
        return None
    found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return found.astimezone(UTC)
