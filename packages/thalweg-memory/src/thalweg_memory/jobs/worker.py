"""Workers: they run the jobs of a store, one after the other or on several threads.

Jobs are in the store alone, so that any number of processes may share them, and another worker
resumes a crashed one's job when its lease has expired.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol
from weakref import ReferenceType, WeakValueDictionary, ref

from langchain_core.language_models import BaseChatModel

from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.tokens import exact_counter
from thalweg.errors import ThalwegError
from thalweg_memory.base import Job, utc_now
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.jobs.events import ReportHandler, emit
from thalweg_memory.jobs.learner import Learner
from thalweg_memory.jobs.structured import Respondent
from thalweg_memory.store.tables import MemoryStore

_log = logging.getLogger("thalweg.memory")
LEASE_S = 900.0
"""Seconds until a job that was leased and not returned may be leased again."""
POLL_S = 5.0
"""How often a worker looks for jobs that other processes noted."""

MOST_FAILURES = 3
"""Looks in a row that failed after which a worker that rests waits to be woken."""


class Learns(Protocol):
    """Who does the jobs; see `Learner.learn`."""

    def __call__(self, job: Job, until: str = "") -> object:
        """Run a job and return it to the store."""


class Worker:
    """Runs the due jobs of a store, on threads of this process.

    Jobs of different threads run concurrently, those of one thread never. A job that is not yet due
    is kept in the store when the process ends.

    Args:
        store: The store of the jobs.
        learn: Runs one.
        threads: Number of concurrent jobs.
        clock: Returns the time.
        wait: Waits some seconds or until an event is set, like `threading.Event.wait`.
        lease_s: See `LEASE_S`; longer than a model takes for one answer.
        poll_s: See `POLL_S`.
        rests: Its threads end when no job remains, due or not, and start again at `wake`: an idle
            agent has no thread.
        name: The owner of leases; by default derived from the machine and the process.
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
        """Stop after the active jobs; the others are kept in the store.

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
                    # A later `wake` starts another thread.
                    if not self._woken.is_set():
                        self._threads.remove(threading.current_thread())
                        return
            self._wait(self._woken, self._rest_s() if not failures else self._poll_s)
        with self._lock:
            self._threads.remove(threading.current_thread())

    def _is_idle(self, failures: int) -> bool:
        """Return whether a thread of a resting worker has nothing to wait for."""
        if not self._rests:
            return False
        return failures >= MOST_FAILURES or (not failures and self._due() is None)

    def _tries(self, failures: int) -> bool | None:
        """Run one job; an error outside of it (a full disk) is retried later.

        Returns:
            Whether there was one; `None` if unknown.
        """
        try:
            return self.step()
        except Exception as error:  # noqa: BLE001 (a thread that ended would be missed by nobody)
            level = logging.DEBUG if failures else logging.WARNING  # once for all in a row
            _log.log(level, "a job of memory failed: %s", _error_text(error))
            return None

    def _due(self) -> str | None:
        """Return when the next job is due; an error is reported by the next poll."""
        try:
            return self._store.next_due()
        except Exception as error:  # noqa: BLE001 (as above)
            _log.debug("no job of memory could be found: %s", _error_text(error))
            return self._clock()

    def _rest_s(self) -> float:
        """Return the seconds without work, as far as this process can determine."""
        due = self._due()
        if due is None:
            return self._poll_s
        left = datetime.fromisoformat(due) - datetime.fromisoformat(self._clock())
        return max(0.01, min(self._poll_s, left.total_seconds()))


def _error_text(error: Exception) -> str:
    """Return an error for the log; only our own ones are certain to contain no text of a thread."""
    return str(error) if isinstance(error, ThalwegError) else type(error).__name__


def later(moment: str, seconds: float) -> str:
    """Return the time some seconds after another.

    Example:
        >>> later("2026-03-01T10:00:00Z", 90)
        '2026-03-01T10:01:30Z'
    """
    moved = datetime.fromisoformat(moment) + timedelta(seconds=seconds)
    return moved.isoformat(timespec="seconds").replace("+00:00", "Z")


_LOCK = threading.Lock()
_WORKERS: WeakValueDictionary[int, Worker] = WeakValueDictionary()
"""By the identity of their stores, which they hold."""


def background(
    store: MemoryStore,
    model: BaseChatModel,
    settings: MemorySettings | None = None,
    *,
    tariff: Tariff | None = None,
    emit: ReportHandler = emit,
) -> Worker:
    """Return this process's worker for a store; call its `wake` when a turn was recorded.

    It has threads only while there are jobs, and another process resumes unfinished ones. A store
    of `open_memory` ends it when it is closed; stop it before any other store is closed.

    Args:
        store: The store of the jobs.
        model: The model to call. The first one passed for a store serves all callers.
        settings: Likewise.
        tariff: The model's prices, if available.
        emit: Called with the report of every job.
    """
    with _LOCK:
        worker = _WORKERS.get(id(store))
        if worker is None:
            count = exact_counter()
            learner = Learner(
                store,
                Respondent(model, count),
                settings or MemorySettings(),
                count=count,
                emit=emit,
                tariff=tariff,
            )
            worker = Worker(store, learner.learn, rests=True)
            _WORKERS[id(store)] = worker
            store.before_close(partial(_end, ref(worker)))
        return worker


def _end(reference: ReferenceType[Worker]) -> None:
    worker = reference()  # the worker refers to its store
    if worker is not None:
        worker.stop()
