"""What the oracles say of one recording."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FoldAt:
    """One fold of the best schedule."""

    call: int
    """The call it is made for, from 0."""
    position: int
    """Of the first message that stays."""
    tail: int
    """Tokens that stay behind the cut."""
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
    """With the best schedule of folds of our shape, faults included, summaries by no model.

    Exact for folds that leave the record ours does and every message behind the cut as it was
    sent, where what is fetched back goes with the next fold. What else a policy does to the tail,
    or keeps of what it fetched, may undercut it a little.
    """
    sets: float
    """No policy costs less, however it drops messages, shortens them and shows them again.

    It binds whoever sends the system prompt always, and a message of up to 5,000 tokens (a
    quarter of the limit if that is less) whole when it arrives, reasoning aside. Larger ones, and
    those of a call whose news fill a third of the limit, need not be shown at all. Nor does
    anything stay: a policy that loses the goals is bound as well.
    """
    folds: tuple[FoldAt, ...]
    """Of the best schedule, in order."""
    bounds_arrivals: bool
    """Whether that schedule shows what is too large shortened from its arrival on."""

    def to_json(self) -> dict[str, Any]:
        """Give the fields that `thalweg replay --json` prints."""
        return {
            "one_cut": round(self.one_cut, 1),
            "sets": round(self.sets, 1),
            "folds": [asdict(fold) for fold in self.folds],
        }
