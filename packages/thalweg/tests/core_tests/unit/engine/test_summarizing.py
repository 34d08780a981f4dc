"""Where a model is asked for a summary, and of what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.engine.compaction.model_summary import (
    MAX_UNSUMMARIZED,
    MIN_COLD_TOKENS,
    MIN_TOKENS,
    QUESTION_TOKENS,
    first_unsummarized,
    pays_in_place,
    unsummarized_messages,
)
from thalweg.engine.compaction.offers import Costs
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.tariff import Tariff, Tier
from thalweg.engine.snapshot import Record
from thalweg.engine.summaries.summary import Summary

ANTHROPIC = TARIFFS["anthropic"]
LIMIT = 120_000


@pytest.mark.parametrize(
    ("live", "folded", "is_cold", "pays"),
    [
        (60_000, 50_000, False, True),
        (60_000, 50_000, True, False),
        (60_000, 5_000, False, False),
        (LIMIT, LIMIT, False, False),
    ],
)
def test_it_is_asked_behind_the_live_request_where_that_costs_less(
    live: int, folded: int, *, is_cold: bool, pays: bool
) -> None:
    """Cold, or of little, or where it would not fit, the originals are shown apart."""
    told = pays_in_place(
        ANTHROPIC, live_tokens=live, folded_tokens=folded, limit=LIMIT, is_cold=is_cold
    )

    assert told is pays


def test_where_the_cache_is_cold_a_summary_waits_longer_and_costs_nothing_meanwhile() -> None:
    """Everything would be read at full price."""
    cold, warm = (Costs(ANTHROPIC, 20_000, 0, cold=cold) for cold in (True, False))

    assert cold.asking(MIN_COLD_TOKENS - 1) == 0
    assert cold.asking(MIN_COLD_TOKENS) > MIN_COLD_TOKENS
    assert warm.asking(MIN_COLD_TOKENS - 1) > 0


def test_a_bound_on_what_is_read_holds_there_too() -> None:
    """The user decides what one request for a summary may hold."""

    def pays(most: int) -> bool:
        return pays_in_place(
            ANTHROPIC,
            live_tokens=60_000,
            folded_tokens=50_000,
            limit=LIMIT,
            is_cold=False,
            max_request_tokens=most,
        )

    assert (pays(59_999), pays(60_000)) == (False, True)


def test_dearer_prices_of_large_requests_count() -> None:
    """The live request is above the cliff, the folded messages are below it."""
    cliff = Tier(above=100_000, input=5.0, read=3.0, write=5.0, output=5.0)
    tariff = Tariff(name="cliff", read=0.1, write=1.0, tiers=(cliff,))

    def pays(asked: int) -> bool:
        live = asked - QUESTION_TOKENS
        return pays_in_place(
            tariff, live_tokens=live, folded_tokens=90_000, limit=200_000, is_cold=False
        )

    assert (pays(100_000), pays(100_001)) == (True, False)


def test_what_no_summary_is_of_is_caught_up_on() -> None:
    """From after the last summary, but not from long ago."""
    said = Summary(goal=("Count.",))

    assert first_unsummarized(Record(last=40)) == 0
    assert first_unsummarized(Record(last=40, summaries=((0, 30, said),))) == 31
    assert first_unsummarized(Record(last=900)) == 901 - MAX_UNSUMMARIZED


@given(st.lists(st.integers(1, 4_000)), st.integers(0, 5_000))
def test_no_more_is_caught_up_on_than_twice_what_is_folded(sizes: list[int], folded: int) -> None:
    """The newest, in order, as many as fit."""
    picked = unsummarized_messages(reversed(sizes), folded, lambda size: size)
    room = max(MIN_TOKENS, 2 * folded)

    assert picked == sizes[len(sizes) - len(picked) :]
    assert sum(picked) <= room
    assert len(picked) == len(sizes) or sum(sizes[-len(picked) - 1 :]) > room
