"""Every decision as one event: LangGraph's custom stream, `logging`, OpenTelemetry."""

import logging
from dataclasses import dataclass
from typing import Any, Protocol

from thalweg.archive import ThreadKey
from thalweg.context.edits import Edit, Fold
from thalweg.threads.journal import Page

_log = logging.getLogger("thalweg.context")


class Speaks(Protocol):
    """Where a run's custom stream is written: LangGraph's `Runtime`."""

    @property
    def stream_writer(self) -> Any:  # noqa: ANN401 (LangGraph's own)
        """Write to it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What was decided before one request."""

    key: ThreadKey
    page: Page
    before: int
    """Tokens of the request as it would have been."""
    after: int
    """Tokens of the request as it is."""


def tell(report: Report, runtime: Speaks) -> None:
    """Tell of a turn in which something was decided; of others there is nothing to say."""
    edits = report.page.edits
    if not edits:
        return
    event = event_of(report)
    runtime.stream_writer(event)
    _log.info("%s", sentence(report), extra={"thalweg": event})
    _trace(event)


def event_of(report: Report) -> dict[str, Any]:
    """Make the event of a turn: plain values that JSON can hold."""
    page = report.page
    return {
        "type": "thalweg.context",
        "thread": report.key.thread,
        "turn": page.turn,
        "model": page.model,
        "tokens_before": report.before,
        "tokens_after": report.after,
        "limit": page.limit,
        "sections": dict(page.tokens),
        "edits": [_edit(edit) for edit in page.edits],
        "spent": page.spent
        and {
            "model": page.spent.model,
            "calls": page.spent.calls,
            "input": page.spent.input,
            "cached": page.spent.cached,
            "output": page.spent.output,
        },
        "note": page.note,
    }


def _edit(edit: Edit) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": type(edit).__name__.lower(),
        "reason": edit.reason,
        "tokens_before": edit.tokens_before,
        "tokens_after": edit.tokens_after,
    }
    if isinstance(edit, Fold):
        return {**told, "last": edit.last, "kept": list(edit.kept)}
    return {**told, "position": edit.position}


def sentence(report: Report) -> str:
    """Say the same to a person, on one line."""
    edits = report.page.edits
    kinds = {type(edit).__name__.lower() for edit in edits}
    told = ", ".join(
        f"{sum(type(e).__name__.lower() == k for e in edits)} {k}" for k in sorted(kinds)
    )
    return (
        f"{report.key.thread} turn {report.page.turn}: {report.before} -> {report.after} tokens "
        f"of {report.page.limit} ({told}): {'; '.join(dict.fromkeys(e.reason for e in edits))}"
    )


def _trace(event: dict[str, Any]) -> None:
    try:
        from opentelemetry import trace  # noqa: PLC0415 (only where it is installed)
    except ImportError:
        return
    flat = {k: v for k, v in event.items() if isinstance(v, (str, int, float))}
    trace.get_current_span().add_event("thalweg.context", flat)
