"""Results of the oracles for one recording."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class OracleCompaction:
    """One fold of the best schedule."""

    call: int
    """The call it is made for, from 0."""
    position: int
    """Position of the first message that is kept."""
    tail: int
    """Tokens after the cut."""
    before: int
    """Tokens of the request without the fold."""
    after: int
    """Tokens of the request with it."""
    is_cold: bool
    """Whether the cache had expired anyway."""


@dataclass(frozen=True, slots=True)
class Oracle:
    """What one recording costs at best, in hindsight, under one tariff."""

    one_cut: float
    """The cost with the best schedule of our kind of compactions, re-fetches included, without a
    model's summaries.

    Exact for compactions with our structured summary that keep every message after the cut as sent,
    if the next compaction removes re-fetched content. A policy that also changes the tail, or keeps
    re-fetched content, may be slightly cheaper."""
    sets: float
    """A lower bound for all policies that drop messages, shorten them and show them again.

    It assumes that a policy always sends the system prompt, and each new message of up to 5,000
    tokens (a quarter of the limit if that is less) whole, reasoning excluded. Larger ones, and
    those of a call whose new messages fill a third of the limit, may be omitted. No message must be
    kept: the bound also holds for a policy that loses the goals."""
    folds: tuple[OracleCompaction, ...]
    """Of the best schedule, in order."""
    bounds_arrivals: bool
    """Whether that schedule shows what is too large shortened from its arrival on."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields that `thalweg replay --json` prints."""
        return {
            "one_cut": round(self.one_cut, 1),
            "sets": round(self.sets, 1),
            "folds": [asdict(fold) for fold in self.folds],
        }
