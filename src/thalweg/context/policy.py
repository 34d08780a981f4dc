"""Policies: when to compact, and what.

A policy is a generator of edits. Whoever runs it stores what an edit takes out of the view,
applies the edit, and only then lets the policy look again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from thalweg.context.edits import Edit
from thalweg.context.offers import Costs, Offer, clear, fold
from thalweg.context.plan import is_fetched, plan_arrivals
from thalweg.context.pricing import Tariff
from thalweg.context.rent import Meter
from thalweg.context.savings import Forecast
from thalweg.context.scene import Scene
from thalweg.context.squeeze import squeeze


class Policy(Protocol):
    """When to compact a thread, and what to do then. One object serves one thread."""

    @property
    def memory(self) -> dict[str, float]:
        """What it goes on from: nothing, unless it says otherwise.

        Whoever stops and starts it again keeps this and puts it back.
        """
        return {}

    def prepare(self, scene: Scene, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """Make edits before a model call, in batches; each is applied before the next is asked.

        Args:
            scene: The window as it stands, and what may be done with it.
            cold: Whether the provider's cache has forgotten the prefix anyway.
        """
        ...


@dataclass(slots=True)
class RentOrBuy:
    """Compact when re-reading what it would drop has cost as much as doing it (rent = buy).

    There are two rungs: old tool results and arguments become previews (`offers.clear`), and
    all but the newest messages become a record (`offers.fold`). For each, every call pays rent
    on the tokens that the rung would free: they are read again, at the cached price; at the
    price of writing where the cache is cold; at a dearer tier where the request has grown into
    one. The price of a rung is rewriting what stands behind its first change (nothing, where
    the cache is cold), what it puts in place of what it drops, a summary, and fetching back
    what will be missed, as estimated from what was; for a model that binds its reasoning, thinking
    again what the change discards. When the rent has added up to the price,
    the rung is taken (`Meter`). No forecast is needed.

    Below it, hard ceilings: a request that would not fit is squeezed, whatever it costs.
    """

    tariff: Tariff
    summarizes: bool = False
    """Whether a model writes a summary of what is folded: its cost is part of the price."""
    memory: dict[str, float] = field(default_factory=dict)
    """`fold`, `clear`: rent paid since the rung was last taken. `freed`: tokens that were; and
    `missed`: what fetching back some of them has cost, up to position `seen`."""

    PRIOR_FREED = 50_000
    PRIOR_MISSED = 0.075
    """What a freed token is taken to cost in fetches until so many were freed. A guess: on
    recorded sessions any value from 0 to 0.15 costs the same within 2 %."""
    NEAR = 0.9
    """Share of its price from which a fold is made where a clear is due, of a model that binds its
    reasoning: both discard the same."""
    MOST_CAUTION = 2.0
    """How much longer the tail may become, where the model keeps fetching back what left."""

    def prepare(self, scene: Scene, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """See `Policy.prepare`."""
        yield plan_arrivals(scene)
        self._see_what_was_missed(scene)
        tail = int(scene.budget.tail(scene.fixed) * self.caution)
        costs = Costs.of(scene, self.tariff, cold=cold)
        rungs = {
            "fold": fold(scene, costs, tail, summarizes=self.summarizes),
            "clear": clear(scene, costs, tail),
        }
        due = [name for name, offer in rungs.items() if self._is_due(name, offer, scene)]
        if scene.binds and due == ["clear"] and self._is_near("fold", rungs["fold"], scene):
            due = ["fold"]  # either discards the same reasoning: once is enough
        if due and scene.window.tokens <= scene.budget.limit:
            yield from self._taken(due[0], self._foretold(rungs[due[0]], scene))
        for batch in squeeze(scene):
            yield from self._taken("fold", [batch])

    @property
    def missed(self) -> float:
        """What fetching back costs for each token freed, estimated from what it has cost."""
        cost, freed = self.memory.get("missed", 0.0), self.memory.get("freed", 0.0)
        return (self.PRIOR_MISSED * self.PRIOR_FREED + cost) / (self.PRIOR_FREED + freed)

    @property
    def caution(self) -> float:
        """By how much more stays word for word where more is missed than was expected."""
        return min(self.MOST_CAUTION, max(1.0, self.missed / self.PRIOR_MISSED))

    def _is_due(self, name: str, offer: Offer, scene: Scene) -> bool:
        meter = Meter(self.memory.get(name, 0.0))
        due = meter.is_due(offer.rent, self._price(offer))
        self.memory[name] = meter.paid
        return due and offer.freed > scene.budget.progress

    def _is_near(self, name: str, offer: Offer, scene: Scene) -> bool:
        """Tell whether the rent of a rung has reached a good part of its price."""
        near = self.memory[name] >= self.NEAR * self._price(offer)
        return near and offer.freed > scene.budget.progress

    def _price(self, offer: Offer) -> float:
        return offer.price + self.missed * max(0, offer.freed)

    def _foretold(self, offer: Offer, scene: Scene) -> Iterator[Sequence[Edit]]:
        """Plan what is offered; the first edit says what was expected of all of them."""
        forecast = Forecast(self._price(offer), offer.saving, scene.turn)
        batches = offer.edits(scene)
        for first, *others in batches:
            yield (replace(first, forecast=forecast), *others)
            yield from batches

    def _taken(self, name: str, batches: Iterable[Sequence[Edit]]) -> Iterator[Sequence[Edit]]:
        for batch in batches:
            yield batch
            freed = sum(max(0, edit.freed) for edit in batch)
            self.memory["freed"] = self.memory.get("freed", 0.0) + freed
        if name == "clear":  # the rent of what is cleared has bought that, and buys no fold
            self.memory["fold"] = max(0.0, self.memory["fold"] - self.memory["clear"])
        self.memory["clear"] = self.memory[name] = 0.0

    def _see_what_was_missed(self, scene: Scene) -> None:
        """Price what the model has fetched back since the last call: a turn more, and its words."""
        prices, seen = self.tariff.prices(scene.window.tokens), self.memory.get("seen", -1.0)
        for entry in scene.window.open_entries:
            if entry.position > seen and is_fetched(entry):
                cost = prices.read * scene.window.tokens + prices.write * entry.tokens
                self.memory["missed"] = self.memory.get("missed", 0.0) + cost
                self.memory["seen"] = entry.position
