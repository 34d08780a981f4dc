"""Forecasts and realised gains, in numbers worked out by hand."""

import math
from dataclasses import replace

import pytest

from thalweg.engine.edits import Evict, Fold, forecast_of, main_reason
from thalweg.engine.pricing.savings import ChargedRequest, Forecast, RequestChanges, Saving, Savings
from thalweg.engine.pricing.tariff import Tariff, Tier
from thalweg.engine.serialization import (
    edit_from_plain,
    edit_to_plain,
    snapshot_from_bytes,
    snapshot_to_bytes,
)
from thalweg.engine.snapshot import EngineSnapshot

FORECAST = Forecast(price=2_000.0, saving=100.0, calls=50)


def fold(forecast: Forecast | None) -> Fold:
    """Make a fold of the first ten messages."""
    return Fold(
        reason="re-reading it has cost as much as dropping it",
        turn=50,
        tokens_before=1_500,
        tokens_after=500,
        last=9,
        kept=(),
        record="What happened.",
        forecast=forecast,
    )


def test_a_forecast_says_when_it_breaks_even_and_what_is_left_over() -> None:
    """2,000 come back at 100 a call after 20 of the 50 calls; the other 30 are the gain."""
    assert FORECAST.break_even == 20
    assert FORECAST.gain == 3_000


@pytest.mark.parametrize("saving", [0.0, -5.0])
def test_what_saves_nothing_never_breaks_even(saving: float) -> None:
    """A record may be larger than what it replaces."""
    assert Forecast(price=10.0, saving=saving, calls=5).break_even == math.inf


@pytest.mark.parametrize("forecast", [FORECAST, None])
def test_a_fold_keeps_its_forecast_when_it_is_saved(forecast: Forecast | None) -> None:
    """In the journal's page and in an engine's saved state alike."""
    made = fold(forecast)

    assert edit_from_plain(edit_to_plain(made)) == made
    assert snapshot_from_bytes(snapshot_to_bytes(EngineSnapshot(fold=made))).fold == made


def test_a_fold_saved_before_there_were_forecasts_has_none() -> None:
    """What is in archives since then must be read for ever."""
    plain = edit_to_plain(fold(None))

    assert "forecast" not in plain
    assert edit_from_plain(plain) == fold(None)
    old = edit_from_plain({k: v for k, v in plain.items() if not k.startswith("summary_")})
    assert isinstance(old, Fold)
    assert (old.summary_input, old.summary_output) == (0, 0)


def test_edits_made_together_have_one_forecast() -> None:
    """Where two folds were needed, the second was not foreseen."""
    evict = Evict(
        reason="re-reading it has cost as much as dropping it",
        turn=50,
        tokens_before=90,
        tokens_after=10,
        position=3,
        parts=(),
    )

    assert forecast_of([evict, fold(FORECAST)]) == FORECAST
    assert forecast_of([replace(evict, forecast=FORECAST), evict]) == FORECAST
    assert forecast_of([fold(FORECAST), fold(None)]) is None
    assert forecast_of([evict]) is None


def test_edits_made_together_have_the_reason_of_the_fold() -> None:
    """Or else of the one that freed most."""
    arrived = Evict(
        reason="arrived too large",
        turn=50,
        tokens_before=90_000,
        tokens_after=10,
        position=3,
        parts=(),
    )
    stale = replace(arrived, reason="a newer read or write made it stale", tokens_before=9_000)

    assert main_reason([arrived, fold(None)]) == fold(None).reason
    assert main_reason([stale, arrived]) == "arrived too large"


FLAT = Tariff(name="flat", read=0.1, write=1.25, minimum=1)


def sent(tokens: int, same: int, cached: int, *, tariff: Tariff = FLAT) -> ChargedRequest:
    """Send a request."""
    return ChargedRequest(
        tariff=tariff, tokens=tokens, cached=cached, written=tokens - cached, same=same
    )


def changed(turn: int, freed: int, *took: int) -> RequestChanges:
    """Free some tokens before a call."""
    return RequestChanges(turn=turn, reason="asked for", freed=freed, took=took)


def test_a_cache_lost_in_part_is_paid_for_by_what_stood_behind_the_loss() -> None:
    """What was freed near the beginning would have been found; what was freed later would not."""
    savings = Savings()
    savings.call(sent(10_000, 0, 0))
    savings.call(sent(9_000, 8_000, 8_000), changed(2, 1_000))
    savings.call(sent(8_000, 1_000, 1_000), changed(3, 1_000))
    late, early = (line.saved for line in savings.lines())
    savings.call(sent(8_000, 8_000, 4_000))
    later, earlier = (line.saved for line in savings.lines())

    assert later - late == pytest.approx(1.25 * 1_000)
    assert earlier - early == pytest.approx(0.1 * 1_000)


def test_a_cliff_of_the_prices_is_credited_to_the_change_that_avoids_it() -> None:
    """Over 10,000 tokens the whole request has five times the price."""
    dear = Tier(above=10_000, input=5.0, read=0.5, write=6.25, output=25.0)
    tariff = FLAT.model_copy(update={"tiers": (dear,)})
    savings = Savings()
    savings.call(sent(10_000, 0, 0, tariff=tariff))
    savings.call(sent(8_500, 8_000, 8_000, tariff=tariff), changed(2, 2_000))
    first = savings.lines()[0].saved
    savings.call(sent(8_500, 8_500, 8_500, tariff=tariff))
    (line,) = savings.lines()

    assert line.saved - first == pytest.approx(0.5 * 10_500 - 0.1 * 8_500)
    assert line.forecast.saving == pytest.approx(0.5 * 10_500 - 0.1 * 8_500)


def test_what_was_fetched_back_is_charged_to_who_took_it_first() -> None:
    """A fold of what was evicted before did not take its words; if no edit did, the newest."""
    savings = Savings()
    savings.fetch(3, 10.0)
    savings.call(sent(10_000, 0, 0))
    savings.call(sent(9_000, 5_000, 5_000), changed(2, 1_000, 3))
    savings.call(sent(8_000, 5_000, 5_000), changed(3, 1_000, 3, 4))
    savings.fetch(3, 100.0)
    savings.fetch(4, 20.0)
    savings.fetch(99, 3.0)

    assert [line.fetched for line in savings.lines()] == [100.0, 23.0]


def test_what_was_fetched_back_is_saved_no_more() -> None:
    """From then on; what was saved until then is kept."""
    savings = Savings(window=9_500)
    savings.call(sent(10_000, 0, 0))
    savings.call(sent(9_000, 9_000, 9_000), changed(2, 1_000, 3))
    savings.fetch(3, 0.0, tokens=400)
    savings.call(sent(9_400, 9_000, 9_000))
    (line,) = savings.lines()

    assert line.saved == pytest.approx(0.1 * 1_000 + 0.1 * 600)
    assert savings.beyond == pytest.approx(0.1 * 500 + 0.1 * 500)


def test_a_prefix_too_short_for_the_cache_makes_every_call_dear() -> None:
    """The rest pays the full price with each call; what was there had been cached."""
    tariff = FLAT.model_copy(update={"minimum": 1_024})
    savings = Savings()
    savings.call(sent(2_000, 0, 0, tariff=tariff))
    for change in (changed(2, 1_000), None):
        request = ChargedRequest(tariff=tariff, tokens=1_000, cached=0, written=0, same=1_000)
        savings.call(request, change)
    (line,) = savings.lines()

    assert line.realised == pytest.approx(2 * (0.1 * 2_000 - 1.0 * 1_000))


def test_the_fields_of_a_line_add_up() -> None:
    """As `--json` prints them; what never breaks even has no number of calls."""
    line = Saving(
        turn=3,
        reason="asked for",
        forecast=Forecast(price=10.0, saving=-1.0, calls=3),
        freed=-10,
        calls=5,
        saved=-5.0,
        rewriting=10.0,
        summary_cost=2.0,
        fetched=1.0,
    )
    plain = line.to_json()

    assert plain["break_even"] is None
    assert plain["realised"] == -18.0
    assert plain["predicted"] == -13.0
    assert plain["expected"] == -15.0
