"""The memory of one owner: calls of `thalweg_memory.Memory`, its form in the API, and learning.

One worker of a process learns in the background for the memories of all owners.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, fields
from threading import Lock
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from thalweg.engine.tokens import exact_counter
from thalweg_memory import Memory, MemoryStore, Operation, Recalled, Receipt, Scope
from thalweg_memory.facts.recall.ranking import RecallFeatures
from thalweg_memory.facts.recall.rendering import PackedItem
from thalweg_memory.facts.values import Change, Fact, Hide, PutFact, RemoveFact, WriteSection
from thalweg_memory.store.records import Job
from thalweg_server.api.memory import Commit, FactView, Forgotten, Found, Recall
from thalweg_server.app.metrics import Metrics
from thalweg_server.app.registry import Registry
from thalweg_server.app.spending import Prices
from thalweg_server.settings.sections import Settings

if TYPE_CHECKING:
    from thalweg_memory.jobs.learner import Learner, Worker
    from thalweg_server.app.parts import AppParts

P = ParamSpec("P")
T = TypeVar("T")


class TenantMemory:
    """The memory of one owner, or of an agent with a memory of its own for that owner."""

    def __init__(self, owner: str, parts: "AppParts", agent: str = "") -> None:
        self._scope = Scope(owner, agent)
        self._parts = parts

    def of_agent(self, agent: str) -> "TenantMemory":
        """Return the memory of one of the owner's agents; empty for the one that all share."""
        return TenantMemory(self._scope.owner, self._parts, agent)

    async def ask(
        self, do: Callable[Concatenate[Memory, P], T], *given: P.args, **named: P.kwargs
    ) -> T:
        """Call a method of `Memory`, or another function of one, in a thread.

        Raises:
            MemoryOffError: It changes something, and memory is off or read-only.
            NoSuchFactError: It names a fact, and there is none.
        """
        memory = memory_of(self._scope, self._parts)
        return await asyncio.to_thread(do, memory, *given, **named)


def memory_of(scope: Scope, parts: "AppParts") -> Memory:
    """Return the memory of a scope, under the settings of the moment."""
    return Memory(parts.memories, scope, settings=parts.settings().memory)


def fact_view(fact: Fact) -> FactView:
    """Return a fact with DeerFlow's keys, its source and the time since when it is valid."""
    more = {
        "trust": fact.trust.name.lower(),
        "evidence": [
            {**asdict(evidence), "trust": evidence.trust.name.lower()} for evidence in fact.evidence
        ],
        "aliases": list(fact.aliases),
        "language": fact.language,
        "validFrom": fact.valid_from,
        "validTo": fact.valid_to,
        "observedAt": fact.observed_at,
        "supersededBy": str(fact.superseded_by),
        "supersedes": list(fact.supersedes),
        "writtenBy": fact.written_by,
        "protected": fact.protected,
        "isVerified": not fact.claim,
    }
    return FactView.model_validate(
        {
            "id": fact.id,
            "content": fact.content,
            "category": fact.category,
            "confidence": fact.confidence,
            "createdAt": fact.created_at,
            "source": fact.source,
            "status": fact.status,
            **more,
        }
    )


def commit_view(operation: Operation) -> Commit:
    """Show a commit in one line."""
    kinds = Counter(map(_kind, operation.changes))
    summary = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return Commit(
        operation=operation.id,
        at=operation.at,
        actor=operation.actor,
        kind=operation.why,
        summary=summary or "forgotten",
    )


def _kind(change: Change) -> str:
    match change:
        case PutFact(fact):
            return fact.status
        case RemoveFact():
            return "dropped"
        case WriteSection():
            return "section"
        case Hide():
            return "turns shown again" if change.is_shown else "turns hidden"


def recall_view(query: str, recalled: Recalled) -> Recall:
    """Return the facts that are recalled for some words, and the reasons."""
    return Recall(
        query=query,
        text=recalled.text,
        tokens=recalled.tokens,
        items=tuple(map(_found, recalled.placed)),
    )


def _found(placed: PackedItem) -> Found:
    item, features = placed.ranked.item, placed.ranked.features
    detail: dict[str, object] = {
        "features": {
            one.name: round(getattr(features, one.name), 4) for one in fields(RecallFeatures)
        },
        "tokens": placed.tokens,
    }
    if item.turn is not None:
        detail |= {"thread": item.turn.thread, "said_at": item.turn.said_at}
    return Found.model_validate(
        {
            "kind": "fact" if item.fact is not None else "turn",
            "id": item.fact.id if item.fact is not None else f"{item.number}",
            "content": item.text,
            "score": round(features.score, 4),
            "is_told": placed.fate == "shown",
            "why": placed.fate,
            "detail": detail,
        }
    )


def forgotten_view(receipt: Receipt) -> Forgotten:
    """Return the API's view of a deletion, with the places where its words may still be."""
    detail = {
        "ids": list(receipt.facts),
        "sections": receipt.sections,
        "operations": receipt.operations,
        "reopened": list(receipt.reopened),
        "remaining": [
            {"thread": thread, "position": position} for thread, position in receipt.remaining
        ],
        "left": list(receipt.left),
    }
    return Forgotten(facts=len(receipt.facts), turns=receipt.turns, detail=detail)


def whole(text: str, facts: list[Fact]) -> dict[str, object]:
    """Return a complete document: evidence with its facts, and facts that are no longer valid."""
    document: dict[str, object] = json.loads(text)
    shown = [fact_view(fact).model_dump(mode="json") for fact in facts]
    holding = [fact for fact in shown if fact["status"] == "active"]
    others = [fact for fact in shown if fact["status"] != "active"]
    return {**document, "facts": holding, "notHolding": others}


_LEARNER_THREADS = 2
"""Threads of users that are learned from at once."""
_LEARNER_PATIENCE_S = 5.0
"""Seconds that jobs may take when the application closes; another process does the rest."""


@dataclass(slots=True)
class LearningService:
    """Extracts facts by the current settings, and records the cost.

    Attributes:
        settings: Returns the current settings.
        memories: The store of the jobs.
        registry: The store of costs.
        metrics: Counts jobs and calls.
    """

    settings: Callable[[], Settings]
    memories: MemoryStore
    registry: Registry
    metrics: Metrics
    _made: "tuple[Settings, Learner] | None" = field(default=None, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)

    def __call__(self, job: Job) -> object:
        """Run a job and return it to the store; see `Learner.learn`."""
        report = self._learner().learn(job)
        if report.spent.calls:
            self.registry.spend(job.scope.owner, job.thread, report.spent)
            self.registry.charge(job.scope.owner, report.spent)
            priced = Prices(self.settings().summarization).usage(report.spent)
            self.metrics.model_called(report.spent.model, priced)
        self.metrics.memory_jobs.labels("failed" if report.failed else "done").inc()
        return report

    def _learner(self) -> "Learner":
        with self._lock:
            settings = self.settings()
            if self._made is None or self._made[0] is not settings:
                self._made = settings, self._make(settings)
            return self._made[1]

    def _make(self, settings: Settings) -> "Learner":
        from thalweg_memory.jobs.learner import Learner, Respondent  # noqa: PLC0415 (LangChain)
        from thalweg_server.app.agents import (  # noqa: PLC0415 (LangChain: seconds)
            learner_model,
        )

        count, model = exact_counter(), learner_model(settings)
        respondent = None if model is None else Respondent(model, count)
        tariff = None
        if respondent is not None:
            tariff = Prices(settings.summarization).tariff(respondent.name)
        return Learner(self.memories, respondent, settings.memory, count=count, tariff=tariff)


@asynccontextmanager
async def learning(
    settings: Callable[[], Settings], memories: MemoryStore, registry: Registry, metrics: Metrics
) -> AsyncIterator["Worker"]:
    """Learn in the background until the end."""
    from thalweg_memory.jobs.learner import Worker  # noqa: PLC0415 (LangChain: seconds)

    learn = LearningService(settings, memories, registry, metrics)
    worker = Worker(memories, learn, threads=_LEARNER_THREADS)
    worker.start()
    try:
        yield worker
    finally:
        await asyncio.to_thread(worker.stop, _LEARNER_PATIENCE_S)
