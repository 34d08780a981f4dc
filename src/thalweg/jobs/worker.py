"""Workers: who takes the jobs of a store, one after the other or on some threads at once.

Work is found in the store alone, so that any number of processes may share it, and whatever one
of them leaves when it is killed another takes when the lease ran out.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from thalweg.errors import ThalwegError
from thalweg.memory.base import Job, MemoryStore
from thalweg.memory.clock import utc_now

_log = logging.getLogger("thalweg.memory")
LEASE_S = 900.0
"""A job that was taken and not given back for so long is taken by somebody else."""
POLL_S = 5.0
"""How often a worker looks for jobs that other processes noted."""

MOST_FAILURES = 3
"""Looks in a row that failed after which a worker that rests waits to be woken."""


class Learns(Protocol):
    """Who does the jobs; see `Learner.learn`."""

    def __call__(self, job: Job, until: str = "") -> object:
        """Do a job and give it back to the store."""


class Worker:
    """Does the jobs of a store that are due, on threads of this process.

    Jobs of different threads are done at once, those of one thread never. A job that is not due
    yet stays in the store when the process ends.

    Args:
        store: Where the jobs are.
        learn: Does one.
        threads: How many are done at once.
        clock: Tells the time.
        wait: Waits some seconds or until an event is set; what `threading.Event.wait` does.
        lease_s: See `LEASE_S`; longer than a model takes for one answer.
        poll_s: See `POLL_S`.
        rests: Its threads end where no job is left, due or not, and begin again when it is woken:
            an agent that is idle costs no thread.
        name: Who takes the jobs; made of the machine and the process where it is empty.
    """

    def __init__(
        self,
        store: MemoryStore,
        learn: Learns,
        *,
        threads: int = 2,
        clock: Callable[[], str] = utc_now,
        wait: Callable[[threading.Event, float], object] = threading.Event.wait,
        lease_s: float = LEASE_S,
        poll_s: float = POLL_S,
        rests: bool = False,
        name: str = "",
    ) -> None:
        self._store = store
        self._learn = learn
        self._count = threads
        self._clock = clock
        self._wait = wait
        self._lease_s = lease_s
        self._poll_s = poll_s
        self._rests = rests
        self._name = name or f"{socket.gethostname()}:{os.getpid()}"
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
                name = f"thalweg-memory-{number}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()

    def wake(self) -> None:
        """Say that there may be a job: nobody need wait for the next look."""
        self._woken.set()
        if self._rests:
            self.start()

    @property
    def is_at_work(self) -> bool:
        """Whether it has threads."""
        with self._lock:
            return bool(self._threads)

    def stop(self, timeout_s: float | None = None) -> bool:
        """End after the jobs that are under way; what is left stays in the store.

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
            thread.join(timeout_s)
        return not self.is_at_work

    def step(self) -> bool:
        """Do one job that is due.

        Returns:
            Whether there was one.
        """
        now = self._clock()
        job = self._store.lease(now=now, lease_s=self._lease_s, worker=self._name)
        if job is None:
            return False
        _log.debug("thread %s: learning from its new turns", job.thread)
        self._learn(job, until=later(now, self._lease_s / 2))
        return True

    def run_due(self) -> int:
        """Do the jobs that are due, here, and count them."""
        done = 0
        while self.step():
            done += 1
        return done

    def _run(self) -> None:
        failures = 0
        while not self._stopped.is_set():
            self._woken.clear()
            tried = self._tries(failures)
            failures = 0 if tried is not None else failures + 1
            if tried:
                continue
            if self._drains.is_set():
                break
            if self._is_idle(failures):
                with self._lock:
                    # Whoever wakes it from here on starts another thread.
                    if not self._woken.is_set():
                        self._threads.remove(threading.current_thread())
                        return
            self._wait(self._woken, self._rest_s() if not failures else self._poll_s)
        with self._lock:
            self._threads.remove(threading.current_thread())

    def _is_idle(self, failures: int) -> bool:
        """Tell whether a thread of a worker that rests has nothing to wait for."""
        if not self._rests:
            return False
        return failures >= MOST_FAILURES or (not failures and self._due() is None)

    def _tries(self, failures: int) -> bool | None:
        """Do one job; what fails outside of it (a full disk) fails again later, if at all.

        Returns:
            Whether there was one; `None` where that could not be told.
        """
        try:
            return self.step()
        except Exception as error:  # noqa: BLE001 (a thread that ended would be missed by nobody)
            level = logging.DEBUG if failures else logging.WARNING  # once for all in a row
            _log.log(level, "a job of memory was not done: %s", _told(error))
            return None

    def _due(self) -> str | None:
        """Tell when the next job is due; where that fails, the next look will tell why."""
        try:
            return self._store.next_due()
        except Exception as error:  # noqa: BLE001 (as above)
            _log.debug("no job of memory could be found: %s", _told(error))
            return self._clock()

    def _rest_s(self) -> float:
        """Tell how long there is nothing to do, as far as this process knows."""
        due = self._due()
        if due is None:
            return self._poll_s
        left = datetime.fromisoformat(due) - datetime.fromisoformat(self._clock())
        return max(0.01, min(self._poll_s, left.total_seconds()))


def _told(error: Exception) -> str:
    """Tell an error in the log; only ours are known to hold no word of a thread."""
    return str(error) if isinstance(error, ThalwegError) else type(error).__name__


def later(moment: str, seconds: float) -> str:
    """Tell the time some seconds after another.

    Example:
        >>> later("2026-03-01T10:00:00Z", 90)
        '2026-03-01T10:01:30Z'
    """
    moved = datetime.fromisoformat(moment) + timedelta(seconds=seconds)
    return moved.isoformat(timespec="seconds").replace("+00:00", "Z")
