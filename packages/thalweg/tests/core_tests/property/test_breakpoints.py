"""Where marks are placed, against a cache that is followed to the letter, block by block."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import assume, event, given
from hypothesis import strategies as st

from thalweg.engine.window.breakpoints import BreakpointLayout, plan_marks

LOOKBACK = 5


@dataclass
class Cache:
    """Entries at marked places; each is the whole row of blocks that it keeps."""

    entries: set[tuple[int, ...]] = field(default_factory=set)

    def send(self, blocks: Sequence[int], marks: Sequence[int]) -> int:
        """Send a request; return how many blocks are read."""
        looked = {place for mark in marks for place in range(mark, max(0, mark - LOOKBACK), -1)}
        found = max((p for p in looked if tuple(blocks[:p]) in self.entries), default=0)
        self.entries |= {tuple(blocks[:mark]) for mark in marks}
        return found


def common(old: Sequence[int], new: Sequence[int]) -> int:
    same = 0
    for a, b in zip(old, new, strict=False):
        if a != b:
            break
        same += 1
    return same


sizes = st.integers(1, 60)
growths = st.lists(sizes, min_size=1, max_size=12)


@given(
    places=st.sets(sizes),
    ends=st.tuples(sizes, sizes, sizes),
    taken=st.sets(sizes, max_size=6),
    most=st.integers(1, 8),
    lookback=st.integers(1, 30),
)
def test_there_are_never_more_marks_than_the_provider_takes(
    places: set[int], ends: tuple[int, int, int], taken: set[int], most: int, lookback: int
) -> None:
    """Those of others count, are not placed twice, and every mark is where one may be."""
    layout = BreakpointLayout(sorted(places), *ends, taken=sorted(taken))
    marks = plan_marks(layout, max_marks=most, lookback=lookback)
    assert len(marks) + len(taken) <= max(most, len(taken))
    assert set(marks) <= places - taken
    assert list(marks) == sorted(set(marks))
    assert marks == plan_marks(layout, max_marks=most, lookback=lookback)
    if places and max(places) not in taken and len(taken) < most:
        assert max(places) in marks


@given(growths=growths, stable=st.integers(0, 4), most=st.integers(2, 6))
def test_a_request_that_grew_finds_all_that_was_there(
    growths: list[int], stable: int, most: int
) -> None:
    """However much it grew, it reads what a cache would that had an entry at every block."""
    cache, length = Cache(), 0
    for growth in growths:
        before, length = length, length + growth
        blocks = range(length)
        layout = BreakpointLayout(range(1, length + 1), stable=stable, sent=before)
        found = cache.send(blocks, plan_marks(layout, max_marks=most, lookback=LOOKBACK))
        assert found == before


@given(growths=growths, most=st.integers(2, 6))
def test_without_memory_a_growth_within_the_look_back_of_all_marks_is_found(
    growths: list[int], most: int
) -> None:
    """Who does not know what was sent covers `most` times the look-back, and no block more."""
    cache, length = Cache(), 0
    for growth in growths:
        before, length = length, length + growth
        layout = BreakpointLayout(range(1, length + 1))
        found = cache.send(range(length), plan_marks(layout, max_marks=most, lookback=LOOKBACK))
        if growth < most * LOOKBACK:
            event("within")
            assert found == before
        else:
            event("beyond")
            assert found < before or not before


@given(data=st.data(), growths=growths)
def test_after_a_rewrite_the_nearest_entry_is_found(
    data: st.DataObject, growths: list[int]
) -> None:
    """Of the entries within the look-back of the change the newest, else the system prompt's."""
    stable = 2
    cache, blocks, fresh = Cache(), list(range(stable)), 1_000
    for growth in growths:
        keep = data.draw(st.integers(stable, len(blocks)), label="kept")
        sent = list(blocks)
        added = list(range(fresh, fresh + growth))
        blocks, fresh = [*blocks[:keep], *added], fresh + growth
        same = common(sent, blocks)
        entries = {len(e) for e in cache.entries if e == tuple(blocks[: len(e)])}
        layout = BreakpointLayout(range(1, len(blocks) + 1), stable=stable, sent=same)
        found = cache.send(blocks, plan_marks(layout, max_marks=4, lookback=LOOKBACK))
        near = {e for e in entries if same - LOOKBACK < e <= same}
        event("near" if near else "far")
        assert found >= max(near, default=stable if stable in entries else 0)


@given(places=st.sets(sizes, min_size=1), sent=sizes, stable=sizes)
def test_where_not_every_block_may_be_marked_the_one_before_is(
    places: set[int], sent: int, stable: int
) -> None:
    """Reasoning and empty texts take no mark: the block before them keeps nearly as much."""
    assume(min(places) <= min(sent, stable))
    marks = plan_marks(BreakpointLayout(sorted(places), stable=stable, sent=sent), lookback=1)
    for end in (sent, stable, max(places)):
        assert max(p for p in places if p <= end) in marks
