"""Rent or buy: when a fold has paid, when it cannot pay, and when it must be."""

from collections.abc import Iterator, Sequence

import pytest

from tests.property.driving import Drive
from tests.property.strategies import Scenario
from tests.unit.context.threads import run, steps, user
from thalweg.context.budget import Budget
from thalweg.context.edits import Edit, Fold
from thalweg.context.policy import RentOrBuy
from thalweg.context.scene import Scene
from thalweg.context.tariffs import TARIFFS


class Never:
    """A policy that never folds, to compare with."""

    def prepare(self, scene: Scene, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """See `Policy.prepare`."""
        assert scene.turn >= int(cold)
        return iter(())


def _folds(drive: Drive) -> list[Fold]:
    return [e for e in drive.engine.history if isinstance(e, Fold)]


def test_a_short_thread_is_never_touched() -> None:
    """Below every ceiling and without rent there is no edit at all."""
    assert run([user("Go"), *steps(5, 10)], window=200_000).engine.history == []


def test_a_long_thread_in_a_large_window_folds_when_the_rent_has_paid_for_it() -> None:
    """Long before the window is full, and by choice."""
    driven = run([user("Go"), *steps(300, 60)], window=400_000)

    assert _folds(driven)
    assert all("cost as much" in f.reason for f in _folds(driven))
    assert max(r.tokens for r in driven.requests) < 200_000


def test_a_cold_cache_makes_a_fold_cheaper_and_so_earlier() -> None:
    """Rewriting costs nothing extra there; the same thread never folds later when cold."""
    messages = (user("Go"), *steps(200, 60))
    budget = Budget(window=400_000)
    first = {}
    for cold in (frozenset[int](), frozenset(range(len(messages)))):
        driven = Drive(Scenario(messages, budget, "anthropic", cold=cold)).run()
        first[bool(cold)] = _folds(driven)[0].turn

    assert first[True] < first[False]


def test_the_hard_ceiling_holds_whatever_it_costs() -> None:
    """Where reading is free, only the window makes it fold."""
    free = TARIFFS["anthropic"].model_copy(update={"read": 0.0})
    messages = (user("Go"), *steps(60, 60))
    driven = Drive(
        Scenario(messages, Budget(window=8_000), "anthropic"), policy=RentOrBuy(free)
    ).run()

    assert {f.reason for f in _folds(driven)} == {"the request would not fit"}
    assert all(r.tokens <= 7_000 for r in driven.requests)


def test_the_rent_never_exceeds_twice_the_best_in_hindsight() -> None:
    """Between folds the rent is at most one call above the price."""
    policy = RentOrBuy(TARIFFS["anthropic"])
    messages = (user("Go"), *steps(300, 60))
    driven = Drive(Scenario(messages, Budget(window=400_000), "anthropic"), policy=policy)
    most = 0.0

    def watch(_: Drive) -> None:
        nonlocal most
        most = max(most, policy.rent)

    driven.run(watch)
    assert most < 2 * 1.25 * (12_000 + 8_000 + 0.06 * 200_000)


def test_without_a_policy_the_thread_is_sent_as_it_is() -> None:
    """Replaying a log with no policy gives the original messages (I24)."""
    messages = (user("Go"), *steps(20))
    driven = Drive(Scenario(messages, Budget(window=2_000), "anthropic"), policy=Never()).run()

    assert tuple(driven.requests[-1].messages) == messages


@pytest.mark.parametrize("name", sorted(TARIFFS))
def test_reading_is_cheaper_than_writing_in_every_tariff(name: str) -> None:
    """Otherwise the rule would have nothing to decide."""
    assert 0 < TARIFFS[name].read < 1 <= TARIFFS[name].write
