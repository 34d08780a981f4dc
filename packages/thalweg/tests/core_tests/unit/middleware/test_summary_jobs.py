"""Summaries that are written while turns run."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from thalweg.archive import ThreadKey
from thalweg.context.turn.summaries import SummaryJob, SummaryJobs, SummaryTask

KEY = ThreadKey("ada", "t1")


@dataclass
class SlowJob:
    """A job whose summary takes long to store, as in a database that another process locks."""

    key: ThreadKey = KEY
    task: SummaryTask = field(
        default_factory=lambda: SummaryTask(first=0, last=0, older=(), newer=(), source=())
    )
    begun: threading.Event = field(default_factory=threading.Event)
    is_stored: threading.Event = field(default_factory=threading.Event)

    def write(self) -> str:
        """Return a summary."""
        return "A summary."

    def keep(self, stored: str) -> None:
        """Store it once the database is free."""
        del stored
        self.begun.set()
        assert self.is_stored.wait(30)


def in_thread(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def test_turns_do_not_wait_while_a_summary_is_stored_and_closing_does() -> None:
    jobs, job = SummaryJobs(), SlowJob()
    jobs.start(cast("SummaryJob", job))
    assert job.begun.wait(30)
    asking = in_thread(lambda: jobs.is_running(KEY, job.task.digest))
    asking.join(30)
    assert not asking.is_alive()

    closing = in_thread(jobs.close)
    closing.join(0.2)
    assert closing.is_alive()
    job.is_stored.set()
    closing.join(30)
    assert not closing.is_alive()
    assert jobs.wait(30)
