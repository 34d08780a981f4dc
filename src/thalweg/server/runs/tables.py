"""The tables of runs and of their events: what is asked of either database, and how."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

from thalweg.errors import BusyError, RunExistsError
from thalweg.server.runs.base import ENDED, Claim, Draft, Event, RunKey, RunRecord, Status

Heard = Callable[[Sequence[str] | None], None]
"""Called with the marks of runs that changed; `None`: any may have."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended."""

    status: Status
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RunWrite:
    """What is to be written of one run, if a claim is good."""

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
    cancel_asked: bool

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

    @abstractmethod
    async def open(self, heard: Heard, is_awaited: Callable[[], bool]) -> None:
        """Create missing tables, and begin to listen for changes.

        Args:
            heard: Called, in this event loop, with changes that other processes made.
            is_awaited: Whether any caller waits for them.
        """

    @abstractmethod
    async def close(self) -> None:
        """Stop listening and release connections."""

    @abstractmethod
    async def _read(self, owner: str, statement: str, values: Sequence[Any]) -> Sequence[Any]:
        """Run a `SELECT` on rows of an owner and return its rows."""

    @abstractmethod
    async def _change(
        self,
        key: RunKey,
        statement: str,
        values: Sequence[Any],
        *,
        claims: bool = False,
        notifies: bool = True,
    ) -> Sequence[Any]:
        """Change a run in a transaction of its own, and return the rows of the statement.

        Args:
            key: The run.
            statement: Ends in `RETURNING`.
            values: The values of its `?`.
            claims: Waits until no claim of the run is held any more.
            notifies: Other processes are notified of the change.
        """

    async def create(self, key: RunKey, request: str, worker: str) -> RunRecord:
        """Store a new run; see `Journal.create`."""
        while True:
            values = (*columns(key), request, worker)
            if rows := await self._change(key, self._create, values, notifies=False):
                return _run(rows[0])
            if await self._read(key.owner, _EXISTS, (key.owner, key.run)):
                raise RunExistsError(key.run)
            if rows := await self._read(key.owner, ACTIVE, (key.owner, key.thread)):
                raise BusyError(key.thread, rows[0][0])
            # What was in the way ended in between.

    async def get(self, key: RunKey) -> RunRecord | None:
        """Return one run; `None` if the owner has no such run.

        See `Journal.get`.
        """
        rows = await self._read(key.owner, _GET, columns(key))
        return _run(rows[0]) if rows else None

    async def list(
        self, owner: str, thread: str | None, limit: int, before: str | None
    ) -> Sequence[RunRecord]:
        """Return the newest runs, newest first; see `Journal.list`."""
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

    async def count_active(self, owner: str) -> int:
        """Return how many runs of an owner have not ended; see `Journal.count_active`."""
        ((count,),) = await self._read(owner, _COUNT_ACTIVE, (owner,))
        return int(count)

    async def claim(self, key: RunKey) -> RunRecord | None:
        """Begin an attempt; `None` where the run has ended, or where there is none."""
        rows = await self._change(key, self._claim, columns(key), claims=True)
        return _run(rows[0]) if rows else None

    async def release(self, claim: Claim) -> bool:
        """Release a claim for another process; return False if it was void.

        See `Journal.release`.
        """
        values = (*columns(claim.key), claim.attempt)
        return bool(await self._change(claim.key, _RELEASE, values))

    async def ask_cancel(self, key: RunKey) -> bool:
        """Request cancellation of a run; return False if it has ended.

        See `Journal.ask_cancel`.
        """
        return bool(await self._change(key, _CANCEL, columns(key)))

    async def read(self, key: RunKey, after: int, limit: int) -> Sequence[Event]:
        """Return events after a number, oldest first; see `Journal.read`."""
        rows = await self._read(key.owner, READ, (*columns(key), after, limit))
        return [Event(*row) for row in rows]

    @abstractmethod
    async def workers(self) -> Collection[str]:
        """Return the processes with runs that have not ended, of all owners.

        See `Journal.workers`.
        """

    @abstractmethod
    async def take_over(
        self, workers: Collection[str], worker: str, limit: int
    ) -> Sequence[RunKey]:
        """Assign runs of some processes, of all owners, to another one; see `Journal.take_over`."""

    @abstractmethod
    def hold(self, claim: Claim) -> AbstractAsyncContextManager[None]:
        """Lock a claim inside the context: another process that claims the run waits.

        See `Journal.hold`.
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
    async def delete(self, owner: str, thread: str) -> int:
        """Delete the runs of a thread, events and all; see `Journal.delete`."""

    @property
    def _create(self) -> str:
        return (
            "INSERT INTO runs (owner, thread, run, request, work, created)"  # noqa: S608 (constants)
            f" VALUES (?, ?, ?, ?, ?, {self.now}) ON CONFLICT DO NOTHING RETURNING {_COLUMNS}"
        )

    @property
    def _claim(self) -> str:
        return (
            "UPDATE runs SET status = 'running', attempt = attempt + 1,"  # noqa: S608 (constants)
            f" started = coalesce(started, {self.now})"
            f" WHERE {_KEY} AND {_IS_ACTIVE} RETURNING {_COLUMNS}"
        )


_COLUMNS = (
    "owner, thread, run, status, request, created, started, ended, error,"
    " attempt, handed, last_seq, cancel_asked, work"
)
"""What a run is read from, in this order."""
_KEY = "owner = ? AND thread = ? AND run = ?"
_IS_ACTIVE = "status IN ('queued', 'running')"
_EXISTS = "SELECT 1 FROM runs WHERE owner = ? AND run = ?"
ACTIVE = f"SELECT run FROM runs WHERE owner = ? AND thread = ? AND {_IS_ACTIVE}"  # noqa: S608
"""The run of a thread that has not ended."""
_GET = f"SELECT {_COLUMNS} FROM runs WHERE {_KEY}"  # noqa: S608
_COUNT_ACTIVE = f"SELECT count(*) FROM runs WHERE owner = ? AND {_IS_ACTIVE}"  # noqa: S608
_LIST = f"SELECT {_COLUMNS} FROM runs WHERE owner = ?"  # noqa: S608
_RELEASE = f"""
    UPDATE runs SET status = 'queued', handed = handed + 1
    WHERE {_KEY} AND attempt = ? AND status = 'running' RETURNING 1
"""  # noqa: S608
_CANCEL = f"UPDATE runs SET cancel_asked = true WHERE {_KEY} AND {_IS_ACTIVE} RETURNING 1"  # noqa: S608
READ = f"SELECT seq, type, data FROM run_events WHERE {_KEY} AND seq > ? ORDER BY seq LIMIT ?"  # noqa: S608
"""Events of a run after a number."""


def columns(key: RunKey) -> tuple[str, str, str]:
    """Return the columns that a run is found by."""
    return key.owner, key.thread, key.run


def _run(row: Sequence[Any]) -> RunRecord:
    owner, thread, run, status, request, created, started, ended, error, *rest = row
    attempt, handed, last_seq, cancel_asked, worker = rest
    return RunRecord(
        key=RunKey(owner, thread, run),
        status=status,
        request=request,
        created=_time(created),
        started=None if started is None else _time(started),
        ended=None if ended is None else _time(ended),
        error=error,
        attempt=attempt,
        handed=handed,
        last_seq=last_seq,
        cancel_asked=bool(cancel_asked),
        worker=worker,
    )


def _time(value: datetime | str) -> datetime:
    found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return found.astimezone(UTC)
