"""The cheapest schedule of folds for one recording, found by knowing all of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from benchmarks.arena.oracle.trail import ToolResultUse, Trail, TrailCall, TrailCut
from thalweg.engine.pricing.savings import ASK_TOKENS
from thalweg.engine.pricing.tariff import Tariff

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """What a fold may do, and what it costs."""

    tariff: Tariff
    limit: int
    """Most tokens of a request. Where no cut makes one fit, the smallest is let through."""

    def charge(self, found: int, tokens: int, *, cold: bool) -> float:
        """Price a request as `PrefixCache.send` does.

        Args:
            found: Tokens of the leading items that the request before had, too.
            tokens: All of the request.
            cold: Whether the cache has forgotten them.
        """
        tariff = self.tariff
        found = 0 if cold else found - found % tariff.block
        if tokens < tariff.minimum or found < tariff.minimum:
            found = 0
        kept = tokens - found if tokens >= tariff.minimum else 0
        return tariff.charge(found, kept, tokens - found - kept)

    def fetch(self, need: ToolResultUse, tokens: int) -> float:
        """Price one more turn that fetches something back, by a request of so many tokens."""
        prices = self.tariff.prices(tokens)
        asked = prices.write * (ASK_TOKENS + need.fetched) + prices.output * ASK_TOKENS
        return prices.read * tokens + asked


@dataclass(frozen=True, slots=True)
class ScheduledCompaction:
    """One fold of a schedule."""

    call: int
    """Which call it is made for, from 0."""
    cut: int
    """Which of the trail's cuts."""


@dataclass(frozen=True, slots=True)
class CompactionSchedule:
    """Folds, and what the whole recording costs with them."""

    cost: float
    folds: tuple[ScheduledCompaction, ...]


def cheapest(trail: Trail, rules: CompactionRules) -> CompactionSchedule:
    """Return the cheapest schedule of compactions of a recording; exact under the rules.

    After a compaction the cache has only the fixed items, so the cost between two compactions
    depends on their positions and cuts alone. The best way to begin such a segment is the best way
    to have any earlier cut at the call before.
    """
    rooms = [_CutState(None), *(_CutState(cut, k) for k, cut in enumerate(trail.cuts))]
    rooms[0].ways = [_CutPath(0.0, None)]
    before: TrailCall | None = None
    for call, moment in enumerate(trail.moments):
        step = _CutStep(trail, rules, call, moment, before)
        step.take(rooms)
        before = moment
    way = min((way for room in rooms for way in room.ways), key=lambda way: way.cost)
    return CompactionSchedule(way.cost, tuple(_folds(way)))


@dataclass(frozen=True, slots=True)
class _Link:
    """The newest fold of a way, and those before it."""

    fold: ScheduledCompaction
    before: "_Link | None"


@dataclass(slots=True)
class _CutPath:
    """One way to have reached a cut."""

    cost: float
    last: _Link | None

    @property
    def began(self) -> int:
        """The call since which it is there."""
        return -1 if self.last is None else self.last.fold.call


@dataclass(slots=True)
class _CutState:
    """The state with a certain cut, or with none."""

    cut: TrailCut | None
    number: int = -1
    """Of the cut among the trail's."""
    ways: list[_CutPath] = field(default_factory=list)
    """Later beginnings after earlier ones, each cheaper than all before it: if a beginning pays for
    a re-fetch, every later one does, so one that is not cheaper now never will be."""
    missed: dict[int, int] = field(default_factory=dict)
    """The last call that missed a tool result before this cut, by the result's position."""

    def prune(self) -> None:
        """Let go of the ways that are not cheaper than an earlier one."""
        if len(self.ways) > 1:
            least, kept = NEVER, list[_CutPath]()
            for way in self.ways:
                if way.cost < least:
                    least = way.cost
                    kept.append(way)
            self.ways = kept


@dataclass(frozen=True, slots=True)
class _CutStep:
    """One call, processed for every cut at once."""

    trail: Trail
    rules: CompactionRules
    call: int
    moment: TrailCall
    before: TrailCall | None

    def take(self, rooms: Sequence[_CutState]) -> None:
        """Charge the call to every way, and begin new ones."""
        moment = self.moment
        # a cut is useful as soon as an item follows it
        rooms = [room for room in rooms if room.cut is None or room.cut.index < moment.length]
        sizes = [self.trail.tokens(room.cut, moment) for room in rooms]
        begun = _begun(rooms)
        most = max(self.rules.limit, min(sizes))
        if not any(self._is_open(*each, most) for each in zip(rooms, sizes, begun, strict=True)):
            most = max(sizes)
        for room, size, link in zip(rooms, sizes, begun, strict=True):
            if size > most:
                room.ways = []
            else:
                self._charge(room, size, link)

    def _is_open(self, room: _CutState, size: int, begun: _CutPath | None, most: int) -> bool:
        return size <= most and (bool(room.ways) or begun is not None)

    def _charge(self, room: _CutState, size: int, begun: _CutPath | None) -> None:
        cold = self.moment.cold
        if room.ways:
            found = 0 if self.before is None else self.trail.tokens(room.cut, self.before)
            grown = self.rules.charge(found, size, cold=cold)
            for way in room.ways:
                way.cost += grown
        if begun is not None and room.cut is not None:
            found = 0 if self.before is None else self.trail.fixed
            cost = begun.cost + self.rules.charge(found, size, cold=cold)
            if not room.ways or cost < room.ways[-1].cost:
                folding = ScheduledCompaction(self.call, room.number)
                room.ways.append(_CutPath(cost, _Link(folding, begun.last)))
        if self.moment.needs and room.ways:
            self._fetch(room, size)

    def _fetch(self, room: _CutState, size: int) -> None:
        """Charge what the turn misses; what was fetched since the fold is there."""
        index = self.trail.head if room.cut is None else room.cut.index
        names = room.cut.names if room.cut else frozenset[str]()
        for need in self.moment.needs:
            if need.seen_to >= index or need.identifier in names:
                continue
            since = room.missed.get(need.source, -2)
            if since < self.call:
                price = self.rules.fetch(need, size)
                for way in room.ways:
                    if way.began > since:
                        way.cost += price
                room.missed[need.source] = self.call
        room.prune()


def _begun(rooms: Iterable[_CutState]) -> list[_CutPath | None]:
    """Return, for each state, the best compaction into it: its cost before the call itself."""
    begun: list[_CutPath | None] = []
    best: _CutPath | None = None
    for room in rooms:
        begun.append(best)
        if room.ways and (best is None or room.ways[-1].cost < best.cost):
            best = replace(room.ways[-1])
    return begun


def _folds(way: _CutPath) -> list[ScheduledCompaction]:
    folds: list[ScheduledCompaction] = []
    link = way.last
    while link is not None:
        folds.append(link.fold)
        link = link.before
    return folds[::-1]
