"""The worker that learns from the threads of a store."""

import logging
import threading
from collections.abc import Callable
from functools import partial
from weakref import ReferenceType, WeakValueDictionary, ref

from langchain_core.language_models import BaseChatModel

from thalweg.database.jobs import LEASE_S
from thalweg.database.workers import POLL_S, JobWorker
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.tokens import exact_counter
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.jobs.learner import Learner, ReportHandler, Respondent, backoff_s, emit
from thalweg_memory.store.records import Clock, Job, utc_now
from thalweg_memory.store.tables import MemoryStore

_log = logging.getLogger("thalweg.memory")
_GIVEN_UP_S = 3_600.0


class Worker(JobWorker[Job]):
    """Learns from the due threads of a store; see `thalweg.database.workers.JobWorker`.

    Jobs of different threads run concurrently, those of one thread never.

    Args:
        store: The store of the jobs.
        learn: Performs one; see `Learner.learn`.
        threads: Number of concurrent jobs.
        clock: Returns the time in place of the database.
        wait: See the base class.
        lease_s: See the base class.
        poll_s: See the base class.
        rests: See the base class.
    """

    def __init__(
        self,
        store: MemoryStore,
        learn: Callable[[Job], object],
        *,
        threads: int = 2,
        clock: Clock | None = None,
        wait: Callable[[threading.Event, float], object] = threading.Event.wait,
        lease_s: float = LEASE_S,
        poll_s: float = POLL_S,
        rests: bool = False,
    ) -> None:
        super().__init__(
            _LearningQueue(store, learn, clock, lease_s), "memory", threads=threads, wait=wait,
            lease_s=lease_s, poll_s=poll_s, rests=rests,
        )  # fmt: skip


class _LearningQueue:
    """The queue of the threads to learn from."""

    def __init__(
        self,
        store: MemoryStore,
        learn: Callable[[Job], object],
        clock: Clock | None,
        lease_s: float,
    ) -> None:
        self._store, self._learn, self._clock, self._lease_s = store, learn, clock, lease_s

    def claim(self, worker: str) -> Job | None:
        now = None if self._clock is None else self._clock()
        return self._store.lease(worker=worker, now=now, lease_s=self._lease_s)

    def renew(self, worker: str, job: Job) -> None:
        self._store.renew(job, worker=worker, lease_s=self._lease_s)

    def perform(self, job: Job) -> None:
        _log.debug("thread %s: learning from its new turns", job.thread)
        self._learn(job)

    def fail(self, job: Job) -> None:
        now = (self._clock or utc_now)()
        self._store.finish(job, now=now, retry_s=backoff_s(job.attempt))

    def give_up(self, job: Job) -> None:
        """Postpone a job: its turns are not lost, and may be learned by another version."""
        self._store.finish(job, now=(self._clock or utc_now)(), retry_s=_GIVEN_UP_S)

    def wait_s(self) -> float | None:
        return self._store.wait_s(None if self._clock is None else self._clock())


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
