"""The definition of a run and of its events.

A run is one answer of an agent to its input. Its journal is append-only: events have numbers 1, 2,
3… without a gap, over all processes that write them. Only durable events are visible, so a reader
that was disconnected continues exactly after the last event that it received.
"""

import time
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from typing import Any, Literal, NamedTuple
from weakref import WeakSet

from thalweg.database.jobs import BETWEEN

Status = Literal["queued", "running", "interrupted", "completed", "failed", "cancelled"]
ENDED: frozenset[Status] = frozenset({"interrupted", "completed", "failed", "cancelled"})
"""`interrupted`: the run waits for a person's word, which comes as a run of its own."""

JOB = "*"
"""A notification in the place of a run's mark: a job may be claimed."""
CHORE = "*"
"""Begins the third part of the key of a job that is no run, but work on a thread between runs."""
AGE = f"{CHORE}age"
"""The chore of a thread that deletes what is older than the settings' ages."""
CRON = f"{CHORE}cron"
"""The job of a cron at a due time: `*cron MILLISECONDS`; the cron's id is in place of the
thread's."""

POOLS: WeakSet[Any] = WeakSet()
"""The pools of connections to PostgreSQL for runs and checkpoints, which metrics show."""


def now_ms() -> int:
    """Return the current time in milliseconds."""
    return time.time_ns() // 1_000_000


class RunKey(NamedTuple):
    """One run of one thread of one owner, by the columns that it is found by."""

    owner: str
    thread: str
    run: str

    @property
    def job(self) -> str:
        """The key of its job."""
        return BETWEEN.join(self)

    @property
    def lock(self) -> str:
        """The lock of its job, which is that of its thread."""
        return BETWEEN.join(self[:2])

    @classmethod
    def of_job(cls, key: str) -> "RunKey":
        r"""Return the run of a job.

        Example:
            >>> RunKey.of_job(RunKey("ann", "a\x1fthread", "run").job).thread
            'a\x1fthread'
        """
        owner, _, rest = key.partition(BETWEEN)
        return cls(owner, *rest.rsplit(BETWEEN, 1))

    @property
    def mark(self) -> str:
        """Its short name in notifications between processes; two runs may share one.

        Example:
            >>> len(RunKey("ann", "thread", "run").mark)
            12
        """
        name = f"{self.owner}\0{self.run}".encode(errors="replace")
        return blake2b(name, digest_size=6).hexdigest()


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a journal."""

    seq: int
    """1 for the first of a run."""
    type: str
    """As `thalweg_server.api.events` names it: `message.delta`, `run.completed`."""
    data: str
    """A JSON object."""

    @property
    def is_end(self) -> bool:
        """Whether it is the last one of its run."""
        return self.type.removeprefix("run.") in ENDED


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
    """The request, a JSON object; the journal does not parse it."""
    created: datetime
    started: datetime | None = None
    ended: datetime | None = None
    error: str | None = None
    """A JSON object (a problem), if it failed."""
    attempt: int = 0
    """How often it was claimed."""
    releases: int = 0
    """Number of its claims that were released by a process that stopped in order."""
    last_seq: int = 0
    cancel_requested: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to perform a run. A later claim ends it."""

    key: RunKey
    attempt: int
    run: RunRecord = field(compare=False, repr=False)
    """The run as it was claimed."""
