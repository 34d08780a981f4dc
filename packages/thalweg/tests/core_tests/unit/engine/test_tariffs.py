"""The table of prices: what every row has, and figures that others quote."""

from datetime import date

import pytest
from pydantic import ValidationError

from thalweg.engine.pricing.table import LOCAL, MODELS, NAMED_TARIFFS, TARIFFS
from thalweg.engine.pricing.tariff import Tariff, Tier

FIRST_DAY, LAST_DAY = date(2026, 8, 1), date(2026, 12, 1)


@pytest.mark.parametrize("name", sorted(NAMED_TARIFFS))
def test_every_row_says_where_and_when_it_was_read_and_what_its_unit_is_worth(name: str) -> None:
    tariff = NAMED_TARIFFS[name]
    assert tariff.name == name
    assert tariff.source.startswith("https://")
    assert tariff.dated is not None
    assert FIRST_DAY <= tariff.dated < LAST_DAY
    assert tariff.base


@pytest.mark.parametrize("name", sorted(NAMED_TARIFFS))
def test_a_row_is_one_that_a_provider_could_ask(name: str) -> None:
    """Reads are no dearer than input, writes no cheaper, and a larger request never costs less."""
    tariff = NAMED_TARIFFS[name]
    assert 0 < tariff.read <= 1 <= tariff.write
    before = tariff.prices(1)
    for tier in tariff.tiers:
        assert tariff.prices(tier.above) == before
        assert tariff.prices(tier.above + 1) == tier
        assert tier.input > before.input
        assert tier.output > before.output
        assert tier.read == pytest.approx(tariff.read * tier.input, abs=1e-3)
        assert tier.write == pytest.approx(tariff.write * tier.input)
        before = tier


def test_no_name_stands_twice() -> None:
    rows = [tariff.name for tariffs in MODELS.values() for tariff in tariffs]
    assert len(rows) == len(set(rows))
    assert set(rows) <= set(NAMED_TARIFFS)


def test_the_families_ask_what_is_quoted_of_them() -> None:
    quoted = {"anthropic": (0.1, 1.25), "anthropic-1h": (0.1, 2.0), "openai": (0.1, 1.0)}
    quoted |= {"gemini": (0.1, 1.0), "deepseek": (0.02, 1.0), "qwen": (0.2, 1.0)}
    quoted |= {"kimi": (0.2, 1.0)}
    assert {n: (TARIFFS[n].read, TARIFFS[n].write) for n in quoted} == quoted


REWRITING = [
    ("anthropic", 11.5),
    ("anthropic-1h", 19),
    ("claude-opus-5-5", 24),
    ("claude-sonnet-5-5-1h", 39),
    ("claude-fable-5-1", 49),
    ("gpt-5.1", 9),
    ("gemini-2.5-pro", 9),
    ("gpt-6-sol", 11.5),
    ("deepseek-flash", 49),
    ("deepseek-v4-pro", 29),
    ("kimi", 4),
    ("qwen", 4),
]


@pytest.mark.parametrize(("name", "reads"), REWRITING)
def test_writing_a_prefix_anew_costs_so_many_reads_of_it(name: str, reads: float) -> None:
    assert NAMED_TARIFFS[name].rewriting == pytest.approx(reads, rel=0.002)


def test_where_reading_is_free_rewriting_costs_any_number_of_reads() -> None:
    assert Tariff(name="free", read=0, write=1).rewriting == float("inf")


DOLLARS = [
    # name, tokens of the request, then a million of input, cached, written, answered
    ("claude-haiku-5-5", 100_000, 0.1, 0.01, 0.125, 0.5),
    ("claude-haiku-5-5", 100_001, 0.5, 0.05, 0.625, 2.5),
    ("claude-haiku-5-5-1h", 100_001, 0.5, 0.05, 1.0, 2.5),
    ("claude-sonnet-4-5", 200_001, 6, 0.6, 7.5, 22.5),
    ("gpt-6-luna", 272_001, 0.2, 0.02, 0.25, 0.75),
    ("gpt-5.5", 272_001, 10, 1, 10, 45),
    ("gemini-3-pro", 200_001, 4, 0.4, 4, 18),
    ("deepseek-v4-pro", 500_000, 0.66, 0.022, 0.66, 1.98),
    ("kimi-k3-1h", 10_000, 3, 0.3, 6, 15),
]


@pytest.mark.parametrize(("name", "tokens", "plain", "cached", "written", "answer"), DOLLARS)
def test_a_request_costs_what_the_page_of_the_provider_says(
    name: str, tokens: int, plain: float, cached: float, written: float, answer: float
) -> None:
    held = NAMED_TARIFFS[name].prices(tokens)
    ratios = held.input, held.read, held.write, held.output
    costs = [NAMED_TARIFFS[name].cost_of(1_000_000 * ratio) for ratio in ratios]
    assert costs == pytest.approx([plain, cached, written, answer], rel=0.002)


def test_an_hour_of_cache_is_another_price_for_writing_and_nothing_else() -> None:
    for name in [name for name in NAMED_TARIFFS if name.endswith("-1h")]:
        short, long = NAMED_TARIFFS[name.removesuffix("-1h")], NAMED_TARIFFS[name]
        assert (short.lifetime_s, long.lifetime_s, long.write) == (300, 3_600, 2.0)
        same = {"read", "output", "minimum", "breakpoints", "lookback", "base", "source"}
        assert long.model_dump(include=same) == short.model_dump(include=same)


def test_a_model_of_ones_own_costs_the_time_it_takes() -> None:
    """To read what is new and to write the answer."""
    mine = Tariff.local(prefill_per_s=500, decode_per_s=20)
    assert mine.unit == LOCAL.unit == "seconds"
    assert mine.cost_of(1_000 + mine.output * 100) == pytest.approx(1_000 / 500 + 100 / 20)
    assert TARIFFS["local"] is LOCAL
    assert LOCAL.lifetime_s is None


def test_what_a_unit_is_worth_may_not_be_known() -> None:
    assert Tariff(name="mine", read=0.1, write=1).cost_of(7) is None


def test_tiers_that_do_not_grow_are_refused() -> None:
    tier = Tier(above=10, input=2, read=1, write=2, output=2)
    with pytest.raises(ValidationError, match="the sizes 10, 10 do not grow; list each tier once"):
        Tariff(name="mine", read=0.1, write=1, tiers=(tier, tier))
