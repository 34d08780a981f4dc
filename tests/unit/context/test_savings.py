"""Forecasts and realised gains, in numbers worked out by hand."""

import math

import pytest

from thalweg.context.edits import Edit, Fold
from thalweg.context.saved import (
    edit_from_plain,
    edit_to_plain,
    standing_from_bytes,
    standing_to_bytes,
)
from thalweg.context.savings import Forecast
from thalweg.context.standing import Standing

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
    """A record may be larger than what it stands for."""
    assert Forecast(price=10.0, saving=saving, calls=5).break_even == math.inf


@pytest.mark.parametrize("forecast", [FORECAST, None])
def test_a_fold_keeps_its_forecast_when_it_is_saved(forecast: Forecast | None) -> None:
    """In the journal's page and in an engine's standing alike."""
    made = fold(forecast)

    assert edit_from_plain(edit_to_plain(made)) == made
    assert standing_from_bytes(standing_to_bytes(Standing(fold=made))).fold == made


def test_a_fold_saved_before_there_were_forecasts_has_none() -> None:
    """What is in archives since then must be read for ever."""
    plain = edit_to_plain(fold(FORECAST))
    del plain["forecast"]

    read: Edit = edit_from_plain(plain)

    assert read == fold(None)
