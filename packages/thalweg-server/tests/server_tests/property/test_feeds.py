"""Laws of what followers share: no event is missed, repeated or out of order."""

import json

from hypothesis import event, given
from hypothesis import strategies as st

from thalweg_server.runs import journal
from thalweg_server.runs.base import Draft, Event
from thalweg_server.runs.drafts import joined, sound
from thalweg_server.runs.journal import RunFeed

stretches = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 15)), max_size=25)
"""Where events are pushed from, and how many: in a row, again, or after a gap."""


@given(stretches, st.integers(0, 60))
def test_a_feed_gives_what_comes_next_or_sends_to_the_journal(
    pushed: list[tuple[int, int]], after: int
) -> None:
    """After any pushes, the returned events begin right after the requested number, without gap."""
    feed = RunFeed()
    for first, count in pushed:
        feed.push([Event(seq, "a", "{}") for seq in range(first, first + count)])
        given_ = feed.behind(after)
        event("from the journal" if given_ is None else "from memory")

        if given_ is None:
            assert after < feed.last
        elif not given_:
            assert after >= feed.last
        else:
            numbers = [one.seq for one in given_]
            assert numbers == list(range(after + 1, after + 1 + len(numbers)))
            assert numbers[-1] <= feed.last


@given(st.integers(0, 5_000), st.integers(1, 700))
def test_a_feed_stays_small(events: int, step: int) -> None:
    """A feed is bounded even for a reader that is far from its end."""
    feed = RunFeed()
    for first in range(1, events + 1, step):
        feed.push([Event(seq, "a", "x" * 700) for seq in range(first, first + step)])

        assert (
            len(feed.behind(max(0, feed.last - journal.MOST_EVENTS)) or ()) <= journal.MOST_EVENTS
        )
        assert feed._chars <= journal.MOST_CHARS  # noqa: SLF001 (what memory it takes)


texts = st.text(st.characters(codec=None), max_size=5)
drafts = st.builds(
    lambda message, text: Draft("d", sound(json.dumps({"m": message, "text": text})), message),
    st.sampled_from(["", "m", "n"]),
    texts,
)


@given(st.lists(st.lists(drafts, max_size=5), max_size=6))
def test_joining_loses_no_word_and_keeps_the_order(waiting: list[list[Draft]]) -> None:
    """Joining keeps words and order, and returns for each batch how far it is written."""
    written, ends = joined(waiting)

    def told(row: list[Draft]) -> list[tuple[str, str]]:
        rows: list[tuple[str, str]] = []
        for draft in row:
            text = json.loads(draft.data)["text"]
            if rows and draft.joins and rows[-1][0] == draft.joins:
                text = rows.pop()[1] + text
            rows.append((draft.joins, text))
        return rows

    assert told(written) == told([draft for row in waiting for draft in row])
    assert ends == sorted(ends)
    assert (ends[-1] if ends else 0) == len(written)
    for draft in written:
        draft.data.encode()
