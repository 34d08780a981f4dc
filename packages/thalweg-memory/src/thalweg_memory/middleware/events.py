"""Events of what memory showed and of its errors: counts and ids, no text of facts.

The logger is `thalweg.memory`.
"""

import logging
from collections.abc import Sequence
from typing import Any

from thalweg.context.turn.events import CustomStream
from thalweg.engine.tracing import trace
from thalweg.errors import ThalwegError
from thalweg_memory.facts.values import FactId
from thalweg_memory.middleware.binding import BoundMemory
from thalweg_memory.middleware.shown import ShownMemory

INSERTED, FAILED = "thalweg.memory.told", "thalweg.memory.failed"
REVIEW = "thalweg.memory.review"
"""Types of the events in LangGraph's custom stream, and names of those in a trace."""
_log = logging.getLogger("thalweg.memory")


def announce_shown(
    bound: BoundMemory,
    shown: Sequence[ShownMemory],
    before: Sequence[ShownMemory],
    runtime: CustomStream,
) -> None:
    """Emit the items that a run is shown in addition to earlier items."""
    old = {one.uid for one in before}
    new = [one for one in shown if one.uid not in old]
    facts = [fact for one in new for fact in one.facts]
    event: dict[str, Any] = {
        "type": INSERTED,
        "thread": bound.thread,
        "messages": [one.uid for one in new],
        "facts": facts,
        "turns": sum(len(one.pieces) for one in new),
        "tokens": sum(one.tokens for one in new),
        "tokens_in_all": sum(one.tokens for one in shown),
        "taken_back": len(old - {one.uid for one in shown}),
    }
    runtime.stream_writer(event)
    _log.info(
        "thread %s: inserted %d facts and %d turns in %d tokens, %d in total",
        bound.thread,
        len(facts),
        event["turns"],
        event["tokens"],
        event["tokens_in_all"],
        extra={"thalweg": event},
    )
    trace(event)


def announce_review(
    thread: str, facts: Sequence[FactId], waiting: int, runtime: CustomStream
) -> None:
    """Emit that facts wait for the user's review.

    Args:
        thread: Of the run that begins.
        facts: Those that were not announced before.
        waiting: How many wait in all.
        runtime: Of the run.
    """
    event = {"type": REVIEW, "thread": thread, "facts": list(facts), "waiting": waiting}
    runtime.stream_writer(event)
    sentence = "%d new facts wait for review, %d in all: see `thalweg memory review`"
    _log.info(sentence, len(facts), waiting, extra={"thalweg": event})
    trace(event)


def announce_failure(error: ThalwegError, runtime: CustomStream) -> None:
    """Emit that a run continues without its memory."""
    event = {"type": FAILED, "code": error.code, "problem": type(error).__name__}
    runtime.stream_writer(event)
    _log.warning("a run continues without its memory: %s", error, extra={"thalweg": event})
    trace(event)
