"""The cache of the replay and that of the strict provider: written apart, by the same rules."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate

from hypothesis import event, given
from hypothesis import strategies as st

from strict_llm.cache import PromptCache
from strict_llm.counting import Measured
from thalweg.engine.entries import Message, Text
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.window.items import WindowItem
from thalweg_recorder.replay.cache import PrefixCache

MARKED = Tariff(
    name="marked", read=0.1, write=1.25, minimum=1_024, breakpoints=4, lookback=20, lifetime_s=300
)
ALONE = Tariff(name="alone", read=0.1, write=1.0, minimum=1_024, block=128, lifetime_s=600)
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)

Move = tuple[int, int, int, tuple[int, ...]]
"""Messages dropped from the end, messages added, seconds waited, and marks counted from the end."""

moves = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.integers(1, 45),
        st.integers(0, 400),
        st.lists(st.integers(0, 40), max_size=4).map(tuple),
    ),
    min_size=1,
    max_size=12,
)


def measured(sizes: Sequence[tuple[str, int]], marks: Sequence[int]) -> Measured:
    words = [word for word, _ in sizes]
    return Measured(
        prefixes=tuple("/".join(words[: k + 1]).encode() for k in range(len(words))),
        sums=tuple(accumulate(tokens for _, tokens in sizes)),
        keeps=tuple("5m" if k + 1 in marks else "" for k in range(len(words))),
    )


def requests(moves: Sequence[Move]) -> list[tuple[list[tuple[str, int]], list[int], int]]:
    """Grow and rewind a thread; the words that come again are the same with the same sizes."""
    found, now = list[tuple[list[tuple[str, int]], list[int], int]](), 0
    sizes: list[tuple[str, int]] = []
    for dropped, added, waited, marks in moves:
        sizes = sizes[: max(0, len(sizes) - dropped)]
        for _ in range(added):
            k = len(sizes)
            word = f"message {k}" if k % 7 else f"message {k} of {dropped % 2}"
            sizes = [*sizes, (word, 40 + 37 * k % 200)]
        now += waited
        places = sorted({len(sizes) - mark for mark in marks if mark < len(sizes)})
        found.append((sizes, places, now))
    return found


def items(sizes: Sequence[tuple[str, int]]) -> list[WindowItem]:
    return [
        WindowItem(Message("user", (Text(word),)), k, tokens)
        for k, (word, tokens) in enumerate(sizes)
    ]


@given(moves=moves)
def test_both_read_and_write_the_same_at_marks(moves: list[Move]) -> None:
    """Both agree for any marks, any waiting time, and any step back."""
    ours, theirs = PrefixCache(MARKED), PromptCache()
    for sizes, marks, now in requests(moves):
        spent = theirs.marked("m", measured(sizes, marks), float(now))
        charge = ours.send(items(sizes), at=NOON + timedelta(seconds=now), marks=marks)
        event("read" if spent.cached else "not read")
        assert (charge.tokens, charge.cached, charge.written) == (
            spent.input,
            spent.cached,
            spent.written_5m,
        )


@given(moves=moves)
def test_both_find_the_same_prefix_by_themselves(moves: list[Move]) -> None:
    """In whole blocks, above the minimum, and while anybody reads it."""
    ours, theirs = PrefixCache(ALONE), PromptCache()
    for sizes, _, now in requests(moves):
        spent = theirs.automatic("m", measured(sizes, []), float(now))
        charge = ours.send(items(sizes), at=NOON + timedelta(seconds=now))
        event("read" if spent.cached else "not read")
        assert (charge.tokens, charge.cached) == (spent.input, spent.cached)
