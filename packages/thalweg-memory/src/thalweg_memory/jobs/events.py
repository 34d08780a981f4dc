"""Events of fact extraction: counts, reasons and cost, without any text of a thread.

The logger is `thalweg.memory`: one sentence a job at INFO, at WARNING that one failed.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from thalweg.engine.pricing.usage import NO_USAGE, Usage
from thalweg.engine.tracing import trace
from thalweg_memory.facts.values import (
    Change,
    Hide,
    PutFact,
    RemoveFact,
    WriteSection,
    section_path,
)

EVENT = "thalweg.memory"
"""Type of the events, and name of those in a trace."""
LEARNER_PREFIX = "learned:"
"""Begins the actor of a learner's commits."""
MOST_RACES = 100
"""Maximum plans for one answer. Each retry follows another process's commit."""
_log = logging.getLogger("thalweg.memory")


@dataclass(slots=True)
class JobReport:
    """What one job did. It is filled in while the job lasts."""

    thread: str
    attempt: int
    turns: int = 0
    """Turns that were learned from."""
    proposed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """Proposals that came to nothing, by why."""
    changed: Counter[str] = field(default_factory=Counter)
    """Changes that were made: statuses of facts, `dropped`, `section`."""
    confidences: list[float] = field(default_factory=list)
    """Those of the facts that were written."""
    sections: list[str] = field(default_factory=list)
    """Names of the sections of the profile that were written, as in the document."""
    place: str = ""
    """Where the memory is: a path or an address without a password."""
    races: int = 0
    """How often another writer changed the memory first."""
    unreadable: int = 0
    """Answers of which something could not be read."""
    skipped: int = 0
    """Turns that were passed over, since no answer about them could ever be read."""
    spent: Usage = NO_USAGE
    cost: float | None = None
    """Cost of the calls in the tariff's unit; `None` if no price is available."""
    failed: str = ""
    """Class of the error that ended it; empty if it completed."""
    retry_s: float | None = None

    def count(self, changes: Iterable[Change]) -> None:
        """Count changes that were made."""
        for change in changes:
            match change:
                case PutFact(fact):
                    self.changed[fact.status] += 1
                    self.confidences.append(fact.confidence)
                case RemoveFact():
                    self.changed["dropped"] += 1
                case WriteSection():
                    self.changed["section"] += 1
                    self.sections.append(section_path(change.name))
                case Hide():
                    self.changed["hidden"] += 1


ReportHandler = Callable[[JobReport], None]


def emit(report: JobReport) -> None:
    """Log and trace a job."""
    event = event_of(report)
    level = logging.WARNING if report.failed or report.skipped else logging.INFO
    _log.log(level, "%s", sentence(report), extra={"thalweg": event})
    if report.changed and report.place:
        _log.debug("thread %s: memory persisted to %s", report.thread, report.place)
    trace(event)


def event_of(report: JobReport) -> dict[str, Any]:
    """Make the event of a job: plain values that JSON can hold."""
    spent = report.spent
    return {
        "type": EVENT,
        "thread": report.thread,
        "attempt": report.attempt,
        "turns": report.turns,
        "proposed": report.proposed,
        "refused": dict(report.refused),
        "changed": dict(report.changed),
        "confidences": list(report.confidences),
        "sections": list(report.sections),
        "races": report.races,
        "unreadable": report.unreadable,
        "skipped": report.skipped,
        "model": spent.model,
        "calls": spent.calls,
        "input_tokens": spent.input,
        "cached_tokens": spent.cached,
        "output_tokens": spent.output,
        "cost": report.cost,
        "failed": report.failed,
        "retry_s": report.retry_s,
    }


def sentence(report: JobReport) -> str:
    """Return a report as one line for a person."""
    made = ", ".join(f"{n} {what}" for what, n in sorted(report.changed.items())) or "no change"
    why = ", ".join(f"{n} {what}" for what, n in sorted(report.refused.items()))
    sure = ", ".join(f"{confidence:g}" for confidence in report.confidences)
    sections, spent = ", ".join(report.sections), report.spent
    text = (
        f"thread {report.thread}: learned from {report.turns} turns: {made}"
        f"{f' (confidence: {sure})' if sure else ''}"
        f"{f'; updated {sections}' if sections else ''}"
        f"{f'; not taken: {why}' if why else ''}"
        f"; {spent.calls} calls, {spent.input} tokens in, {spent.output} out"
    )
    if report.cost is not None:
        text += f", {report.cost:.4f}"
    if report.failed:
        text += f"; it failed ({report.failed}), again in {report.retry_s:.0f} s"
    return text
