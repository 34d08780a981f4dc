"""What the oracles say of one recording."""

from dataclasses import dataclass


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
    """A lower bound for every policy, however it drops, shortens and shows again; see `sets`."""
    folds: tuple[FoldAt, ...]
    """Of the best schedule, in order."""
    bounds_arrivals: bool
    """Whether that schedule shows what is too large shortened from its arrival on."""
