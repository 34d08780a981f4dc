"""The interface of a store of memories, its clock and ids.

Callers use `thalweg_memory.handle.Memory` on top of it.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from thalweg.database import jobs
from thalweg_memory.facts.values import (
    Change,
    FactId,
    Scope,
)

Clock = Callable[[], str]
"""Returns the time: aware UTC in ISO 8601, to the second."""


def utc_now() -> str:
    """Return the current time in memory's format."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def new_fact_id() -> FactId:
    """Make an id for a fact."""
    return FactId(f"fact-{uuid.uuid4().hex[:12]}")


@dataclass(frozen=True, slots=True)
class Operation:
    """One commit, in the form for people."""

    id: int
    """Ascending in its scope."""
    at: str
    actor: str
    """`user`, `import`, `agent`, `learned:MODEL`, `undo`."""
    why: str
    changes: tuple[Change, ...]
    """The changes that it made. Empty if it was forgotten."""


@dataclass(frozen=True, slots=True)
class Learned:
    """How far a thread was learned from; committed with the facts learned."""

    thread: str
    expected: int
    """Turns of the thread that had been learned from before."""
    upto: int
    """Turns that have been now."""


@dataclass(frozen=True, slots=True)
class LearningSchedule:
    """When a thread with new turns is learned from."""

    now: str
    debounce_s: float
    """Seconds that it must be quiet."""
    max_wait_s: float
    """Seconds after the first new turn that it waits at most."""


@dataclass(frozen=True, slots=True)
class Job:
    """A thread with turns that were not learned from, leased to one worker."""

    scope: Scope
    thread: str
    lease: jobs.Job
    """The job of the queue, which the worker passes to commit: void once it is claimed again."""

    @property
    def attempt(self) -> int:
        """How often it was claimed, from 1."""
        return self.lease.attempt

    @property
    def crashes(self) -> int:
        """See `thalweg.database.jobs.Job.crashes`."""
        return self.lease.crashes


@dataclass(frozen=True, slots=True)
class Selection:
    """What to forget; everything that any of them names."""

    facts: tuple[FactId, ...] = ()
    threads: tuple[str, ...] = ()
    """All turns of these threads, and facts learned from nothing else."""
    uids: tuple[str, ...] = ()
    """Turns, and facts learned from nothing else."""
    words: str = ""
    """Facts of every status and turns, hidden ones included, that have each word of it."""
    everything: bool = False


@dataclass(frozen=True, slots=True)
class Receipt:
    """What `forget` did, or would do. Holds no content."""

    facts: tuple[FactId, ...]
    turns: int
    sections: int
    operations: int
    """Operations whose content was taken out."""
    reopened: tuple[FactId, ...]
    """Facts that only a forgotten one had superseded: they hold again."""
    hashes: tuple[str, ...]
    """Tombstones: keyed digests that keep the same from being learned again."""
    remaining: tuple[tuple[str, int], ...] = ()
    """Threads and positions in their logs of the same text, which memory does not delete."""
    left: tuple[str, ...] = ()
    """Places where its bytes may remain, in words for people; empty if they are in no file.

    A file that could not be erased yet is erased with a later write or when it is opened.
    """
    alike: tuple[str, ...] = ()
    """Ids of facts and names of profile sections that stay and hold half of a forgotten fact's
    words or more: they may tell the same."""
    dry_run: bool = False
