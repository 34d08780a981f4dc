"""Learning in the background: one worker of this process for the memories of all owners."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from threading import Lock
from typing import TYPE_CHECKING

from thalweg.engine.tokens import exact_counter
from thalweg_memory import MemoryStore
from thalweg_memory.jobs.learner import Worker
from thalweg_memory.store.records import Job
from thalweg_server.app.performing.watching import JobEnded, ModelCalled, Publish
from thalweg_server.app.registry import Registry
from thalweg_server.app.spending import Prices
from thalweg_server.settings.sections import Settings

if TYPE_CHECKING:
    from thalweg_memory.jobs.learner import Learner

THREADS = 2
"""Threads of users that are learned from at once."""
PATIENCE_S = 5.0
"""Seconds that jobs may take when the application closes; another process does the rest."""


class LearningService:
    """Extracts facts by the current settings, and records the cost.

    Args:
        settings: Returns the current settings.
        memories: The store of the jobs.
        registry: The store of costs.
        publish: Receives each completed job.
    """

    def __init__(
        self,
        settings: Callable[[], Settings],
        memories: MemoryStore,
        registry: Registry,
        publish: Publish,
    ) -> None:
        self._settings = settings
        self._memories = memories
        self._registry = registry
        self._publish = publish
        self._made: tuple[Settings, Learner] | None = None
        self._lock = Lock()

    def __call__(self, job: Job) -> object:
        """Run a job and return it to the store; see `Learner.learn`."""
        report = self._learner().learn(job)
        if report.spent.calls:
            self._registry.spend(job.scope.owner, job.thread, report.spent)
            self._registry.charge(job.scope.owner, report.spent)
            priced = Prices(self._settings().summarization).usage(report.spent)
            self._publish(ModelCalled(report.spent.model, priced, job.scope.owner))
        self._publish(JobEnded("failed" if report.failed else "done"))
        return report

    def _learner(self) -> "Learner":
        with self._lock:
            settings = self._settings()
            if self._made is None or self._made[0] is not settings:
                self._made = settings, self._make(settings)
            return self._made[1]

    def _make(self, settings: Settings) -> "Learner":
        from thalweg_memory.jobs.learner import Learner, Respondent  # noqa: PLC0415 (LangChain)
        from thalweg_server.app.agents.agents import (  # noqa: PLC0415 (LangChain: seconds)
            learner_model,
        )

        count, model = exact_counter(), learner_model(settings)
        respondent = None if model is None else Respondent(model, count)
        tariff = None
        if respondent is not None:
            tariff = Prices(settings.summarization).tariff(respondent.name)
        return Learner(self._memories, respondent, settings.memory, count=count, tariff=tariff)


@asynccontextmanager
async def learning(
    settings: Callable[[], Settings], memories: MemoryStore, registry: Registry, publish: Publish
) -> AsyncIterator[Worker]:
    """Learn in the background until the end."""
    learn = LearningService(settings, memories, registry, publish)
    worker = Worker(memories, learn, threads=THREADS)
    worker.start()
    try:
        yield worker
    finally:
        await asyncio.to_thread(worker.stop, PATIENCE_S)
