"""What a journal asks of its database."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from thalweg.runs.base import ENDED, Claim, Draft, Event, Run, RunKey, Status

Heard = Callable[[Sequence[str] | None], None]
"""Told the marks of runs that changed; `None`: any may have."""


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended."""

    status: Status
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Write:
    """What is to be written of one run, if a claim is good."""

    claim: Claim
    after: int
    """The number of the last event before it."""
    drafts: tuple[Draft, ...]
    end: End | None = None

    @property
    def last(self) -> int:
        """The number of its last event."""
        return self.after + len(self.drafts)


@dataclass(frozen=True, slots=True)
class State:
    """How a run stands."""

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


class Tables(Protocol):
    """The tables of runs and of their events.

    Raises (all methods):
        StorageError: The database failed. A `write` may have been done nevertheless.
    """

    async def open(self, heard: Heard, is_awaited: Callable[[], bool]) -> None:
        """Make the tables where they are missing, and begin to listen for changes.

        Args:
            heard: Told of changes that other processes made; called in this event loop.
            is_awaited: Whether anybody wants to know.
        """
        ...

    async def create(self, key: RunKey, request: str, worker: str) -> Run:
        """See `Journal.create`."""
        ...

    async def get(self, key: RunKey) -> Run | None:
        """See `Journal.get`."""
        ...

    async def list(
        self, owner: str, thread: str | None, limit: int, before: str | None
    ) -> Sequence[Run]:
        """See `Journal.list`."""
        ...

    async def count_active(self, owner: str) -> int:
        """See `Journal.count_active`."""
        ...

    async def claim(self, key: RunKey) -> Run | None:
        """Begin an attempt; `None` where the run has ended, or where there is none."""
        ...

    async def workers(self) -> Collection[str]:
        """See `Journal.workers`."""
        ...

    async def take_over(
        self, workers: Collection[str], worker: str, limit: int
    ) -> Sequence[RunKey]:
        """See `Journal.take_over`."""
        ...

    async def release(self, claim: Claim) -> bool:
        """See `Journal.release`."""
        ...

    def hold(self, claim: Claim) -> AbstractAsyncContextManager[None]:
        """See `Journal.hold`."""
        ...

    async def write(self, writes: Sequence[Write]) -> Sequence[bool]:
        """Write all or, where the database fails, nothing; a void claim's part is left out.

        A claim is good where its attempt runs and `after` is the last number.

        Returns:
            For each whether it was written.
        """
        ...

    async def states(self, keys: Sequence[RunKey]) -> Mapping[RunKey, State]:
        """Give how runs stand; those that are not there are left out."""
        ...

    async def read(self, key: RunKey, after: int, limit: int) -> Sequence[Event]:
        """See `Journal.read`."""
        ...

    async def read_each(
        self, after: Mapping[RunKey, int], limit: int
    ) -> Mapping[RunKey, Sequence[Event]]:
        """Give the events of many runs, behind a number each; at most `limit` of each."""
        ...

    async def ask_cancel(self, key: RunKey) -> bool:
        """See `Journal.ask_cancel`."""
        ...

    async def delete(self, owner: str, thread: str) -> int:
        """See `Journal.delete`."""
        ...

    async def close(self) -> None:
        """Stop listening and let go of connections."""
        ...
