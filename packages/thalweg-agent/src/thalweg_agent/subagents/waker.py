"""Wake a parent's thread when its background tasks end, from any running process.

Each task that a thread waits for is a job of `thalweg.database.jobs`, whose lock is the thread. It
is due at each poll, and never while a run of the thread is under way, or waits for a person: that
run reports it.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Final

from thalweg.database.jobs import BETWEEN, NEVER_MS, Job, JobQueue, JobWorker
from thalweg.database.sqlite import SqliteDatabase, SqliteRows
from thalweg.database.sqlite_files import MEMORY
from thalweg.errors import StorageError
from thalweg_agent.subagents.background import ACTIVE, AsyncTask

_log = logging.getLogger("thalweg.subagents")
_JOBS = JobQueue("wake", "sqlite")
THREADS: Final = 8
"""Wakes of one process at a time."""
CLOSE_S: Final = 5.0
"""Seconds that `Waker.close` waits for wakes under way, which may last as long as their runs."""
MOST_PAUSE_S: Final = 300.0
"""Longest pause between two attempts to wake a thread; it begins at two polls and doubles."""
Wake = Callable[[str, str], object]
"""Starts a run of a thread with a message; its arguments are the thread's id and the message."""


class Waker:
    """Polls the tasks of idle threads, and wakes a thread when one of its tasks has ended.

    A job ends after its wake has returned, or after the thread's own run has reported the task: if
    the process is killed in between, the next one performs it.

    Args:
        store: The SQLite file of the jobs, which is created if missing; `None` for memory.
        wake: Starts a run of a thread. It is called again, later, if it raises.
        refresh: Returns a task with its present status.
        write: Returns the message that reports ended tasks.
        poll_s: Seconds between two polls.

    Raises:
        ConfigError: The file cannot be used.
    """

    def __init__(
        self,
        store: str | PathLike[str] | None,
        wake: Wake,
        refresh: Callable[[AsyncTask], AsyncTask],
        write: Callable[[Sequence[AsyncTask]], str],
        poll_s: float,
    ) -> None:
        self._database = SqliteDatabase(store or MEMORY, "jobs", SqliteRows, _closed)
        self._database.close_with(self)  # a middleware need not be closed
        self._wake, self._refresh, self._write = wake, refresh, write
        self._poll_s = poll_s
        self._waking: set[str] = set()
        self._failed: dict[str, tuple[int, float]] = {}
        """Attempts to wake a thread that failed, and when the next one may begin."""
        self._is_closed = False
        self._worker = JobWorker(self, "tasks", threads=THREADS, poll_s=poll_s, rests=True)

    def start(self) -> None:
        """Start polling if there is a thread to wake; it stops when there is none."""
        if not self._is_closed and self.wait_s() is not None:
            self._worker.wake()

    @property
    def is_at_work(self) -> bool:
        """Whether it has threads."""
        return self._worker.is_at_work

    def close(self) -> None:
        """Stop polling, and wait `CLOSE_S` for active wakes; jobs remain for the next process."""
        self._is_closed = True
        self._worker.stop(CLOSE_S)
        self._database.close()

    def expect(self, thread: str, tasks: Mapping[str, AsyncTask]) -> None:
        """Wait for tasks that a run of a thread has just started."""
        with _logged(thread), self._database.writing(None) as rows:
            for task in tasks.values():
                if task["status"] in ACTIVE:
                    earlier_runs = _key(thread, task["task_id"], "")
                    rows.run(*_JOBS.discard(earlier_runs, held=False))
                    key = _key(thread, task["task_id"], task["agent_name"], task["run_id"])
                    rows.run(*_JOBS.submit(key, thread, due_ms=NEVER_MS))

    def run_started(self, thread: str) -> None:
        """Suspend the wakes of a thread during its own run, which reports its tasks."""
        if thread not in self._waking:
            with _logged(thread), self._database.writing(None) as rows:
                rows.run(*_JOBS.postpone(thread, NEVER_MS))

    def run_ended(self, thread: str, tasks: Mapping[str, AsyncTask]) -> None:
        """Take over the tasks that outlive a thread's run; the run has reported the others."""
        ended = [
            _key(thread, task["task_id"], task["agent_name"], task["run_id"])
            for task in tasks.values()
            if task["status"] not in ACTIVE
        ]
        with _logged(thread):
            with self._database.writing(None) as rows:
                rows.run(*_JOBS.postpone(thread, self._due_ms(self._poll_s)))
                for key in ended:
                    rows.run(*_JOBS.cancel(key))
            self.start()

    # -- the queue of its worker -------------------------------------------------------------

    def claim(self, worker: str) -> Job | None:
        """See `WorkerQueue.claim`."""
        with self._database.reading(None) as rows:
            if rows.row(*_JOBS.pending()) is None:
                return None
        with self._database.writing(None) as rows:
            rows.run(*_JOBS.promote())
            row = rows.row(*_JOBS.claim(worker))
        return None if row is None else Job(*row)

    def renew(self, worker: str, job: Job) -> None:
        """See `WorkerQueue.renew`."""
        with self._database.writing(None) as rows:
            rows.run(*_JOBS.renew(worker, [job.id]))

    def fail(self, job: Job) -> None:
        """See `WorkerQueue.fail`."""
        self._release(job, self._poll_s)

    def give_up(self, job: Job) -> None:
        """Remove a job: the next run of its thread reports the task."""
        with self._database.writing(None) as rows:
            rows.run(*_JOBS.finish(job))

    def wait_s(self) -> float | None:
        """See `WorkerQueue.wait_s`."""
        with self._database.reading(None) as rows:
            (wait_ms,) = rows.row(*_JOBS.wait())
        return None if wait_ms is None else max(0.0, wait_ms / 1_000)

    def perform(self, job: Job) -> None:
        """Look at the job's task; if it has ended, wake its thread for all of its ended tasks."""
        thread = job.key.split(BETWEEN)[0]
        _, retry_at = self._failed.get(thread, (0, 0.0))
        pause_s = max(self._poll_s, retry_at - time.monotonic())
        if thread in self._waking or pause_s > self._poll_s:
            self._release(job, pause_s)
            return
        task = self._refresh(_task(job.key))
        with self._database.reading(None) as rows:
            keys = [key for (key,) in rows.rows(*_JOBS.scheduled(thread))]
        if task["status"] in ACTIVE or job.key not in keys:  # or a run of the thread has begun
            self._release(job, pause_s)
            return
        tasks = {key: task if key == job.key else self._refresh(_task(key)) for key in keys}
        ended = {key: one for key, one in tasks.items() if one["status"] not in ACTIVE}
        if self._is_woken(thread, [*ended.values()]):
            with self._database.writing(None) as rows:
                rows.run(*_JOBS.finish(job))
                for key in ended:
                    rows.run(*_JOBS.cancel(key))
        else:
            self._release(job, self._failed[thread][1] - time.monotonic())

    def _is_woken(self, thread: str, ended: Sequence[AsyncTask]) -> bool:
        """Wake a thread; after an error, set when to try again."""
        self._waking.add(thread)
        try:
            self._wake(thread, self._write(ended))
        except Exception as error:  # noqa: BLE001  # any error of the wake
            times = self._failed.get(thread, (0, 0.0))[0] + 1
            pause_s = min(MOST_PAUSE_S, self._poll_s * 2**times)
            self._failed[thread] = times, time.monotonic() + pause_s
            problem = "thread %s was not resumed; retry in %.0f s: %s"
            _log.warning(problem, thread, pause_s, error)
            return False
        else:
            self._failed.pop(thread, None)
            return True
        finally:
            self._waking.discard(thread)

    def _release(self, job: Job, pause_s: float) -> None:
        with self._database.writing(None) as rows:
            rows.run(*_JOBS.release(job, due_ms=self._due_ms(pause_s)))

    def _due_ms(self, pause_s: float) -> int:
        return round(1_000 * (time.time() + pause_s))


def _key(*ids: str) -> str:
    return BETWEEN.join(ids)


def _task(key: str) -> AsyncTask:
    _, name, agent, run = key.split(BETWEEN)
    return AsyncTask(
        task_id=name, agent_name=agent, thread_id=name, run_id=run, status="running", created_at=""
    )


@contextmanager
def _logged(thread: str) -> Iterator[None]:
    """Log an error of the store: no run fails for it, and the next run reports the tasks."""
    try:
        yield
    except StorageError as error:
        _log.warning("thread %s cannot be resumed for its tasks: %s", thread, error)


def _closed(place: str) -> StorageError:
    return StorageError(place, "it is closed", "create the middleware again")
