"""Rent = buy: what the rule promises, for one choice and for the policy that is based on it."""

from dataclasses import dataclass, field
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.property.driving import Drive
from core_tests.property.strategies import Scenario
from core_tests.unit.engine.threads import steps, user
from thalweg.engine.compaction.offers import CandidateAction
from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.policy import AccumulatedCost, RentOrBuy
from thalweg.engine.pricing.tariff import Tariff, Tier
from thalweg.engine.window.budget import Budget

RENTS = st.lists(st.floats(0, 1e5), max_size=200)
PRICES = st.floats(1, 1e6)


@given(RENTS, PRICES)
def test_buying_costs_at_most_twice_the_better_of_never_and_at_once(
    rents: list[float], price: float
) -> None:
    """For any costs of the calls and any number of them, for one choice at a fixed price."""
    meter, cost = AccumulatedCost(), 0.0
    for rent in rents:
        if meter.is_due(rent, price):
            cost += price
            break
        cost += rent

    assert cost <= 2 * min(sum(rents), price)


@given(st.floats(1, 1e4), PRICES)
def test_constant_inflow_is_bought_at_the_interval_that_costs_least(
    growth: float, price: float
) -> None:
    """The rule that sees nothing ahead agrees with the closed form, sqrt(2 price / growth)."""
    meter, calls = AccumulatedCost(), 0
    while not meter.is_due(growth * calls, price):
        calls += 1

    def a_call(interval: int) -> float:
        return (price + growth * interval * (interval - 1) / 2) / interval

    best = min(range(1, 2 * calls + 2), key=a_call)
    assert abs(calls - (2 * price / growth) ** 0.5) <= 1
    assert a_call(calls) <= a_call(best) * (1 + 1e-9)


CALLS = st.lists(st.tuples(st.floats(0, 1e3), st.floats(0, 1e3)), max_size=200)


@given(CALLS, st.floats(1, 1e4), st.floats(1, 1e4), st.sampled_from([0.05, 0.4, 1.0, 2.0, 4.0]))
def test_both_directions_cost_at_most_a_constant_times_the_best_in_hindsight(
    calls: list[tuple[float, float]], remove: float, bring_back: float, share: float
) -> None:
    """Decision 0080: content in the request pays rent, content out of it repeated reads.

    What a call would have read again if it were out is subtracted from the rent.
    """
    price = remove + bring_back
    out_at, back_at = remove + share * bring_back, min(1.0, share) * price
    meter, is_in, cost = AccumulatedCost(), True, 0.0
    best_in, best_out = 0.0, remove
    for rent, reads in calls:
        best_in, best_out = (
            min(best_in, best_out + bring_back) + rent,
            min(best_out, best_in + remove) + reads,
        )
        if is_in and meter.is_due(rent, out_at):
            is_in, meter = False, AccumulatedCost()
            cost += remove
        if is_in:
            cost += rent
            meter.paid = max(0.0, meter.paid - reads)
            continue
        cost += reads
        if meter.is_due(reads, back_at):
            is_in, meter = True, AccumulatedCost()
            cost += bring_back
    last_read = max((reads for _, reads in calls), default=0.0)
    one_cycle = 2 * out_at + back_at + last_read + price
    constant = max(1.0, out_at / price) + one_cycle / min(out_at, back_at, price)

    assert cost <= constant * (min(best_in, best_out) + remove) + one_cycle


@dataclass(slots=True)
class Watched(RentOrBuy):
    """Notes the rent paid when a stage is applied, and the highest price since it was last."""

    bought: list[tuple[float, float]] = field(default_factory=list)
    highest: dict[str, float] = field(default_factory=dict)

    def _is_due(self, name: str, offer: CandidateAction, scene: PlanningContext) -> bool:
        paid = self.memory.get(name, 0.0)
        price = self._price(offer, scene)
        worth = offer.freed > scene.budget.progress
        self.highest[name] = max(self.highest.get(name, 0.0), price if worth else inf)
        # no zero-argument `super` in a dataclass with slots
        due = RentOrBuy._is_due(self, name, offer, scene)  # noqa: SLF001
        if due:
            self.bought.append((paid, self.highest.pop(name)))
        return due


TARIFFS = st.builds(
    Tariff,
    name=st.just("random"),
    read=st.floats(0.01, 0.5),
    write=st.floats(1, 2),
    output=st.floats(1, 10),
)


@settings(max_examples=20, deadline=None)
@given(
    tariff=TARIFFS,
    sizes=st.lists(st.integers(1, 200), min_size=20, max_size=60),
    summarizes=st.booleans(),
    cold=st.frozensets(st.integers(0, 300), max_size=5),
)
def test_no_rung_is_paid_for_twice_over(
    tariff: Tariff, sizes: list[int], *, summarizes: bool, cold: frozenset[int]
) -> None:
    """The rent paid before a stage is applied is less than what it would have cost."""
    messages = (user("Go"), *(m for size in sizes for m in steps(1, size)))
    policy = Watched(tariff, summarizes=summarizes)
    Drive(Scenario(messages, Budget(window=400_000), "anthropic", cold=cold), policy=policy).run()

    assert all(paid < price for paid, price in policy.bought)


def test_a_request_is_kept_below_a_dearer_tier() -> None:
    """One call above the step would cost more than the fold: it comes before that call."""
    step = Tier(above=50_000, input=5.0, read=0.5, write=6.25, output=25.0)
    flat = Tariff(name="flat", read=0.001, write=1.0)
    messages = (user("Go"), *steps(600, 60))
    peaks = []
    for tariff in (flat, flat.model_copy(update={"tiers": (step,)})):
        policy = RentOrBuy(tariff)
        driven = Drive(Scenario(messages, Budget(window=400_000), "anthropic"), policy=policy)
        peaks.append(max(request.tokens for request in driven.run().requests))

    assert peaks[0] > 50_000 >= peaks[1]
