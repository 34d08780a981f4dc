"""Summaries that a process writes in the background of its runs, each in a thread of its own.

A job lasts as long as the process, not as the event loop of the run that started it: it calls the
sync methods of models, and stores their summaries in the archive. Only unfinished jobs are lost
with the process: see `thalweg.archive.threads.summaries`.
"""

import logging
import time
from contextvars import copy_context
from dataclasses import dataclass
from threading import BoundedSemaphore, Lock, Thread
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse

from thalweg.archive import Archive, ThreadKey
from thalweg.archive.threads.summaries import StoredSummary, keep_summary, source_digest
from thalweg.context.turn.effects import run
from thalweg.context.turn.summaries import Summarizer, SummaryTask
from thalweg.engine.summaries.summary import SummaryDefect

MOST_JOBS = 8
"""Summaries that one process writes at once; others wait for them."""
_log = logging.getLogger("thalweg.context")
_FAILED = "thread %s: no usable summary of messages %d-%d: %s"
_LOST = "thread %s: the summary of messages %d-%d could not be stored: %s"


@dataclass(frozen=True, slots=True)
class SummaryJob:
    """A summary to be written, and its place in the archive."""

    archive: Archive
    key: ThreadKey
    task: SummaryTask
    summarizer: Summarizer
    """Used by this job alone."""

    def write(self) -> StoredSummary:
        """Have the summary written; blocks as long as the models take."""
        summarizer = self.summarizer
        try:
            summary = run(summarizer.write(self.task), send_directly)
        except Exception as error:  # noqa: BLE001 (nobody waits for it: the journal has it)
            summary = None
            summarizer.faults.append(
                SummaryDefect(f"failed ({type(error).__name__})", str(error)[:200])
            )
        if summary is None:
            first, last, faults = self.task.first, self.task.last, summarizer.faults
            kinds = "; ".join(dict.fromkeys(fault.kind for fault in faults))
            _log.warning(_FAILED, self.key.thread, first, last, kinds)
        return StoredSummary(summary, summarizer.spent, tuple(summarizer.faults))

    def keep(self, stored: StoredSummary) -> None:
        """Store the written summary, unless the thread was deleted or restarted meanwhile."""
        task = self.task
        messages = self.archive.messages(self.key, task.first, task.last)
        positions = {position for position, _ in task.covered}
        covered = [(p, m) for p, m in enumerate(messages, task.first) if p in positions]
        if source_digest(covered) == task.digest:
            keep_summary(self.archive, self.key, task.digest, stored)


class SummaryJobs:
    """The summaries that are being written; safe to share between threads."""

    def __init__(self) -> None:
        self._running: dict[tuple[ThreadKey, str], Thread] = {}
        self._lock = Lock()
        self._slots = BoundedSemaphore(MOST_JOBS)
        self._is_closed = False

    def start(self, job: SummaryJob) -> None:
        """Begin to write a summary, unless it is being written; callbacks are the caller's."""
        job_key = job.key, job.task.digest
        worker = Thread(
            target=copy_context().run, args=(self._work, job), name="thalweg-summary", daemon=True
        )
        with self._lock:
            if self._is_closed or job_key in self._running:
                return
            self._running[job_key] = worker
            worker.start()

    def is_running(self, key: ThreadKey, source: str) -> bool:
        """Return whether the summary of some messages is being written here."""
        with self._lock:
            return (key, source) in self._running

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for all that are being written; return whether all of them are done."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        with self._lock:
            workers = [*self._running.values()]
        for worker in workers:
            worker.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        return not any(worker.is_alive() for worker in workers)

    def close(self) -> None:
        """Keep nothing from now on: the archive is about to be closed."""
        with self._lock:
            self._is_closed = True

    def _work(self, job: SummaryJob) -> None:
        try:
            with self._slots:
                stored = None if self._is_closed else job.write()
            with self._lock:
                if stored is not None and not self._is_closed:
                    job.keep(stored)
        except Exception as error:  # noqa: BLE001 (nobody waits for it)
            _log.warning(_LOST, job.key.thread, job.task.first, job.task.last, error)
        finally:
            with self._lock:
                self._running.pop((job.key, job.task.digest), None)


def send_directly(request: ModelRequest[Any]) -> ModelResponse[Any]:
    """Send a request to its model, past the agent's middleware: its run may be over."""
    model, settings = request.model, request.model_settings
    bound = (
        model.bind_tools(request.tools, tool_choice=request.tool_choice, **settings)
        if request.tools
        else model.bind(**settings)
    )
    system = [] if request.system_message is None else [request.system_message]
    return ModelResponse(result=[bound.invoke([*system, *request.messages])])
