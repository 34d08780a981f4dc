"""Where to mark a request for a cache that keeps only what is marked (Anthropic's).

Such a cache has an entry at each place that a request marked, and looks for one at each place
that the next request marks and at the blocks right before it. So the newest block is marked,
for the next request to find; and the end of what the provider has seen already, where the last
request left its entry: however much came since, that entry is found. The rest keeps what
outlives a rewrite: the system prompt, and the record of a fold.

Places are numbers of leading blocks: a mark at place 7 keeps the first seven.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_MARKS = 4
"""Marks that Anthropic takes in one request."""
LOOKBACK = 20
"""Positions at which it looks for an entry from each mark on, the marked one the first."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What the places of a request are the ends of."""

    places: Sequence[int]
    """Where a mark may stand, in order."""
    stable: int = 0
    """End of the tools and the system prompt."""
    record: int = 0
    """End of the record that a fold left; 0 where there is none."""
    sent: int = 0
    """End of what the provider was sent already, word for word."""
    taken: Sequence[int] = ()
    """Places that others marked."""


def plan_marks(
    layout: Layout, *, most: int = MOST_MARKS, lookback: float = LOOKBACK
) -> tuple[int, ...]:
    """Pick the places to mark, in order, beside those that others marked.

    Never more than `most` with the others'. A request that only grew finds the newest entry of
    the one before, however much it grew, if it may mark two places. One that was rewritten finds
    the newest entry among the last `lookback` positions before the change; else that of the
    record, or of the system prompt.

    Args:
        layout: Of the request.
        most: Marks that the provider takes in all.
        lookback: Positions that it looks at from each mark on; `math.inf` for all.

    Example:
        >>> plan_marks(Layout(range(1, 101), stable=3, record=4, sent=60))
        (3, 4, 60, 100)
        >>> plan_marks(Layout(range(1, 101), stable=3, record=4, sent=60), most=2)
        (60, 100)
    """
    free = most - len(layout.taken)
    picked: list[int] = []
    for place in _wanted(layout, lookback):
        if len(picked) >= free:
            break
        if place not in picked and place not in layout.taken:
            picked.append(place)
    return tuple(sorted(picked))


def _wanted(layout: Layout, lookback: float) -> Iterator[int]:
    """Yield places, those that save most first."""
    places = layout.places
    if not places:
        return
    newest = places[-1]
    yield newest
    sent = _until(places, layout.sent)
    is_seen = any(0 <= mark - (sent or newest) < lookback for mark in (newest, *layout.taken))
    if sent is not None and not is_seen:
        yield sent
    for end in (layout.stable, layout.record):
        kept = _until(places, end)
        if kept is not None:
            yield kept
    yield from _chain(places, newest if is_seen or sent is None else sent, lookback)


def _until(places: Sequence[int], end: int) -> int | None:
    """Find the last place up to an end."""
    at = bisect_right(places, end)
    return places[at - 1] if at else None


def _chain(places: Sequence[int], place: int, lookback: float) -> Iterator[int]:
    """Yield places further back, so that what is looked at from one meets that of the next."""
    while (at := bisect_left(places, place - lookback)) < len(places) and places[at] < place:
        place = places[at]
        yield place
