"""How long threads of subagents are kept, and which of them have expired."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from thalweg_agent.subagents.ledger import Task
from thalweg_agent.subagents.limits import Bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention(Bounds):
    """How long the threads of a thread's subagents are kept; `None` is unlimited.

    A thread that exceeds either limit is deleted. The subagent's report is in its parent's thread
    and is kept.

    Example:
        >>> Retention.of({"days": 30}).days
        30
    """

    ARGUMENT: ClassVar = "subagent_retention"
    UNBOUNDED: ClassVar = "to keep all"
    FLOATS: ClassVar = frozenset({"days"})

    days: float | None = None
    """Days since the subagent ended."""
    threads: int | None = None
    """How many threads of ended subagents a thread keeps, the newest."""

    @property
    def is_endless(self) -> bool:
        """Whether all threads are kept."""
        return self.days is None and self.threads is None


def plan_pruning(tasks: Mapping[str, Task], retention: Retention, now: datetime) -> dict[str, Task]:
    """Return the tasks of a ledger whose threads have expired, oldest first.

    A task that runs, or waits for a person, is never among them, nor is one whose report is in no
    message.

    Args:
        tasks: The ledger, by the id of the call.
        retention: How long they are kept.
        now: Aware.
    """
    ended = [
        (datetime.fromisoformat(task["ended_at"]), name, task)
        for name, task in tasks.items()
        if task["status"] != "running"
        and "ended_at" in task
        and "thread" in task
        and "report_id" in task
    ]
    ended.sort(key=lambda one: one[:2])
    most = retention.threads
    over = max(0, len(ended) - most) if most is not None else 0
    oldest = now - timedelta(days=retention.days) if retention.days is not None else None
    return {
        name: task
        for k, (at, name, task) in enumerate(ended)
        if k < over or (oldest is not None and at < oldest)
    }
