"""Every decision as one event: LangGraph's custom stream, `logging`, OpenTelemetry.

The logger is `thalweg.context`. It logs one sentence per decision at INFO, the numbers line by line
at DEBUG, and a lost summary or an assumed window or price at WARNING. No text of a thread is
logged: faults of a summary are counted here, and are complete in the journal.
"""

import logging
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from thalweg.archive import ThreadKey
from thalweg.archive.threads.journal import TurnRecord
from thalweg.archive.threads.savings import charged_request, combined_change
from thalweg.context.request.models import ModelLimits
from thalweg.context.request.refusals import Cause, Rejection
from thalweg.engine.compaction.thresholds import Threshold
from thalweg.engine.edits import Edit, Fold, Strip
from thalweg.engine.pricing.cost import units_of
from thalweg.engine.pricing.matching import Priced
from thalweg.engine.pricing.savings import Forecast, foresee
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.summaries.summary import SummaryDefect
from thalweg.engine.tracing import trace

_log = logging.getLogger("thalweg.context")
TURN_EVENT = "thalweg.context"
"""Type of the events in LangGraph's custom stream, and name of those in a trace."""
PRICES_EVENT = "thalweg.prices"
"""The name of the event that reports assumed prices."""
REPAIRED_EVENT = "thalweg.repaired"
"""The same, of the event that a request was repaired which its provider would have refused."""
REJECTED_EVENT = "thalweg.rejected"
"""The same, of the event that a provider refused the content of a request, with the changes."""


class CustomStream(Protocol):
    """The target of a run's custom stream: LangGraph's `Runtime`."""

    @property
    def stream_writer(self) -> Any:  # noqa: ANN401 (LangGraph's own)
        """Write to it."""


@dataclass(frozen=True, slots=True)
class TurnReport:
    """The decisions before one request."""

    key: ThreadKey
    page: TurnRecord
    tariff: Tariff
    before: int
    """Tokens of the request as it would have been."""
    after: int
    """Tokens of the request as it is."""
    last: int
    """Tokens of the last request."""
    messages: int
    """Messages of the request as it is."""
    messages_before: int
    """Messages of the request as it would have been."""
    window: int
    """Tokens of the model's window."""
    thresholds: tuple[Threshold, ...] = ()
    """The triggers of the policy that the request had reached."""
    faults: tuple[SummaryDefect, ...] = ()
    """The defects of the summaries."""
    allowed: float = math.inf
    """Cost that the summaries of the thread may have so far."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons of the edits, each once; the thresholds that were met are named."""
        found: list[str] = []
        for edit in self.page.edits:
            is_trigger = edit.reason == "a trigger of the policy"
            met = [one.describe() for one in self.thresholds] if is_trigger else []
            found += met or [edit.reason]
        return tuple(dict.fromkeys(found))

    @property
    def is_summary_lost(self) -> bool:
        """Whether a summary was asked for and none could be kept."""
        folds = [edit for edit in self.page.edits if isinstance(edit, Fold)]
        failed = any(not fault.is_line for fault in self.faults)
        return failed and all(fold.summary is None for fold in folds)

    @property
    def rewritten(self) -> int:
        """Tokens after the first change: the provider's cache writes them again."""
        return self.after - self.page.same

    @property
    def forecast(self) -> Forecast:
        """The expected cost and savings; the actual ones are in the journal."""
        page = self.page
        summary_cost = units_of(page.spent, self.tariff) if page.spent else 0.0
        change = combined_change(page.calls, self.page.edits, summary_cost)
        return change.forecast or foresee(charged_request(page, self.tariff), change, self.last)


def emit_turn(report: TurnReport, runtime: CustomStream) -> None:
    """Emit the event of a turn with edits."""
    event = event_of(report)
    _emit(event, runtime, logging.INFO, sentence(report))
    if _log.isEnabledFor(logging.DEBUG):
        for line in lines(report):
            _log.debug("%s", line)
    if report.faults:
        level = logging.WARNING if report.is_summary_lost else logging.INFO
        _log.log(level, "thread %s: %s", report.key.thread, event["note"])


def _emit(event: dict[str, Any], runtime: CustomStream, level: int, sentence: str) -> None:
    """Write an event to the custom stream, the log and the trace."""
    runtime.stream_writer(event)
    _log.log(level, "%s", sentence, extra={"thalweg": event})
    trace(event)


def report_assumptions(limits: ModelLimits, priced: Priced | None, runtime: CustomStream) -> None:
    """Report the assumptions about a model; the caller does so once per model.

    Args:
        limits: Those of the model. An assumed window is logged, with the place to set it.
        priced: Its prices if they decide anything; assumed ones are emitted.
        runtime: The stream that they are emitted to.
    """
    if limits.source == "default":
        _log.warning("%s", limits.note)
    if priced is not None and priced.note:
        event = {"type": PRICES_EVENT, "model": limits.model, "tariff": priced.tariff.name}
        _emit({**event, "note": priced.note}, runtime, logging.WARNING, priced.note)


def emit_repairs(key: ThreadKey, page: TurnRecord, runtime: CustomStream) -> None:
    """Emit the repairs of the requests of a turn."""
    event = {
        "type": REPAIRED_EVENT,
        "thread": key.thread,
        "turn": page.turns,
        "model": page.model,
        "repairs": [asdict(repair) for repair in page.repairs],
    }
    reasons = "; ".join(dict.fromkeys(repair.reason for repair in page.repairs))
    sentence = f"thread {key.thread}, turn {page.turns}: the request was repaired: {reasons}"
    _emit(event, runtime, logging.INFO, sentence)


def emit_rejection(
    key: ThreadKey,
    turn: int | None,
    rejection: Rejection,
    cause: Cause,
    edits: Sequence[Edit],
    runtime: CustomStream,
) -> None:
    """Emit that a request was refused, why, and with which edits it is sent once more."""
    event = {
        "type": REJECTED_EVENT,
        "thread": key.thread,
        "turn": turn,
        "model": rejection.model,
        "status": rejection.status,
        "said": rejection.message[:MESSAGE_CHARS],
        "cause": cause.name,
        "edits": [_plain_edit(edit) for edit in edits],
    }
    sentence = (
        f"thread {key.thread}: {rejection.model} refused the request ({cause.name}); retrying with "
        f"{count_edits(edits)}; its message: {event['said']}"
    )
    _emit(event, runtime, logging.WARNING, sentence)


MESSAGE_CHARS = 300
"""Most characters of a provider's words in an event."""


def count_edits(edits: Sequence[Edit]) -> str:
    """Count edits by kind, for a person.

    Example:
        >>> count_edits([])
        'no edits'
    """
    kinds = [_kind(edit) for edit in edits]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)) or "no edits"


def event_of(report: TurnReport) -> dict[str, Any]:
    """Make the event of a turn: plain values that JSON can hold."""
    page, forecast = report.page, report.forecast
    never_pays = math.isinf(forecast.break_even)
    return {
        "type": TURN_EVENT,
        "thread": report.key.thread,
        "turn": page.turns,
        "model": page.model,
        "trigger": list(report.reasons),
        "thresholds": [one.model_dump() for one in report.thresholds],
        "edits": [_plain_edit(edit) for edit in report.page.edits],
        "tokens_before": report.before,
        "tokens_after": report.after,
        "tokens_rewritten": report.rewritten,
        "messages_before": report.messages_before,
        "messages_after": report.messages,
        "limit": page.limit,
        "window": report.window,
        "sections": dict(page.tokens),
        "price": round(forecast.price, 1),
        "saving_per_call": round(forecast.saving, 1),
        "break_even_calls": None if never_pays else round(forecast.break_even, 1),
        "predicted_gain": round(forecast.gain, 1),
        "predicted_calls": forecast.calls,
        "spent": asdict(page.spent) if page.spent else None,
        "summaries": {
            "cost": round(page.account.spent, 1),
            "allowed": None if math.isinf(report.allowed) else round(report.allowed, 1),
            "unusable": page.account.failures,
            "waits": page.account.waits,
        },
        "note": note(report),
    }


def _plain_edit(edit: Edit) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "kind": _kind(edit),
        "reason": edit.reason,
        "tokens_before": edit.tokens_before,
        "tokens_after": edit.tokens_after,
    }
    if isinstance(edit, Fold):
        return {**plain, "last": edit.last, "kept": list(edit.kept)}
    if isinstance(edit, Strip):
        return {**plain, "positions": list(edit.positions)}
    return {**plain, "position": edit.position}


def _edit_place(edit: Edit) -> str:
    match edit:
        case Fold():
            return f"messages up to #{edit.last}"
        case Strip():
            return f"reasoning from #{edit.positions[0]} to #{edit.positions[-1]}"
        case _:
            return f"#{edit.position}"


def _kind(edit: Edit) -> str:
    return type(edit).__name__.lower()


def sentence(report: TurnReport) -> str:
    """Return a decision as one line for a person."""
    edit_counts, reasons = count_edits(report.page.edits), "; ".join(report.reasons)
    return (
        f"thread {report.key.thread}, turn {report.page.turns}: {report.before} -> {report.after} "
        f"tokens of {report.page.limit} ({edit_counts}): {reasons}"
    )


def note(report: TurnReport) -> str:
    """Return the faults of the summaries as counts and kinds; empty if there are none."""
    parts: list[str] = []
    if report.is_summary_lost:
        parts.append("no usable summary")
    for fault, count in Counter(replace(singular, told="") for singular in report.faults).items():
        singular, plural = (
            ("line marked", "lines marked") if fault.is_line else ("summary", "summaries")
        )
        parts.append(f"{count} {singular if count == 1 else plural}: {fault.kind}")
    return "; ".join(parts)


def lines(report: TurnReport) -> Iterator[str]:
    """Yield the numbers of a decision for a person, line by line."""
    page, forecast, window = report.page, report.forecast, max(1, report.window)
    share = f"{100 * report.before // window}%"
    yield f"[ContextMiddleware] Token count: {report.before} / {window} ({share})"
    for reason in report.reasons:
        yield f"[ContextMiddleware] Trigger: {reason}"
    if any(isinstance(edit, Fold) for edit in report.page.edits):
        kept = report.messages - 1  # and the record
        summarized = report.messages_before - kept
        yield f"[ContextMiddleware] Summarizing {summarized} messages, keeping last {kept}"
    for edit in report.page.edits:
        yield (
            f"[ContextMiddleware] {type(edit).__name__} of {_edit_place(edit)}: "
            f"{edit.tokens_before} -> {edit.tokens_after} tokens"
        )
    if page.spent is not None:
        yield f"[ContextMiddleware] Summary generated: {page.spent.output} tokens"
    yield f"[ContextMiddleware] New message count: {report.messages}, token count: {report.after}"
    yield (
        f"[ContextMiddleware] {report.rewritten} tokens after the first change; costs "
        f"{forecast.price:.0f} once, saves {forecast.saving:.0f} a call: "
        f"{forecast.gain:+.0f} after {forecast.calls} calls"
    )
