"""Learning in the background of a process that talks: one worker for each store."""

import threading
from functools import partial
from weakref import ReferenceType, WeakValueDictionary, ref

from langchain_core.language_models import BaseChatModel

from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.tokens import exact_counter
from thalweg_memory.base import MemoryStore
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.jobs.events import ReportHandler, emit
from thalweg_memory.jobs.learner import Learner
from thalweg_memory.jobs.structured import Respondent
from thalweg_memory.jobs.worker import Worker
from thalweg_memory.store.tables import TableMemory

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
            if isinstance(store, TableMemory):
                store.before_close(partial(_end, ref(worker)))
        return worker


def _end(reference: ReferenceType[Worker]) -> None:
    worker = reference()  # the worker refers to its store
    if worker is not None:
        worker.stop()
