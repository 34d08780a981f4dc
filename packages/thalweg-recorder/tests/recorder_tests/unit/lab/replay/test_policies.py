"""Policies by the names that users type."""

import pytest

from thalweg.engine.compaction.policy import RentOrBuy, Thresholds
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.window.budget import Budget
from thalweg.errors import ConfigError
from thalweg_recorder.replay.policies import (
    POLICIES,
    POLICY_FACTORIES,
    parse_policy,
    policy_named,
)

TARIFF = TARIFFS["anthropic"]
BUDGET = Budget(window=128_000)


def test_these_names_are_known() -> None:
    """Documents and scripts use them."""
    assert POLICIES == (
        "thalweg",
        "thalweg-frugal",
        "thalweg-careful",
        "thalweg-record",
        "deepagents",
        "deerflow",
        "langchain",
        "none",
        "recorded",
    )


@pytest.mark.parametrize("name", [*POLICY_FACTORIES, "thalweg@0.25"])
def test_every_name_makes_a_policy(name: str) -> None:
    """One that can be asked."""
    assert callable(policy_named(name, TARIFF, BUDGET).prepare)


def test_each_thread_gets_a_policy_of_its_own() -> None:
    """Rent that one thread has paid is no other's."""
    one, two = policy_named("thalweg", TARIFF, BUDGET), policy_named("thalweg", TARIFF, BUDGET)

    assert isinstance(one, RentOrBuy)
    assert one is not two


def test_the_policy_knows_the_prices_and_whether_a_model_summarizes() -> None:
    """It weighs by both."""
    policy = policy_named("thalweg", TARIFFS["deepseek"], BUDGET)
    record = policy_named("thalweg-record", TARIFFS["deepseek"], BUDGET)

    assert isinstance(policy, RentOrBuy)
    assert isinstance(record, RentOrBuy)
    assert policy.tariff.name == record.tariff.name == "deepseek"
    assert (policy.summarizes, record.summarizes) == (True, False)


def test_a_fixed_trigger_differs_only_in_when_it_acts() -> None:
    """It keeps what the default keeps."""
    policy = policy_named("thalweg@0.25", TARIFF, BUDGET)

    assert isinstance(policy, Thresholds)
    assert [t.value for t in policy.triggers] == [0.25]
    assert policy.keep.value == BUDGET.tail(0)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("thalwek", "there is no policy 'thalwek'; did you mean thalweg? use thalweg, thalweg-"),
        ("peer:deepagents", "there is no policy 'peer:deepagents'"),
        ("zzz", "there is no policy 'zzz'; use thalweg"),
        ("none@0.5", "none has no trigger to set; write none, or one of thalweg with @"),
        ("thalweg@2", "'2' in 'thalweg@2' is not a share of the window; write one above 0"),
        ("thalweg@half", "'half' in 'thalweg@half' is not a share of the window"),
        ("thalweg@", "'' in 'thalweg@' is not a share of the window"),
    ],
)
def test_a_name_that_is_none_is_told_the_nearest(name: str, told: str) -> None:
    """In one sentence."""
    with pytest.raises(ConfigError) as caught:
        parse_policy(name)

    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
