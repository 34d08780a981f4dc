"""The cache simulator, against sums done by hand."""

import pytest

from tests.unit.replay.threads import FLAT, said
from thalweg.context.pricing import Tariff
from thalweg.context.window import Item
from thalweg.replay.cache import Charge, PrefixCache


def items(*sizes: tuple[str, int]) -> list[Item]:
    """Make a request of messages with these words and as many tokens."""
    return [Item(said("user", text), k, tokens) for k, (text, tokens) in enumerate(sizes)]


def test_the_first_request_is_written_whole() -> None:
    """Nothing is in the cache yet: 100 tokens at 1.25."""
    charge = PrefixCache(FLAT).send(items(("a", 60), ("b", 40)))

    assert charge == Charge(tokens=100, cached=0, written=100, cost=125.0, broke_at=-1)


def test_a_request_that_grows_at_its_end_reads_what_was_there() -> None:
    """100 tokens read at 0.1, 50 written at 1.25."""
    cache = PrefixCache(FLAT)
    cache.send(items(("a", 60), ("b", 40)))

    charge = cache.send(items(("a", 60), ("b", 40), ("c", 50)))

    assert charge == Charge(tokens=150, cached=100, written=50, cost=72.5, broke_at=-1)


def test_a_change_pays_for_everything_behind_it() -> None:
    """The second message differs: only the 60 tokens before it are read."""
    cache = PrefixCache(FLAT)
    cache.send(items(("a", 60), ("b", 40), ("c", 50)))

    charge = cache.send(items(("a", 60), ("B", 40), ("c", 50)))

    assert charge == Charge(tokens=150, cached=60, written=90, cost=118.5, broke_at=1)


def test_only_the_request_before_is_remembered() -> None:
    """What was sent two requests ago is not found again behind a change."""
    cache = PrefixCache(FLAT)
    for request in (items(("a", 60), ("b", 40)), items(("x", 60))):
        cache.send(request)

    assert cache.send(items(("a", 60), ("b", 40))).cached == 0


def test_a_shorter_request_breaks_at_its_end() -> None:
    """What was left out at the end is a difference as well."""
    cache = PrefixCache(FLAT)
    cache.send(items(("a", 60), ("b", 40)))

    charge = cache.send(items(("a", 60)))

    assert (charge.cached, charge.broke_at) == (60, 1)


def test_a_cold_cache_is_paid_for_again_though_nothing_changed() -> None:
    """It is written anew, and no message is said to have broken it."""
    cache = PrefixCache(FLAT)
    cache.send(items(("a", 60)))

    charge = cache.send(items(("a", 60), ("b", 40)), cold=True)

    assert charge == Charge(tokens=100, cached=0, written=100, cost=125.0, broke_at=-1)


@pytest.mark.parametrize(("tokens", "cost"), [(99, 99.0), (100, 125.0)])
def test_below_the_minimum_nothing_is_written(tokens: int, cost: float) -> None:
    """A short request costs the base price and leaves nothing behind."""
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

    assert charge == Charge(tokens=350, cached=256, written=94, cost=119.6, broke_at=-1)


def test_an_equal_message_is_as_good_as_the_same_one() -> None:
    """A provider sees bytes, not objects."""
    cache = PrefixCache(FLAT)
    cache.send(items(("a", 60)))

    assert cache.send([Item(said("user", "a"), 0, 60)]).cached == 60
