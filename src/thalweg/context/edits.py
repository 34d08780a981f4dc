"""Edits: the whole vocabulary of what may be shown otherwise than it was said.

An edit never touches the log. Each one carries why it was made, when, and what it freed, so
that every difference between a request and the log can be explained and undone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from thalweg.context.savings import Forecast
from thalweg.entries import Part
from thalweg.summaries.summary import Summary

Reason = Literal[
    "arrived too large",
    "a newer read or write made it stale",
    "re-reading it has cost as much as dropping it",
    "the request would not fit",
    "reasoning of a finished tool loop",
    "asked for",
    "a trigger of the policy",
    "the provider refused the request",
    "reasoning bound to another prefix",
    "a summary was written, and the cache is cold",
]
"""Why an edit was made, in the words a report shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Edit:
    reason: Reason
    turn: int
    """The model call it was made for, from 1."""
    tokens_before: int
    """Of what it replaces."""
    tokens_after: int
    """Of what is shown instead."""
    forecast: Forecast | None = None
    """What it and the edits made with it were expected to cost and to save, where whoever
    decided them asked; one of them has it for all."""

    @property
    def freed(self) -> int:
        """Tokens the edit frees."""
        return self.tokens_before - self.tokens_after


@dataclass(frozen=True, slots=True, kw_only=True)
class Evict(_Edit):
    """One large message (most often a tool result) becomes a preview and a handle."""

    position: int
    parts: tuple[Part, ...]
    """What is shown instead of the message's parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersede(_Edit):
    """An older read, made stale by a newer read or write of the same thing, becomes one line."""

    position: int
    parts: tuple[Part, ...]
    by: int
    """Position of what made it stale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elide(_Edit):
    """Large arguments of an old tool call become a handle, or finished reasoning is left out."""

    position: int
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip(_Edit):
    """Signed reasoning leaves the view: what stood before it when it was produced has changed.

    The rest of each message stays as it is shown.
    """

    positions: tuple[int, ...]
    """Of the messages, oldest first."""


@dataclass(frozen=True, slots=True)
class PendingSummary:
    """A summary that a model writes in the background: of which messages, and since when."""

    first: int
    """Position of the first message."""
    last: int
    """Position of the last one."""
    source: str
    """A digest of the messages, under which the archive will have it."""
    since: float
    """When it was asked for, in seconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold(_Edit):
    """Everything said up to `last` becomes one record. A later fold takes its place."""

    last: int
    """Last position that is folded."""
    kept: tuple[int, ...]
    """Positions up to `last` that stay word for word, after the record."""
    record: str
    """The text that stands for the folded messages."""
    rooms: tuple[int, int] | None = None
    """Tokens that the record was given, and that it may have for the user's constraints; `None`
    where it is not known: then what the budget says."""
    summary: Summary | None = None
    """What a model wrote of the messages that this fold took, or of those of an earlier one; the
    record shows it, too."""
    summary_first: int | None = None
    """First position that it is of, where it is of messages of earlier folds as well."""
    summary_last: int | None = None
    """Last position that it is of, where it is of messages of earlier folds alone."""
    pending: PendingSummary | None = None
    """The summary that a later fold will show."""
    summary_input: int = 0
    """Tokens that model read."""
    summary_output: int = 0
    """Tokens it wrote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin(_Edit):
    """A user's words stay verbatim in every context, until they are unpinned."""

    position: int
    quote: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpin(_Edit):
    """A pin is revoked, explicitly."""

    position: int
    quote: str


RepairReason = Literal[
    "a call needs one result, directly behind it",
    "the arguments of a call are not a JSON object",
    "the model does not accept such media",
    "the provider accepts a system message at the beginning only",
    "the provider demands a message of the user first",
    "the provider does not accept empty content",
    "the provider does not accept the id of a call",
    "the provider does not accept the name of a tool",
    "the text cannot be encoded",
]
"""Why a finished request was repaired, in the words a report shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A message was sent otherwise than the window shows it: its provider would have refused it.

    It follows from the message and the provider's rules, and is made again for each request: the
    window does not change, and another model gets what it accepts.
    """

    reason: RepairReason
    position: int = -1
    """Of the message in the log; -1 of one that is in no log."""
    detail: str = ""
    """The name or the type that it is about, shortened."""


Rewrite = Evict | Supersede | Elide
"""Edits that show one message otherwise."""
Edit = Rewrite | Strip | Fold | Pin | Unpin


def main_reason(edits: Sequence[Edit]) -> Reason:
    """Say why several edits were made together: why a fold was, or else what freed most."""
    return max(edits, key=lambda edit: (isinstance(edit, Fold), edit.freed)).reason


def forecast_of(edits: Sequence[Edit]) -> Forecast | None:
    """Give what was expected of several edits made together.

    Returns:
        `None` where nobody said, or not of all: more than one fold was needed.
    """
    told = [edit.forecast for edit in edits if edit.forecast is not None]
    folds = sum(isinstance(edit, Fold) for edit in edits)
    return told[0] if len(told) == 1 and folds <= 1 else None
