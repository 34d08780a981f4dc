"""The tables of runs and of their events, with the statements for either database."""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from thalweg.errors import BusyError, RunExistsError
from thalweg_server.runs.base import ENDED, Claim, Draft, Event, RunKey, RunRecord, Status
from thalweg_server.runs.drafts import sound


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
    workers_statement: ClassVar[str]
    """Selects the processes with runs that have not ended, of all owners."""
    take_over_statement: ClassVar[str]
    """Assigns runs of all owners: processes as a JSON list, the new process, how many."""
    promote_statement: ClassVar[str]
    """Queues waiting runs of all owners for a process: the process, how many."""

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
        claimed: RunKey | None = None,
    ) -> Sequence[Any]:
        """Change runs of an owner in a transaction of its own, and return the statement's rows.

        Args:
            owner: The owner.
            statement: Ends in `RETURNING`.
            values: The values of its `?`.
            notified: A run of whose change other processes are notified.
            claimed: A run: waits until no claim of it is held any more.
        """

    async def create(
        self, key: RunKey, request: str, *, worker: str = "", due_ms: int | None = None
    ) -> RunRecord:
        """Store a new run.

        Args:
            key: Its id is chosen by the caller.
            request: The request, a JSON object.
            worker: See `RunRecord.worker`.
            due_ms: The run waits until `promote` queues it, not before this time in milliseconds
                since 1970; by default it is queued at once.

        Raises:
            BusyError: Another run of the thread has not ended, and the run may not wait.
            RunExistsError: The owner has a run with that id.
        """
        status, work = ("queued", worker) if due_ms is None else ("waiting", "")
        values = (*key, sound(request), work, status, due_ms or 0)
        while True:
            if rows := await self._change(key.owner, _CREATE.format(now=self.now), values):
                return _run(rows[0])
            if await self._read(key.owner, _EXISTS, (key.owner, key.run)):
                raise RunExistsError(key.run)
            if rows := await self._read(key.owner, ACTIVE, (key.owner, key.thread)):
                raise BusyError(key.thread, rows[0][0])
            # What was in the way ended in between.

    async def get(self, key: RunKey) -> RunRecord | None:
        """Return one run; `None` if the owner has no such run."""
        rows = await self._read(key.owner, _GET, key)
        return _run(rows[0]) if rows else None

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

    async def newest(self, owner: str) -> Mapping[str, RunRecord]:
        """Return the newest run of each thread of an owner, by thread."""
        rows = await self._read(owner, _NEWEST, (owner, owner))
        return {run.key.thread: run for run in map(_run, rows)}

    async def unended(self, owner: str, thread: str) -> Sequence[RunRecord]:
        """Return the runs of a thread that have not ended, those that wait too, oldest first."""
        rows = await self._read(owner, _UNENDED, (owner, thread))
        return [_run(row) for row in rows]

    async def count_active(self, owner: str) -> int:
        """Return how many runs of an owner have not ended."""
        ((count,),) = await self._read(owner, _COUNT_ACTIVE, (owner,))
        return int(count)

    async def claim(self, key: RunKey) -> Claim | None:
        """Claim a run to perform it; `None` if it has ended. Earlier claims become void."""
        statement = _CLAIM.format(now=self.now)
        rows = await self._change(key.owner, statement, key, notified=key, claimed=key)
        run = _run(rows[0]) if rows else None
        return None if run is None else Claim(key, run.attempt, run)

    async def release(self, claim: Claim) -> bool:
        """Release a claim for another process; return False if it was void."""
        key = claim.key
        return bool(await self._change(key.owner, _RELEASE, (*key, claim.attempt), notified=key))

    async def ask_cancel(self, key: RunKey) -> bool:
        """Request cancellation of a run; return False if it has ended. One that waits ends."""
        ended = _CANCEL_WAITING.format(now=self.now)
        if await self._change(key.owner, ended, key, notified=key):
            return True
        return bool(await self._change(key.owner, _CANCEL, key, notified=key))

    async def workers(self) -> Collection[str]:
        """Return the processes with runs that have not ended, of all owners."""
        return {name for (name,) in await self._read("", self.workers_statement, ())}

    async def take_over(
        self, workers: Collection[str], worker: str, limit: int
    ) -> Sequence[RunKey]:
        """Assign runs of some processes, of all owners, to another one.

        Args:
            workers: The processes that perform nothing any more.
            worker: The one that takes over.
            limit: How many runs at most: the oldest.

        Returns:
            The runs, in any order; each to one caller alone, however many ask at once.
        """
        values = (json.dumps(list(workers)), worker, limit)
        return [RunKey(*row) for row in await self._change("", self.take_over_statement, values)]

    async def promote(self, worker: str, limit: int) -> Sequence[RunKey]:
        """Queue waiting runs that are due and first in their threads, of all owners.

        Args:
            worker: The process that performs them.
            limit: How many at most.

        Returns:
            The runs; each to one caller alone.
        """
        rows = await self._change("", self.promote_statement, (worker, limit))
        return [RunKey(*row) for row in rows]

    async def read(self, key: RunKey, after: int = 0, limit: int = 1000) -> Sequence[Event]:
        """Return events after a number, oldest first."""
        return [Event(*row) for row in await self._read(key.owner, READ, (*key, after, limit))]

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
    " attempt, handed, last_seq, cancel_asked, work"
)
"""Columns from which a run is read, in the order of the fields of `RunRecord`."""
_KEY = "owner = ? AND thread = ? AND run = ?"
_IS_ACTIVE = "status IN ('queued', 'running')"
_IS_UNENDED = "status IN ('queued', 'running', 'waiting')"
_EXISTS = "SELECT 1 FROM runs WHERE owner = ? AND run = ?"
_CREATE = (
    "INSERT INTO runs (owner, thread, run, request, work, status, due, created)"  # noqa: S608 (constants)
    f" VALUES (?, ?, ?, ?, ?, ?, ?, {{now}}) ON CONFLICT DO NOTHING RETURNING {_COLUMNS}"
)
_CLAIM = f"""
    UPDATE runs SET status = 'running', attempt = attempt + 1,
        started = coalesce(started, {{now}})
    WHERE {_KEY} AND {_IS_ACTIVE} RETURNING {_COLUMNS}
"""  # noqa: S608 (constants)
ACTIVE = f"SELECT run FROM runs WHERE owner = ? AND thread = ? AND {_IS_ACTIVE}"  # noqa: S608
"""The run of a thread that has not ended."""
_GET = f"SELECT {_COLUMNS} FROM runs WHERE {_KEY}"  # noqa: S608
_COUNT_ACTIVE = f"SELECT count(*) FROM runs WHERE owner = ? AND {_IS_UNENDED}"  # noqa: S608
_NEWEST = (
    f"SELECT {_COLUMNS} FROM runs WHERE owner = ? AND number IN"  # noqa: S608
    " (SELECT max(number) FROM runs WHERE owner = ? GROUP BY thread)"
)
_UNENDED = (
    f"SELECT {_COLUMNS} FROM runs WHERE owner = ? AND thread = ? AND {_IS_UNENDED}"  # noqa: S608
    " ORDER BY number"
)
_CANCEL_WAITING = f"""
    UPDATE runs SET status = 'cancelled', ended = {{now}}
    WHERE {_KEY} AND status = 'waiting' RETURNING 1
"""  # noqa: S608
_LIST = f"SELECT {_COLUMNS} FROM runs WHERE owner = ?"  # noqa: S608
_RELEASE = f"""
    UPDATE runs SET status = 'queued', handed = handed + 1
    WHERE {_KEY} AND attempt = ? AND status = 'running' RETURNING 1
"""  # noqa: S608
_CANCEL = f"UPDATE runs SET cancel_asked = true WHERE {_KEY} AND {_IS_ACTIVE} RETURNING 1"  # noqa: S608
READ = f"SELECT seq, type, data FROM run_events WHERE {_KEY} AND seq > ? ORDER BY seq LIMIT ?"  # noqa: S608
"""Events of a run after a number."""


def _run(row: Sequence[Any]) -> RunRecord:
    times = map(_time, row[5:8])
    status = "queued" if row[3] == "waiting" else row[3]  # the difference is the tables' own
    fields: list[Any] = [status, row[4], *times, *row[8:12], bool(row[12]), row[13]]
    return RunRecord(RunKey(*row[:3]), *fields)


def _time(value: datetime | str | None) -> Any:  # noqa: ANN401 (`None` for two of three)
    if value is None:
        return None
    found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return found.astimezone(UTC)
