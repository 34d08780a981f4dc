"""Policies by the names that users type."""

import pytest

from thalweg.context.budget import Budget
from thalweg.context.policy import RentOrBuy
from thalweg.context.pricing import TARIFFS
from thalweg.errors import ConfigError
from thalweg.replay.policies import POLICIES, policy_named

TARIFF = TARIFFS["anthropic"]
BUDGET = Budget(window=128_000)


def test_these_names_are_known() -> None:
    """They stand in documents and scripts."""
    assert list(POLICIES) == ["thalweg", "deepagents", "deerflow", "langchain", "none"]


@pytest.mark.parametrize("name", POLICIES)
def test_every_name_makes_a_policy(name: str) -> None:
    """One that can be asked."""
    assert callable(policy_named(name, TARIFF, BUDGET).prepare)


def test_each_thread_gets_a_policy_of_its_own() -> None:
    """Rent that one thread has paid is no other's."""
    one, two = policy_named("thalweg", TARIFF, BUDGET), policy_named("thalweg", TARIFF, BUDGET)

    assert isinstance(one, RentOrBuy)
    assert one is not two


def test_the_policy_knows_the_prices() -> None:
    """It weighs by them."""
    policy = policy_named("thalweg", TARIFFS["deepseek"], BUDGET)

    assert isinstance(policy, RentOrBuy)
    assert policy.tariff.name == "deepseek"


def test_an_unknown_name_is_told_the_known_ones() -> None:
    """In one sentence."""
    with pytest.raises(ConfigError, match=r"'thalwek'.*thalweg, deepagents") as caught:
        policy_named("thalwek", TARIFF, BUDGET)

    assert "\n" not in str(caught.value)
