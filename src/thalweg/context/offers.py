"""The rungs that a policy chooses from: what each would free, what it costs, and its edits."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from thalweg.context.edits import Edit, Reason
from thalweg.context.plan import is_fetched, plan_clear, plan_fold, plan_tail
from thalweg.context.pricing import Tariff
from thalweg.context.rewrites import has_long_arguments, supersede
from thalweg.context.scene import Scene
from thalweg.context.window import Item

WHY: Reason = "re-reading it has cost as much as dropping it"
SUMMARY = 600
"""Tokens of a summary: what the prompt asks for, and its headings."""
LEAST_RECORD = 600
"""Tokens of a first record, at least."""
TOLD = 12
"""A record tells so many folded tokens in one."""


Plan = Callable[[Scene], Iterator[Sequence[Edit]]]


@dataclass(frozen=True, slots=True)
class Offer:
    """One rung, as it stands before a call. Costs are in uncached input tokens."""

    freed: int
    """Tokens that every request from now on would be smaller by."""
    rent: float
    """What this call costs more without it."""
    saving: float
    """What every later call costs less, its cache warm."""
    price: float
    """What it costs once, but for what will be missed."""
    edits: Plan
    """Plans it; each batch is applied before the next is asked for."""


def fold(scene: Scene, tariff: Tariff, tail: int, *, cold: bool, summarizes: bool) -> Offer:
    """Offer to put a record in place of all but the newest messages, at most `tail` tokens."""
    window, budget = scene.window, scene.budget
    kept = window.tokens_from(window.cut_for_tail(tail))
    held = window.ledger.tokens["summary"]
    dropped = window.tokens - scene.fixed - kept
    record = min(
        budget.record(scene.fixed), max(held, LEAST_RECORD) + max(0, dropped - held) // TOLD
    )
    record += SUMMARY if summarizes else 0
    freed = dropped - record
    price = _rewriting(scene, tariff, freed, record + kept, cold=cold)
    if summarizes:
        asking = tariff.prices(window.tokens)
        behind = (asking.write if cold else asking.read) * window.tokens
        price += min(behind, asking.input * dropped) + asking.output * SUMMARY
    plan = partial(_fold, tail=tail)
    return _offer(scene, tariff, freed, price, plan, cold=cold)


def _fold(scene: Scene, tail: int) -> Iterator[Sequence[Edit]]:
    room = scene.budget.record(scene.fixed)
    planned = plan_fold(scene, tail=tail, record=room, reason=WHY)
    if planned is not None and planned.freed >= scene.budget.progress:
        yield (planned, *plan_tail(scene, planned.last))


def clear(scene: Scene, tariff: Tariff, tail: int, *, cold: bool) -> Offer:
    """Offer to show previews in place of the large results and arguments before the tail."""
    window = scene.window
    cut = window.cut_for_tail(tail)
    large = [k for k in range(window.head, cut) if _is_clearable(scene, window.items[k])]
    freed = sum(window.items[k].tokens - scene.budget.card for k in large)
    behind = window.tokens_from(large[0]) - freed if large else 0
    price = _rewriting(scene, tariff, freed, behind, cold=cold)
    positions = [window.items[k].position for k in large]
    plan = partial(_clear, positions=positions)
    return _offer(scene, tariff, freed, price, plan, cold=cold)


def _is_clearable(scene: Scene, item: Item) -> bool:
    entry = scene.window.entries.get(item.position)
    if entry is None or item.tokens <= 2 * scene.budget.card:
        return False
    if item.position in scene.window.rewrites or is_fetched(entry):
        return False
    return item.message.role == "tool" or has_long_arguments(item.message)


def _clear(scene: Scene, positions: Sequence[int]) -> Iterator[Sequence[Edit]]:
    edits = plan_clear(scene, positions, WHY)
    if edits:
        yield edits
        # reasoning stays: only a record's handle would reach it
        yield tuple(supersede(scene, positions[0]))


def _offer(
    scene: Scene, tariff: Tariff, freed: int, price: float, edits: Plan, *, cold: bool
) -> Offer:
    rent, saving = (_rent(scene, tariff, freed, cold=now) for now in (cold, False))
    return Offer(freed, rent, saving, price, edits)


def _rewriting(scene: Scene, tariff: Tariff, freed: int, behind: int, *, cold: bool) -> float:
    """Price what stands behind the first change: written again where it would have been read.

    What came since the last call is written whatever else is done, and so is all where the
    cache is cold.
    """
    prices = tariff.prices(scene.window.tokens - max(0, freed))
    again = 0 if cold else max(0, behind - _new(scene))
    return (prices.write - prices.read) * again


def _rent(scene: Scene, tariff: Tariff, freed: int, *, cold: bool) -> float:
    """Tell what the coming call costs more than it would with so many tokens less.

    It reads what was sent before from the cache and writes what is new; all of it is new where
    the cache is cold. A larger request may fall into a dearer tier.
    """
    tokens, smaller = scene.window.tokens, scene.window.tokens - max(0, freed)
    new = tokens if cold else min(_new(scene), smaller)
    whole = tariff.charge(tokens - new, new)
    return whole - tariff.charge(smaller - min(new, smaller), min(new, smaller))


def _new(scene: Scene) -> int:
    """Count what came since the last call."""
    return sum(scene.shown_tokens(entry) for entry in scene.window.open_entries)
