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

MOST_MARKS = 4
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

    hourly: bool = False
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
        short = tariff.lifetime_s or LIFE_1H
        waited = None if self._sent is None else now - self._sent
        self._sent = now
        if waited is None or waited > LIFE_1H:
            self.writes += 1
        elif waited > short:
            self.rests += 1
        if waited is None or waited > (LIFE_1H if self.hourly else short):
            dearer, saved = WRITE_1H - tariff.write, tariff.write - tariff.read
            self.hourly = self.rests * saved > self.writes * dearer
        return self.hourly


def plan_marks(
    layout: BreakpointLayout, *, most: int = MOST_MARKS, lookback: float = LOOKBACK
) -> tuple[int, ...]:
    """Return the positions to mark, in order, in addition to those marked by others.

    The total never exceeds `most`. With two marks, a request that only grew finds the newest entry
    of the previous one, however much it grew. One that was rewritten finds the newest entry among
    the last `lookback` positions before the change; else that of the structured summary, or of the
    system prompt.

    Args:
        layout: Layout of the request.
        most: Marks that the provider accepts in total.
        lookback: Positions that the cache searches from each mark on; `math.inf` for all.

    Example:
        >>> plan_marks(BreakpointLayout(range(1, 101), stable=3, record=4, sent=60))
        (3, 4, 60, 100)
        >>> plan_marks(BreakpointLayout(range(1, 101), stable=3, record=4, sent=60), most=2)
        (60, 100)
    """
    free = most - len(layout.taken)
    picked: list[int] = []
    for place in _candidates(layout, lookback):
        if len(picked) >= free:
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
    """Return the last position up to an end; `None` if there is none."""
    at = bisect_right(places, end)
    return places[at - 1] if at else None


def _chain(places: Sequence[int], place: int, lookback: float) -> Iterator[int]:
    """Yield earlier positions, spaced so that the searched ranges are adjacent."""
    while (at := bisect_left(places, place - lookback)) < len(places) and places[at] < place:
        place = places[at]
        yield place
