"""The cache simulator, against sums done by hand."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from recorder_tests.unit.lab.replay.threads import FLAT, answered, asked, said
from thalweg.engine.pricing.tariff import Tariff, Tier
from thalweg.engine.window.items import WindowItem
from thalweg_recorder.replay.cache import PrefixCache, RequestCharge


def items(*sizes: tuple[str, int]) -> list[WindowItem]:
    """Make a request of messages with these words and as many tokens."""
    return [WindowItem(said("user", text), k, tokens) for k, (text, tokens) in enumerate(sizes)]


def test_the_first_request_is_written_whole() -> None:
    """Nothing is in the cache yet: 100 tokens at 1.25."""
    charge = PrefixCache(FLAT).send(items(("a", 60), ("b", 40)))

    assert charge == RequestCharge(tokens=100, cached=0, written=100, cost=125.0, broke_at=-1)


def test_a_request_that_grows_at_its_end_reads_what_was_there() -> None:
    """100 tokens read at 0.1, 50 written at 1.25."""
    cache = PrefixCache(FLAT)
    cache.send(items(("a", 60), ("b", 40)))

    charge = cache.send(items(("a", 60), ("b", 40), ("c", 50)))

    assert charge == RequestCharge(tokens=150, cached=100, written=50, cost=72.5, broke_at=-1)


def test_a_change_pays_for_everything_behind_it() -> None:
    """The second message differs: only the 60 tokens before it are read."""
    cache = PrefixCache(FLAT)
    cache.send(items(("a", 60), ("b", 40), ("c", 50)))

    charge = cache.send(items(("a", 60), ("B", 40), ("c", 50)))

    assert charge == RequestCharge(tokens=150, cached=60, written=90, cost=118.5, broke_at=1)


def test_an_older_prefix_is_found_after_a_rewind() -> None:
    """What was sent two requests ago is read again, though the last request was another."""
    cache = PrefixCache(FLAT)
    for request in (items(("a", 60), ("b", 40)), items(("x", 60))):
        cache.send(request)

    charge = cache.send(items(("a", 60), ("b", 40), ("c", 10)))

    assert charge == RequestCharge(tokens=110, cached=100, written=10, cost=22.5, broke_at=0)


def test_a_shorter_request_breaks_at_its_end() -> None:
    """An omission at the end is a difference as well."""
    cache = PrefixCache(FLAT)
    cache.send(items(("a", 60), ("b", 40)))

    charge = cache.send(items(("a", 60)))

    assert (charge.cached, charge.broke_at) == (60, 1)


def test_a_cold_cache_is_paid_for_again_though_nothing_changed() -> None:
    """The prefix is written again, and no message is reported to have broken it."""
    cache = PrefixCache(FLAT)
    cache.send(items(("a", 60)))

    charge = cache.send(items(("a", 60), ("b", 40)), cold=True)

    assert charge == RequestCharge(tokens=100, cached=0, written=100, cost=125.0, broke_at=-1)


@pytest.mark.parametrize(("tokens", "cost"), [(99, 99.0), (100, 125.0)])
def test_below_the_minimum_nothing_is_written(tokens: int, cost: float) -> None:
    """A short request costs the base price and writes no cache."""
    tariff = Tariff(name="least", read=0.1, write=1.25, minimum=100)
    cache = PrefixCache(tariff)

    charge = cache.send(items(("a", tokens)))

    assert (charge.written, charge.cost) == (tokens if tokens >= 100 else 0, cost)
    assert cache.send(items(("a", tokens), ("b", 1))).cached == charge.written


def test_a_prefix_below_the_minimum_is_not_read() -> None:
    """99 tokens are alike and 100 are needed."""
    tariff = Tariff(name="least", read=0.1, write=1.0, minimum=100)
    cache = PrefixCache(tariff)
    cache.send(items(("a", 99), ("b", 50)))

    assert cache.send(items(("a", 99), ("B", 50))).cached == 0


def test_a_partial_block_is_a_miss() -> None:
    """Of 300 tokens alike, two blocks of 128 are read: 256 at 0.1, 94 at 1."""
    tariff = Tariff(name="blocks", read=0.1, write=1.0, minimum=128, block=128)
    cache = PrefixCache(tariff)
    cache.send(items(("a", 300)))

    charge = cache.send(items(("a", 300), ("b", 50)))

    assert charge == RequestCharge(tokens=350, cached=256, written=94, cost=119.6, broke_at=-1)


def test_an_equal_message_is_as_good_as_the_same_one() -> None:
    """A provider sees bytes, not objects."""
    cache = PrefixCache(FLAT)
    cache.send(items(("a", 60)))

    assert cache.send([WindowItem(said("user", "a"), 0, 60)]).cached == 60


MARKED = Tariff(
    name="marked", read=0.1, write=1.25, minimum=10, breakpoints=4, lookback=20, lifetime_s=300
)
"""Prices of a cache that keeps what is marked."""
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def thread(messages: int) -> list[WindowItem]:
    """Make a request of so many messages of 10 tokens."""
    return items(*((f"message {k}", 10) for k in range(messages)))


def test_an_entry_lives_from_its_last_reading_on() -> None:
    """Read every four minutes it is there after twenty; after five and a half of rest it is not."""
    cache = PrefixCache(MARKED)
    times = [NOON + timedelta(minutes=4 * k) for k in range(6)]
    cached = [cache.send(thread(3), at=at).cached for at in times]
    late = cache.send(thread(3), at=times[-1] + timedelta(minutes=5, seconds=30))

    assert cached == [0, 30, 30, 30, 30, 30]
    assert (late.cached, late.written) == (0, 30)


def test_a_lifetime_counts_from_the_answer() -> None:
    """The answer takes two minutes: six minutes after the request, its entry is still there."""
    cache = PrefixCache(MARKED)
    cache.send(thread(3), at=NOON, answered=NOON + timedelta(minutes=2))

    assert cache.send(thread(3), at=NOON + timedelta(minutes=6)).cached == 30


def test_a_branch_that_nobody_reads_expires_while_another_lives() -> None:
    """The short request is read on and on; the long one expires meanwhile."""
    cache = PrefixCache(MARKED)
    cache.send(thread(2), at=NOON)
    cache.send(thread(9), at=NOON)
    for k in range(1, 4):
        cache.send(thread(2), at=NOON + timedelta(minutes=4 * k))

    assert cache.send(thread(9), at=NOON + timedelta(minutes=13)).cached == 20


def test_an_entry_stands_only_where_a_request_was_marked() -> None:
    """The first is marked at its end: a request that shares less than all of it reads nothing."""
    cache = PrefixCache(MARKED)
    cache.send(thread(8), marks=[8])

    assert cache.send([*thread(7), *items(("other", 10))], marks=[7, 8]).cached == 0


def test_what_stands_behind_the_last_mark_is_not_written() -> None:
    """50 tokens at 1.25, and 30 that no mark keeps at 1."""
    charge = PrefixCache(MARKED).send(thread(8), marks=[5])

    assert charge == RequestCharge(tokens=80, cached=0, written=50, cost=92.5, broke_at=-1)


@pytest.mark.parametrize(("grown", "cached"), [(19, 100), (20, 0)])
def test_a_mark_looks_at_twenty_positions(grown: int, cached: int) -> None:
    """Itself is the first of them: 19 further back is found, 20 is not."""
    cache = PrefixCache(MARKED)
    cache.send(thread(10), marks=[10])

    assert cache.send(thread(10 + grown), marks=[10 + grown]).cached == cached


def test_a_cache_without_a_look_back_finds_any_entry_before_a_mark() -> None:
    """As OpenAI's does, which remembers marks and not how far they are."""
    cache = PrefixCache(MARKED.model_copy(update={"lookback": None}))
    cache.send(thread(10), marks=[10])

    assert cache.send(thread(90), marks=[90]).cached == 100
    assert cache.send(thread(200)).cached == 900


def test_calls_in_a_row_are_one_position_and_so_are_results() -> None:
    """30 calls at once and their results do not hide what was sent before them."""
    cache = PrefixCache(MARKED)
    before = thread(3)
    calls = [asked(f"c{k}", "look") for k in range(30)]
    call = replace(calls[0], parts=tuple(part for one in calls for part in one.parts))
    results = [WindowItem(answered(f"c{k}", "look", "seen"), 4 + k, 10) for k in range(30)]
    after = [*before, WindowItem(call, 3, 50), *results]
    cache.send(before, marks=[3])

    assert cache.send(after, marks=[len(after)]).cached == 30


def test_marks_are_planned_where_none_are_given() -> None:
    """A request that grew finds the last one's entry; a rewritten one the system prompt's."""
    cache = PrefixCache(MARKED)
    system = WindowItem(said("system", "rules"), 0, 40)
    cache.send([system, *thread(5)])

    assert cache.send([system, *thread(70)]).cached == 90
    assert cache.send([system, *items(("another", 10)), *thread(70)]).cached == 40


def test_what_stands_before_the_messages_is_cached_with_them() -> None:
    """Tools of 500 tokens; with other tools, nothing after them is found."""
    cache = PrefixCache(MARKED)
    cache.send(thread(2), overhead=500)

    assert cache.send(thread(3), overhead=500).cached == 520
    assert cache.send(thread(3), overhead=501).cached == 0


def test_the_tools_alone_are_found_where_the_first_message_changed() -> None:
    """A mark after the tokens before the messages keeps them."""
    cache = PrefixCache(MARKED)
    cache.send(thread(2), overhead=500)

    assert cache.send(items(("x", 5), ("y", 5)), overhead=500).cached == 500


def test_a_dear_tier_holds_for_the_whole_request() -> None:
    """From 100 tokens on, what is read and what is written costs five times as much."""
    tier = Tier(above=100, input=5, read=0.5, write=6.25, output=25)
    cache = PrefixCache(FLAT.model_copy(update={"tiers": (tier,)}))

    assert cache.send(items(("a", 100))).cost == 125
    assert cache.send(items(("a", 100), ("b", 10))).cost == 100 * 0.5 + 10 * 6.25


def test_a_message_is_what_is_sent_of_it() -> None:
    """A message's time and id are not sent."""
    cache = PrefixCache(FLAT)
    cache.send([WindowItem(replace(said("user", "a"), uid="1", at="then"), 0, 60)])

    assert cache.send([WindowItem(replace(said("user", "a"), uid="2"), 0, 60)]).cached == 60
