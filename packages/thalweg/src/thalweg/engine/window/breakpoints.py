"""Choose breakpoints for a prompt cache that stores only marked prefixes (Anthropic's).

Such a cache has an entry at each position that a request marked, and searches for one at each
position that the next request marks and at the blocks right before it. So the newest block is
marked, for the next request; and the end of the part that the provider has already received, at
which the last request stored its entry: that entry is found however much was added. The remaining
marks store the parts that survive a rewrite: the system prompt, and the structured summary of a
compaction.

Positions are numbers of leading blocks: a mark at 7 stores the first seven.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thalweg.engine.pricing.table import LIFE_1H, WRITE_1H
from thalweg.engine.pricing.tariff import Tariff

MAX_MARKS = 4
"""Marks that Anthropic accepts in one request."""
LOOKBACK = 20
"""Positions at which the cache searches from each mark on, the marked one first."""


@dataclass(frozen=True, slots=True)
class BreakpointLayout:
    """The possible breakpoints of a request."""

    places: Sequence[int]
    """The positions at which a mark is possible, in order."""
    stable: int = 0
    """End of the tools and the system prompt."""
    record: int = 0
    """End of the structured summary of a compaction; 0 if there is none."""
    sent: int = 0
    """End of the part that the provider has already received, verbatim."""
    taken: Sequence[int] = ()
    """Positions marked by others."""


@dataclass(slots=True)
class StableLifetime:
    """The lifetime of the system prompt and the tools in the cache, by the pauses of a thread.

    An hour's entry costs more to write; it saves the rewriting after each pause that only it
    outlives (a rest). With `n` rests for each write that is due anyway, an hour pays if `n` is
    above `(w1 - w5) / (w5 - r)`, 0.65 at Anthropic's prices. The lifetime changes only if the
    entry has expired, so that no live one is written again.
    """

    is_hourly: bool = False
    rests: int = 0
    """Pauses that an hour outlives and the tariff's own lifetime does not."""
    writes: int = 0
    """Writes that no lifetime avoids: the first one, and those after longer pauses."""
    _sent: float | None = None

    def send(self, now: float, tariff: Tariff) -> bool:
        """Return whether a request sent now marks its stable prefix for an hour.

        Args:
            now: Seconds since any epoch.
            tariff: Prices, with the cache's own lifetime.

        Example:
            >>> own = Tariff(name="x", read=0.1, write=1.25, lifetime_s=300)
            >>> lifetime = StableLifetime()
            >>> [lifetime.send(minute * 60, own) for minute in (0, 1, 21, 41, 141, 142)]
            [False, False, True, True, True, True]
        """
        own_lifetime_s = tariff.lifetime_s or LIFE_1H
        pause_s = None if self._sent is None else now - self._sent
        self._sent = now
        if pause_s is None or pause_s > LIFE_1H:
            self.writes += 1
        elif pause_s > own_lifetime_s:
            self.rests += 1
        if pause_s is None or pause_s > (LIFE_1H if self.is_hourly else own_lifetime_s):
            extra_cost, saved_cost = WRITE_1H - tariff.write, tariff.write - tariff.read
            self.is_hourly = self.rests * saved_cost > self.writes * extra_cost
        return self.is_hourly


def plan_marks(
    layout: BreakpointLayout, *, max_marks: int = MAX_MARKS, lookback: float = LOOKBACK
) -> tuple[int, ...]:
    """Return the positions to mark, in order, in addition to those marked by others.

    The total never exceeds `max_marks`. With two marks, a request that only grew finds the newest
    entry of the previous one, however much it grew. A rewritten one finds the newest entry among
    the last `lookback` positions before the change; else that of the structured summary, or of the
    system prompt.

    Args:
        layout: Layout of the request.
        max_marks: Marks that the provider accepts in total.
        lookback: Positions that the cache searches from each mark on; `math.inf` for all.

    Example:
        >>> plan_marks(BreakpointLayout(range(1, 101), stable=3, record=4, sent=60))
        (3, 4, 60, 100)
        >>> plan_marks(BreakpointLayout(range(1, 101), stable=3, record=4, sent=60), max_marks=2)
        (60, 100)
    """
    free_marks = max_marks - len(layout.taken)
    picked: list[int] = []
    for place in _candidates(layout, lookback):
        if len(picked) >= free_marks:
            break
        if place not in picked and place not in layout.taken:
            picked.append(place)
    return tuple(sorted(picked))


def _candidates(layout: BreakpointLayout, lookback: float) -> Iterator[int]:
    """Yield positions, those that save most first."""
    places = layout.places
    if not places:
        return
    newest = places[-1]
    yield newest
    sent_end = _last_place_until(places, layout.sent)
    is_seen = any(0 <= mark - (sent_end or newest) < lookback for mark in (newest, *layout.taken))
    if sent_end is not None and not is_seen:
        yield sent_end
    for end in (layout.stable, layout.record):
        stored_end = _last_place_until(places, end)
        if stored_end is not None:
            yield stored_end
    yield from _spaced_places(places, newest if is_seen or sent_end is None else sent_end, lookback)


def _last_place_until(places: Sequence[int], end: int) -> int | None:
    """Return the last position up to an end; `None` if there is none."""
    index = bisect_right(places, end)
    return places[index - 1] if index else None


def _spaced_places(places: Sequence[int], place: int, lookback: float) -> Iterator[int]:
    """Yield earlier positions, spaced so that the searched ranges are adjacent."""
    while (index := bisect_left(places, place - lookback)) < len(places) and places[index] < place:
        place = places[index]
        yield place
