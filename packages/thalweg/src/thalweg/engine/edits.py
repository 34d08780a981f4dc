"""Edits: every way in which a view may differ from the log.

An edit never changes the log. Each one has its reason, its turn, and the tokens it freed, so that
every difference between a request and the log can be explained and undone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from thalweg.engine.entries import Part
from thalweg.engine.pricing.savings import Forecast
from thalweg.engine.summaries.summary import Summary

Reason = Literal[
    "arrived too large",
    "a limit of the provider forbids it",
    "a newer read or write made it stale",
    "re-reading it has cost as much as dropping it",
    "the request would not fit",
    "reasoning of a finished tool loop",
    "asked for",
    "a trigger of the policy",
    "the provider refused the request",
    "reasoning bound to another prefix",
    "a summary is ready, and the cache has expired",
    "the provider has compacted it",
    "reading it again has cost as much as keeping it",
]
"""Why an edit was made, in the words of a report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    reason: Reason
    turn: int
    """The model call it was made for, from 1."""
    tokens_before: int
    """Tokens of the replaced content."""
    tokens_after: int
    """Tokens of the replacement."""
    forecast: Forecast | None = None
    """Predicted cost and savings of it and the edits made with it, if computed; one of them has it
    for all."""

    @property
    def freed(self) -> int:
        """Tokens the edit frees."""
        return self.tokens_before - self.tokens_after


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rewrite(_Edit):
    position: int
    parts: tuple[Part, ...]
    """The parts shown instead of the message's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evict(_Rewrite):
    """Replaces one large message (most often a tool result) by a preview and a reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersede(_Rewrite):
    """Replaces an older read, made stale by a newer read or write of its target, by one line.

    Only journals of earlier versions have it.
    """

    by: int
    """Position of the newer read or write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elide(_Rewrite):
    """Replaces large arguments of an old tool call by a reference, or drops finished reasoning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip(_Edit):
    """Removes signed reasoning from the view, because its prefix has changed.

    The rest of each message is unchanged.
    """

    positions: tuple[int, ...]
    """Positions of the messages, oldest first."""


@dataclass(frozen=True, slots=True)
class PendingSummary:
    """A summary that a model writes in the background: its messages, and when it was requested."""

    first: int
    """Position of the first message."""
    last: int
    """Position of the last one."""
    source: str
    """A digest of the messages, by which the archive will store it."""
    since: float
    """When it was requested, in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold(_Edit):
    """Replaces all messages up to `last` by a structured summary. A later one replaces it."""

    last: int
    """Last compacted position."""
    kept: tuple[int, ...]
    """Positions up to `last` that remain verbatim, after the structured summary."""
    record: str
    """The text of the structured summary."""
    rooms: tuple[int, int] | None = None
    """Most tokens of the structured summary, and most with the user's constraints; `None` if not
    recorded: then the budget's."""
    summary: Summary | None = None
    """A model's narrative summary of the messages of this compaction, or of an earlier one's; it
    is shown in the structured summary."""
    summary_first: int | None = None
    """First position of the summary, if it includes messages of earlier compactions."""
    summary_last: int | None = None
    """Last position of the summary, if it has only messages of earlier compactions."""
    pending: PendingSummary | None = None
    """The summary that a later compaction will show."""
    summary_input: int = 0
    """Tokens that the model read."""
    summary_output: int = 0
    """Tokens that the model wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin(_Edit):
    """Keeps a user's words verbatim in every context, until they are unpinned."""

    position: int
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpin(_Edit):
    """Revokes a pin."""

    position: int
    quote: str


RepairReason = Literal[
    "a call needs one result, directly after it",
    "the arguments of a call are not a JSON object",
    "the model does not accept such media",
    "the provider accepts a system message at the beginning only",
    "the provider demands a message of the user first",
    "the provider demands that user and assistant alternate",
    "the provider does not accept empty content",
    "the provider does not accept the id of a call",
    "the provider does not accept the name of a tool",
    "the text cannot be encoded",
]
"""Why a finished request was repaired, in the words of a report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A message that was sent in another form, because its provider would have refused it.

    It depends only on the message and the provider's rules, and is computed again for each
    request: the window does not change, and another model gets a form that it accepts.
    """

    reason: RepairReason
    position: int = -1
    """Position of the message in the log; -1 if it is in no log."""
    detail: str = ""
    """The name or the type concerned, shortened."""


Rewrite = Evict | Supersede | Elide
"""Edits that replace one message."""
Edit = Rewrite | Strip | Fold | Pin | Unpin


def main_reason(edits: Sequence[Edit]) -> Reason:
    """Return the reason of several edits: that of a compaction, else of the one that freed most."""
    return max(edits, key=lambda edit: (isinstance(edit, Fold), edit.freed)).reason


def forecast_of(edits: Sequence[Edit]) -> Forecast | None:
    """Return the forecast of several edits made together.

    Returns:
        `None` if none has one, or if one does not apply to all: there are several compactions.
    """
    forecasts = [edit.forecast for edit in edits if edit.forecast is not None]
    folds = sum(isinstance(edit, Fold) for edit in edits)
    return forecasts[0] if len(forecasts) == 1 and folds <= 1 else None
