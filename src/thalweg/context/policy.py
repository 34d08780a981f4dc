"""Policies: when to compact, and what.

A policy is a generator of edits. Whoever runs it stores what an edit takes out of the view,
applies the edit, and only then lets the policy look again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from thalweg.context.edits import Edit, Reason
from thalweg.context.plan import plan_arrivals, plan_fold, plan_tail
from thalweg.context.pricing import Tariff
from thalweg.context.scene import Scene
from thalweg.context.squeeze import squeeze


class Policy(Protocol):
    """When to compact a thread, and what to do then. One object serves one thread."""

    def prepare(self, scene: Scene, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """Make edits before a model call, in batches; each is applied before the next is asked.

        Args:
            scene: The window as it stands, and what may be done with it.
            cold: Whether the provider's cache has forgotten the prefix anyway.
        """
        ...


@dataclass(slots=True)
class RentOrBuy:
    """Fold when re-reading what a fold would drop has cost as much as folding it (rent = buy).

    Every call pays rent on the tokens that a fold would free: they are read again, at the
    cached price. The price of a fold is rewriting what stands behind the cut, writing the
    record, and fetching back what will be missed. When the rent has added up to the price,
    fold. The rule needs no forecast; for one choice between renting and buying it costs at most
    twice the best in hindsight (Karlin et al., "Competitive snoopy caching", 1988). Where the
    cache is cold, rewriting costs nothing extra, and only the record and what will be missed
    have to pay.

    Below it, hard ceilings: a request that would not fit is squeezed, whatever it costs.
    """

    tariff: Tariff
    summarizes: bool = False
    """Whether a model writes a summary of what is folded: its cost is part of the price."""
    rent: float = 0.0
    """In tokens at the base price, since the last fold."""

    SUMMARY = 600
    """Tokens of a summary: what the prompt asks for, and its headings."""
    MISSED = 0.06
    """Share of freed tokens that is fetched back later, at the price of writing them. A guess:
    on recorded sessions any value from 0 to 0.12 costs the same within 2 %."""

    def prepare(self, scene: Scene, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """See `Policy.prepare`."""
        yield plan_arrivals(scene)
        window, budget = scene.window, scene.budget
        tail, room = budget.tail(scene.fixed), budget.record(scene.fixed)
        freed, kept, record = self._effect(scene, tail, room)
        self.rent += self.tariff.read * max(0, freed)
        rewriting = 0.0 if cold else (self.tariff.write - self.tariff.read) * kept
        price = rewriting + self.tariff.write * (record + self.MISSED * freed)
        if self.summarizes:
            price += self.tariff.read * window.tokens + self.tariff.output * self.SUMMARY
        if freed > budget.progress and self.rent >= price and window.tokens <= budget.limit:
            yield from self._fold(scene, "re-reading it has cost as much as dropping it")
        for batch in squeeze(scene):
            self.rent = 0.0
            yield batch

    def _effect(self, scene: Scene, tail: int, room: int) -> tuple[int, int, int]:
        """Estimate tokens a fold would free, tokens behind its cut, and those of its record."""
        window = scene.window
        cut = window.cut_for_tail(tail)
        kept = window.tokens_from(cut)
        held = window.ledger.tokens["summary"]
        dropped = window.tokens - scene.fixed - kept
        record = min(room, max(held, 600) + (dropped - held) // 12)
        return dropped - record, kept, record

    def _fold(self, scene: Scene, reason: Reason) -> Iterator[Sequence[Edit]]:
        tail, room = scene.budget.tail(scene.fixed), scene.budget.record(scene.fixed)
        fold = plan_fold(scene, tail=tail, record=room, reason=reason)
        if fold is not None and fold.freed >= scene.budget.progress:
            yield (fold, *plan_tail(scene, fold))
        self.rent = 0.0
