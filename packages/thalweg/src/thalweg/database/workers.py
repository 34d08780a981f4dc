"""Workers: they perform the jobs of a queue on threads of a process.

Jobs are in the database alone, so that any number of processes may share them, and another worker
performs a crashed one's job when its lease has expired.
"""

import logging
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Generic, Protocol, TypeVar

from thalweg.database.jobs import LEASE_S, MOST_CRASHES
from thalweg.errors import ThalwegError


class CountedJob(Protocol):
    """A job of a worker."""

    @property
    def crashes(self) -> int:
        """See `thalweg.database.jobs.Job.crashes`."""


J = TypeVar("J", bound=CountedJob)
POLL_S: Final = 5.0
"""Seconds between two polls for jobs that other processes submitted."""
MOST_FAILURES: Final = 3
"""Polls in a row that failed after which a worker that rests waits to be woken."""
_LEAST_POLL_S: Final = 0.05


class WorkerQueue(Protocol[J]):
    """The queue of a worker."""

    def claim(self, worker: str) -> J | None:
        """Claim the next job; `None` if none may start."""

    def renew(self, worker: str, job: J) -> None:
        """Renew the lease of a job."""

    def perform(self, job: J) -> None:
        """Perform a job and finish it, or return it to the queue."""

    def fail(self, job: J) -> None:
        """Return a job whose performance raised an error to the queue, due after a pause."""

    def give_up(self, job: J) -> None:
        """Remove or postpone a job that ended each process that performed it."""

    def wait_s(self) -> float | None:
        """Return the seconds until the next job may start; `None` if there is no job."""


class JobWorker(Generic[J]):
    """Performs the due jobs of a queue, on threads of this process.

    A job that is not yet due is kept in the queue when the process ends.

    Args:
        queue: The jobs.
        name: Names its threads, its log lines and, with this process, its leases.
        threads: Number of concurrent jobs.
        wait: Waits some seconds or until an event is set, like `threading.Event.wait`.
        lease_s: Seconds until a job has to be renewed; it is renewed after a quarter of them.
        poll_s: See `POLL_S`.
        rests: Its threads end when no job remains, due or not, and start again at `wake`: an idle
            process has no thread.
    """

    def __init__(
        self,
        queue: WorkerQueue[J],
        name: str,
        *,
        threads: int = 2,
        wait: Callable[[threading.Event, float], object] = threading.Event.wait,
        lease_s: float = LEASE_S,
        poll_s: float = POLL_S,
        rests: bool = False,
    ) -> None:
        self._queue = queue
        self._count = threads
        self._wait = wait
        self._renew_s = lease_s / 4
        self._poll_s = poll_s
        self._rests = rests
        self._kind = name
        self._name = f"{socket.gethostname()}:{os.getpid()}:{name}:{secrets.token_hex(4)}"
        self._log = logging.getLogger(f"thalweg.{name}")
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._drains = threading.Event()
        self._woken = threading.Event()

    def start(self) -> None:
        """Begin to work in the background. Starting twice is fine."""
        with self._lock:
            self._stopped.clear()
            self._drains.clear()
            for number in range(len(self._threads), self._count):
                name = f"thalweg-{self._kind}-{number}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def wake(self) -> None:
        """Signal that there may be a job, without a wait for the next poll."""
        self._woken.set()
        if self._rests:
            self.start()

    @property
    def is_at_work(self) -> bool:
        """Whether it has threads."""
        with self._lock:
            return bool(self._threads)

    def stop(self, timeout_s: float | None = None) -> bool:
        """Stop after the active jobs; the others are kept in the queue.

        Returns:
            Whether all ended within the time.
        """
        self._stopped.set()
        return self._end(timeout_s)

    def drain(self, timeout_s: float | None = None) -> bool:
        """End after all jobs that are due. See `stop`."""
        self._drains.set()
        return self._end(timeout_s)

    def _end(self, timeout_s: float | None) -> bool:
        self._woken.set()
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(timeout_s)
        return not self.is_at_work

    def step(self) -> bool:
        """Perform one job that is due.

        Returns:
            Whether there was one.
        """
        job = self._queue.claim(self._name)
        if job is None:
            return False
        if job.crashes >= MOST_CRASHES:
            problem = "a job of %s is given up: %d processes in a row ended while they performed it"
            self._log.error(problem, self._kind, job.crashes)
            self._queue.give_up(job)
            return True
        with self._renewed(job):
            try:
                self._queue.perform(job)
            except Exception:
                self._queue.fail(job)
                raise
        return True

    def run_due(self) -> int:
        """Perform the jobs that are due, in this thread, and count them."""
        done = 0
        while self.step():
            done += 1
        return done

    @contextmanager
    def _renewed(self, job: J) -> Iterator[None]:
        """Renew the lease of a job in the background."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(self._renew_s):
                try:
                    self._queue.renew(self._name, job)
                except Exception as error:  # noqa: BLE001 (it is retried until the lease expires)
                    self._log.debug("a job cannot be renewed: %s", error_text(error))

        renewing = threading.Thread(target=renew, name=f"thalweg-{self._kind}-lease", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            done.set()
            renewing.join()

    def _run(self) -> None:
        failures = 0
        while True:
            self._woken.clear()
            if self._stopped.is_set():
                break
            is_performed = self._attempt(failures)
            if is_performed:
                failures = 0
                continue
            failures = failures + 1 if is_performed is None else 0
            if self._drains.is_set():
                break
            rest_s = self._poll_s if failures else self._wait_s()
            if self._rests and (rest_s is None or failures >= MOST_FAILURES):
                with self._lock:
                    # A later `wake` starts another thread.
                    if not self._woken.is_set():
                        self._threads.remove(threading.current_thread())
                        return
            most_s = self._poll_s if rest_s is None else min(self._poll_s, rest_s)
            self._wait(self._woken, max(_LEAST_POLL_S, most_s))
        self._woken.set()  # This thread may have cleared it before another one waits for it.
        with self._lock:
            self._threads.remove(threading.current_thread())

    def _attempt(self, failures: int) -> bool | None:
        """Perform one job; an error outside of it (a full disk) is retried later.

        Returns:
            Whether there was one; `None` if unknown.
        """
        try:
            return self.step()
        except Exception as error:  # noqa: BLE001 (a thread that ended would be missed by nobody)
            level = logging.DEBUG if failures else logging.WARNING  # once for all in a row
            self._log.log(level, "a job of %s failed: %s", self._kind, error_text(error))
            return None

    def _wait_s(self) -> float | None:
        """Return when the next job is due; an error is reported by the next poll."""
        try:
            return self._queue.wait_s()
        except Exception as error:  # noqa: BLE001 (as above)
            self._log.debug("no job of %s could be found: %s", self._kind, error_text(error))
            return 0.0


def error_text(error: Exception) -> str:
    """Return an error for the log; only our own ones are certain to contain no text of a thread."""
    return str(error) if isinstance(error, ThalwegError) else type(error).__name__
