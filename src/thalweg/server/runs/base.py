"""The definition of a run, and the protocol of every journal of events.

A run is one answer of an agent to its input. Its journal is append-only: events have numbers 1, 2,
3… without a gap, over all processes that write them. Only durable events are visible, so a reader
that was disconnected continues exactly where it was.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

Status = Literal["queued", "running", "interrupted", "completed", "failed", "cancelled"]
ENDED: frozenset[Status] = frozenset({"interrupted", "completed", "failed", "cancelled"})
"""`interrupted`: the run waits for a person's word, which comes as a run of its own."""


@dataclass(frozen=True, slots=True)
class RunKey:
    """One run of one thread of one owner."""

    owner: str
    thread: str
    run: str


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a journal."""

    seq: int
    """1 for the first of a run."""
    type: str
    """As `thalweg.server.api.events` names it: `message.delta`, `run.completed`."""
    data: str
    """A JSON object."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that has no number yet.

    Attributes:
        joins: Deltas with one `joins` that wait together become one event: the `text` of their
            `data`, concatenated. Empty: never joined.
    """

    type: str
    data: str
    joins: str = ""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The metadata of a run."""

    key: RunKey
    status: Status
    request: str
    """What was asked, a JSON object; the journal does not look into it."""
    created: datetime
    started: datetime | None = None
    ended: datetime | None = None
    error: str | None = None
    """A JSON object (a problem), where it failed."""
    attempt: int = 0
    """How often it was claimed."""
    handed: int = 0
    """Number of its claims that were released by a process that stopped in order."""
    last_seq: int = 0
    cancel_asked: bool = False
    worker: str = ""
    """The process that performs it, by the name that its `Liveness` has."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to perform a run. A later claim ends it."""

    key: RunKey
    attempt: int
    run: RunRecord | None = field(default=None, compare=False, repr=False)
    """The run as it was claimed; `None` where a claim was made up from its key."""


class Journal(Protocol):
    """Keeps runs and their events; every implementation passes `thalweg.testing.runs`.

    Raises (all methods):
        StorageError: The medium failed.
    """

    async def create(self, key: RunKey, request: str, *, worker: str = "") -> RunRecord:
        """Store a new run.

        Args:
            key: Its id is the caller's to choose.
            request: What was asked, a JSON object.
            worker: See `RunRecord.worker`.

        Raises:
            BusyError: Another run of the thread has not ended.
            RunExistsError: The owner has a run with that id.
        """
        ...

    async def get(self, key: RunKey) -> RunRecord | None:
        """Return one run; `None` if the owner has no such run."""
        ...

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
        ...

    async def count_active(self, owner: str) -> int:
        """Return how many runs of an owner have not ended."""
        ...

    async def claim(self, key: RunKey) -> Claim | None:
        """Claim a run to perform it; `None` if it has ended. Earlier claims become void."""
        ...

    async def workers(self) -> Collection[str]:
        """Return the processes with runs that have not ended, of all owners."""
        ...

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
        ...

    async def release(self, claim: Claim) -> bool:
        """Release a claim for another process; return False if it was void."""
        ...

    def hold(self, claim: Claim) -> AbstractAsyncContextManager[None]:
        """Lock a claim inside the context: another process that claims the run waits.

        Use it for short operations outside of this journal that need the claim.

        Raises (when entered):
            ClaimLostError: Another process has claimed the run, or it has ended.
        """
        ...

    async def called_off(self, claim: Claim) -> bool:
        """Wait until the process that performs a run has to stop.

        Returns:
            True if cancellation was requested, False if the claim is void.
        """
        ...

    async def append(self, claim: Claim, drafts: Sequence[Draft]) -> int:
        """Write events durably, in order.

        Returns:
            The number of the last one.

        Raises:
            ClaimLostError: Another process has claimed the run, or it has ended.
        """
        ...

    async def finish(
        self, claim: Claim, status: Status, drafts: Sequence[Draft], *, error: str | None = None
    ) -> None:
        """Write the last events and the end of a run, both or neither.

        Raises:
            ClaimLostError: Another process has claimed the run, or it has ended.
        """
        ...

    async def read(self, key: RunKey, after: int = 0, limit: int = 1000) -> Sequence[Event]:
        """Return events after a number, oldest first."""
        ...

    def follow(self, key: RunKey, after: int = 0) -> AsyncIterator[Event]:
        """Yield events after a number as they are written, up to the end of the run.

        Any process may perform the run.

        Raises:
            NoSuchRunError: There is none, or it was deleted meanwhile.
        """
        ...

    async def ask_cancel(self, key: RunKey) -> bool:
        """Request cancellation of a run; return False if it has ended."""
        ...

    async def delete(self, owner: str, thread: str) -> int:
        """Delete the runs of a thread, events and all.

        Raises:
            BusyError: One of them has not ended.
        """
        ...

    async def close(self) -> None:
        """Release all connections."""
        ...
