"""What is shown of the recalled items: only new ones, within the limit, at a bounded cost."""

from hypothesis import given
from hypothesis import strategies as st

from thalweg_memory.facts.values import FactId
from thalweg_memory.middleware.recall import (
    COLD_S,
    REWRITE_SHARE,
    MemoryRewrites,
    RecalledItem,
    ShownMemory,
    choose_items,
    from_plain,
    to_plain,
)

MOST, FRAME = 2_000, 60
keys = st.integers(0, 40).map(lambda n: n if n % 2 else FactId(f"fact-{n}"))
wanteds = st.lists(
    st.builds(RecalledItem, keys, st.integers(5, 120)), max_size=40, unique_by=lambda one: one.key
)


def shown(uid: str, *facts: str, tokens: int = 100) -> ShownMemory:
    """Make what is shown before a message."""
    return ShownMemory(uid, facts=tuple(map(FactId, facts)), tokens=tokens)


@given(st.lists(wanteds, max_size=8), st.booleans())
def test_nothing_is_told_twice_and_never_more_than_there_is_room_for(
    runs: list[list[RecalledItem]],
    may: bool,  # noqa: FBT001
) -> None:
    """However many runs a thread has."""
    live: list[ShownMemory] = []
    for n, wanted in enumerate(runs):
        decision = choose_items(wanted, live, max_tokens=MOST, frame_tokens=FRAME, may_restart=may)
        live = [] if decision.replaces_shown else live
        tokens = {one.key: one.tokens for one in wanted}
        size = FRAME + sum(tokens[key] for key in decision.chosen)
        if decision.chosen:
            facts = tuple(FactId(key) for key in decision.chosen if isinstance(key, str))
            pieces = tuple(key for key in decision.chosen if isinstance(key, int))
            assert size <= decision.max_tokens
            live.append(ShownMemory(f"m{n}", facts=facts, pieces=pieces, tokens=size))

        told = [key for one in live for key in (*one.facts, *one.pieces)]
        assert len(told) == len(set(told))
        assert sum(one.tokens for one in live) <= MOST
        assert not decision.replaces_shown or may


def test_what_is_shown_already_rewrites_nothing_even_where_it_may() -> None:
    """A run about the same things is shown nothing."""
    wanted = [RecalledItem(FactId("a"), 20), RecalledItem(FactId("b"), 20)]
    live = [shown("m1", "a"), shown("m2", "b")]
    decision = choose_items(wanted, live, max_tokens=MOST, frame_tokens=FRAME, may_restart=True)

    assert (decision.chosen, decision.replaces_shown) == ((), False)


def test_what_finds_no_room_waits_until_all_may_be_taken_back() -> None:
    """Then what is wanted now is shown, in half the space."""
    wanted = [RecalledItem(FactId("a"), 300), RecalledItem(FactId("b"), 300)]
    live = [shown("m1", "c", tokens=1_000), shown("m2", "d", tokens=950)]
    waits = choose_items(wanted, live, max_tokens=MOST, frame_tokens=FRAME, may_restart=False)
    goes = choose_items(wanted, live, max_tokens=MOST, frame_tokens=FRAME, may_restart=True)

    assert (waits.chosen, waits.replaces_shown) == ((), False)
    assert (goes.chosen, goes.replaces_shown) == (("a", "b"), True)


def test_early_questions_leave_room_for_later_ones() -> None:
    """Nothing shown takes more than half of the remaining space."""
    wanted = [RecalledItem(n, 50) for n in range(60)]
    first = choose_items(wanted, [], max_tokens=MOST, frame_tokens=FRAME, may_restart=False)

    assert first.max_tokens == MOST // 2
    assert len(first.chosen) * 50 + FRAME <= MOST // 2


@given(st.lists(st.integers(500, 60_000), min_size=1, max_size=200))
def test_a_thread_rewrites_no_more_for_memory_than_the_meter_allows(sizes: list[int]) -> None:
    """Even if every single run would."""
    meter, now = MemoryRewrites(), 1.0
    for size in sizes:
        meter = meter.with_request(size, now)
        if meter.allows(MOST, now):
            meter = meter.with_rewrite(now)

        assert meter.lost <= MOST + REWRITE_SHARE * meter.sent


def test_what_the_provider_has_lost_anyway_costs_nothing() -> None:
    """After a long pause everything may be shown again."""
    meter = MemoryRewrites(sent=50_000, lost=10_000, size=20_000, at=100.0)

    assert not meter.allows(MOST, 200.0)
    assert meter.allows(MOST, 101.0 + COLD_S)
    assert meter.with_rewrite(101.0 + COLD_S) == meter


def test_a_state_keeps_ids_as_plain_values() -> None:
    """And reads them back; of what is no such list, nothing."""
    some = [
        shown("m1", "a", "b"),
        ShownMemory("m2", 7, (), (1, 2), ("workContext",), 9),
        ShownMemory(""),
    ]

    assert from_plain(to_plain(some)) == some
    assert from_plain(None) == []
