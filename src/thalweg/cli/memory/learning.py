"""Learning from a command: the jobs that are due, done here and told of."""

import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from langchain.chat_models import init_chat_model

from thalweg.errors import ConfigError
from thalweg.facts.settings import MemorySettings
from thalweg.jobs.events import Report, event_of, sentence
from thalweg.jobs.learner import Learner
from thalweg.jobs.structured import Respondent
from thalweg.jobs.worker import Worker
from thalweg.memory.base import MemoryStore
from thalweg.memory.clock import utc_now
from thalweg.tokens import exact_counter
from thalweg.transcript import printable


@dataclass(slots=True)
class Reports:
    """What the jobs did."""

    sentences: list[str] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    def tell(self, report: Report) -> None:
        """Take a report."""
        self.sentences.append(printable(sentence(report)))
        self.events.append(event_of(report))


def learn_due(store: MemoryStore, model: str, *, wait: bool) -> Reports:
    """Do the jobs that are due, and tell of them.

    Args:
        store: Where they are.
        model: Who is asked, as `provider:name`.
        wait: Also those that are not due yet, once they are. Jobs that failed are left.

    Raises:
        ConfigError: There is no such model.
    """
    try:
        asked = init_chat_model(model)
    except (ValueError, ImportError) as error:
        problem = f"there is no model {model!r} ({str(error).partition(chr(10))[0]})"
        mend = "name it as provider:model, and install its package"
        raise ConfigError("--model", problem, mend) from error
    reports, count = Reports(), exact_counter()
    respondent = Respondent(asked, count)
    learner = Learner(store, respondent, MemorySettings(), count=count, tell=reports.tell)
    worker = Worker(store, learner.learn)
    worker.run_due()
    while wait and (due := store.next_due()) is not None and not _failed(reports):
        left = datetime.fromisoformat(due) - datetime.fromisoformat(utc_now())
        time.sleep(max(0.05, min(left.total_seconds(), 5)))
        worker.run_due()
    return reports


def _failed(reports: Reports) -> bool:
    return any(event["failed"] for event in reports.events)
