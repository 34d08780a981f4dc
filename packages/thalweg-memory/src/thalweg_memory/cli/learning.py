"""Learning from a command: performs the jobs that are due, and reports them."""

import os
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from thalweg.engine.extras import missing_extra
from thalweg.engine.tokens import exact_counter
from thalweg.engine.transcript import printable
from thalweg.errors import ConfigError
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.jobs.learner import JobReport, Learner, Respondent, Worker, event_of, sentence
from thalweg_memory.store.records import utc_now
from thalweg_memory.store.tables import MemoryStore


@dataclass(slots=True)
class Reports:
    """The results of the jobs."""

    sentences: list[str] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether any job failed."""
        return any(event["failed"] for event in self.events)

    def add(self, report: JobReport) -> None:
        """Take a report."""
        self.sentences.append(printable(sentence(report)))
        self.events.append(event_of(report))


def learning_model(name: str) -> BaseChatModel:
    """Return a chat model by its name, without any request.

    Args:
        name: As `init_chat_model` takes it: `provider:model`; the address of another server may
            follow, as in `openai:NAME@http://host/v1`.

    Raises:
        ConfigError: There is no such model, or its package or its key is missing.
    """
    model, _, address = name.partition("@http")
    if not model:
        raise ConfigError("--model", f"{name!r} names no model", "write provider:model")
    settings: dict[str, Any] = {"base_url": f"http{address}"} if address else {}
    if address and model.startswith("openai:"):
        # Its client demands a key, also for a server without one.
        settings["api_key"] = os.environ.get("OPENAI_API_KEY") or "none"
    try:
        made: BaseChatModel = init_chat_model(model, **settings)
    except ImportError as error:
        cause = error.__cause__ if isinstance(error.__cause__, ModuleNotFoundError) else error
        if isinstance(cause, ModuleNotFoundError) and (missing := missing_extra(cause, name)):
            raise missing from None
        raise _unusable(name, error) from None
    except Exception as error:  # noqa: BLE001 (each provider raises its own)
        raise _unusable(name, error) from None
    return made


def _unusable(name: str, error: Exception) -> ConfigError:
    problem = " ".join(str(error).split())[:300].rstrip(".")
    return ConfigError(name, problem, "write provider:model, and set the provider's key")


def learn_due(store: MemoryStore, model: BaseChatModel, *, wait: bool) -> Reports:
    """Perform the jobs that are due, and return their reports.

    Args:
        store: The store of the jobs.
        model: The model to call.
        wait: Also perform those that are not due yet, once they are. Stop after a failed one.
    """
    reports, count = Reports(), exact_counter()
    learner = Learner(
        store, Respondent(model, count), MemorySettings(), count=count, emit=reports.add
    )
    worker = Worker(store, learner.learn)
    worker.run_due()
    while wait and not reports.failed and (due := store.next_due()) is not None:
        left = datetime.fromisoformat(due) - datetime.fromisoformat(utc_now())
        time.sleep(max(0.05, min(left.total_seconds(), 5)))
        worker.run_due()
    return reports
