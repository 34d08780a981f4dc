"""The users' own prices, laid over what the table has."""

import pytest

from thalweg.engine import TARIFFS, ContextPolicy, ModelPricing, Pricing, RentOrBuy, Tariff
from thalweg.engine.pricing.table import NAMED_TARIFFS
from thalweg.errors import ConfigError

TIER = {"above": 50_000, "input": 2, "read": 0.2, "write": 2.5, "output": 10}


def of(
    section: dict[str, object], model: str = "claude-opus-5", provider: str = "anthropic"
) -> Tariff:
    return Pricing.from_mapping(section, where="pricing").of(provider, model).tariff


def test_figures_go_over_the_tariff_of_the_model_in_use() -> None:
    tariff = of({"read": 0.05, "output": 6, "tiers": [TIER], "minimum": 2_000})

    assert (tariff.read, tariff.output, tariff.minimum) == (0.05, 6, 2_000)
    assert tariff.prices(50_001).output == 10
    assert (tariff.name, tariff.write, tariff.base) == ("claude-opus-5", 1.25, 5)
    assert "Figures of the settings: minimum, output, read, tiers." in tariff.note


def test_or_over_one_that_is_named() -> None:
    tariff = of({"tariff": "deepseek", "read": 0.05})

    assert (tariff.name, tariff.read, tariff.block) == ("deepseek", 0.05, 64)
    assert of({"tariff": "claude-opus-5-5-1h"}) is NAMED_TARIFFS["claude-opus-5-5-1h"]
    assert of({}) is NAMED_TARIFFS["claude-opus-5"]


def test_tiers_follow_the_figures_they_are_times_of() -> None:
    """Unless tiers are passed, too."""
    tariff = of({"read": 0.05, "output": 10}, "claude-haiku-5-5")
    (tier,) = tariff.tiers

    assert (tier.input, tier.output, tier.write) == (5, 50, 6.25)
    assert tier.read == pytest.approx(0.25)
    assert of({"read": 0.05, "tiers": []}, "claude-haiku-5-5").tiers == ()


def test_null_says_that_there_is_none_where_a_tariff_may_have_none() -> None:
    tariff = of({"lifetime_s": None, "breakpoints": None, "read": None})

    assert (tariff.lifetime_s, tariff.breakpoints, tariff.read) == (None, None, 0.1)


def test_some_models_have_prices_of_their_own() -> None:
    """By the longest pattern that fits; what it omits is as for all."""
    section: dict[str, object] = {
        "output": 7,
        "models": {"my-*": {"tariff": "openai"}, "my-big-*": {"read": 0.5}, "*": {"block": 3}},
    }

    assert of(section, "acme:My-big-one", "").model_dump(include={"read", "output", "block"}) == {
        "read": 0.5,
        "output": 8.0,
        "block": 128,
    }
    assert of(section, "acme:my-small", "").read == 0.1
    assert of(section, "other", "").model_dump(include={"output", "block"}) == {
        "output": 7,
        "block": 3,
    }


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({}, "the prices of mine are unknown"),
        ({"output": 6}, "the prices of mine are unknown"),
        ({"read": 0.2}, "the prices of mine are unknown"),
        ({"read": 0.2, "write": 1.0}, ""),
        ({"tariff": "openai"}, ""),
        ({"tariff": "anthropic"}, ""),
        ({"models": {"mine": {"tariff": "openai"}}}, ""),
        ({"models": {"yours": {"tariff": "openai"}}}, "the prices of mine are unknown"),
    ],
)
def test_nothing_is_assumed_any_more_of_a_model_whose_prices_were_given(
    section: dict[str, object], said: str
) -> None:
    priced = Pricing.from_mapping(section).of("", "mine")

    assert priced.note.startswith(said)
    assert bool(priced.note) == bool(said)


def test_the_policy_weighs_by_them() -> None:
    policy = ContextPolicy.from_mapping({"pricing": {"tariff": "openai", "read": 0.5}})
    made = policy.policy(TARIFFS["anthropic"])

    assert isinstance(made, RentOrBuy)
    assert (made.tariff.name, made.tariff.read) == ("openai", 0.5)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"raed": 1}, "pricing.raed: there is no setting 'raed'; did you mean 'read'?"),
        ({"read": "x"}, "pricing.read: 'x' cannot be used; it should be a number, such as 0.8"),
        ({"read": -1}, "pricing.read: '-1' cannot be used; it should be greater than or equal "),
        ({"tariff": "opnai"}, "pricing.tariff: there is no tariff 'opnai'; did you mean 'openai'"),
        (
            {"tariff": "zzz"},
            "pricing.tariff: there is no tariff 'zzz'; use anthropic, anthropic-1h, openai, ",
        ),
        (
            {"tiers": [{**TIER, "abov": 1}]},
            "pricing.tiers[0].abov: there is no setting 'abov'; did you mean 'above'?",
        ),
        (
            {"tiers": [TIER, TIER]},
            "pricing.tiers: the sizes 50000, 50000 do not grow; list each tier once, ",
        ),
        (
            {"models": {"my*": {"raed": 1}}},
            "pricing.models.my*.raed: there is no setting 'raed'; did you mean 'read'?",
        ),
        ({"unit": "EUR"}, "pricing.unit: 'EUR' cannot be used; it should be 'USD' or 'seconds'"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_path_and_a_remedy(
    section: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        of(section)

    assert str(caught.value).startswith(said)


def test_pricing_written_as_json_reads_back() -> None:
    """The result has no more than the original."""
    pricing = Pricing(read=0.2, lifetime_s=None, models={"my*": ModelPricing(tariff="openai")})
    again = Pricing.model_validate_json(pricing.model_dump_json(exclude_unset=True))

    assert again == pricing
    assert again.of("", "other") == pricing.of("", "other")
