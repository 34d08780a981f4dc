"""Both bounds of one recording: the best schedule of folds, and the least that any policy pays."""

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from benchmarks.arena.oracle.base import Oracle, OracleCompaction
from benchmarks.arena.oracle.folds import CompactionRules, CompactionSchedule, cheapest
from benchmarks.arena.oracle.layout import OracleLayout, lay_out, records_of, trail_of
from benchmarks.arena.oracle.sets import LowestPrices, OracleMessage, least_cost
from benchmarks.arena.oracle.trail import Trail, TrailCut
from thalweg.engine.entries import Entry
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.tokens import MESSAGE_OVERHEAD, exact_counter
from thalweg.engine.window.budget import Budget
from thalweg_recorder.replay.uses import LaterUse

ARRIVES = 5_000
"""Tokens up to which the set bound takes a message to be sent whole when it arrives."""
SQUEEZED = 3
"""A call may have shortened anything where its news fill one part in so many of the limit."""


@dataclass(frozen=True, slots=True)
class Hindsight:
    """The analysis of a recording before prices."""

    entries: Sequence[Entry]
    uses: Mapping[int, Sequence[LaterUse]]
    budget: Budget
    layout: OracleLayout
    """With everything whole."""
    trails: tuple[Trail, ...]
    """With everything whole, and with what is too large shortened at its arrival."""

    @classmethod
    def of(
        cls,
        entries: Sequence[Entry],
        uses: Mapping[int, Sequence[LaterUse]],
        budget: Budget,
    ) -> Self:
        """Analyse a recording, with the structured summary at every possible cut.

        Args:
            entries: All entries of the recording, by position.
            uses: Later uses of tool results, by the position of the turn that uses them.
            budget: The window, and the size of our structured summaries.
        """
        count = exact_counter()
        whole = lay_out(entries, budget, count, bounded=False)
        bounded = lay_out(entries, budget, count, bounded=True)
        layouts = (whole, bounded) if bounded.rewritten else (whole,)
        records = list(records_of(whole, entries, budget, count))
        trails = (trail_of(each, records, entries, uses, count) for each in layouts)
        return cls(entries, uses, budget, whole, tuple(trails))

    def oracle(self, tariff: Tariff, cold: Container[int]) -> Oracle:
        """Find both bounds.

        Args:
            tariff: Prices.
            cold: Positions of turns before which the cache had expired.
        """
        rules = CompactionRules(tariff, self.budget.limit)
        found = [(cheapest(t, rules), t) for t in (t.cooled(cold) for t in self.trails)]
        best, trail = min(found, key=lambda pair: pair[0].cost)
        return Oracle(
            one_cut=best.cost,
            sets=self._sets(tariff, cold),
            folds=tuple(self._folds(best, trail)),
            bounds_arrivals=found[0][0].cost > best.cost,
        )

    def _folds(self, schedule: CompactionSchedule, trail: Trail) -> Iterator[OracleCompaction]:
        last: TrailCut | None = None
        for folding in schedule.folds:
            moment, cut = trail.moments[folding.call], trail.cuts[folding.cut]
            behind = (item.position for item in self.layout.items[cut.index :])
            yield OracleCompaction(
                call=folding.call,
                position=next(p for p in behind if p >= 0),
                tail=trail.sums[moment.length] - trail.sums[cut.index],
                before=trail.tokens(last, moment),
                after=trail.tokens(cut, moment),
                is_cold=moment.cold,
            )
            last = cut

    def _sets(self, tariff: Tariff, cold: Container[int]) -> float:
        calls = self.layout.calls
        new = [0] * len(calls)
        pieces = list(self._pieces())
        for piece in pieces:
            new[piece.call] += piece.least
        is_cold = tuple(position in cold for position, _ in calls)
        life = LowestPrices(tariff, self.trails[0].fixed, tuple(new), is_cold)
        return least_cost(pieces, life)

    def _pieces(self) -> Iterator[OracleMessage]:
        """Yield the content that every policy has to handle, by message."""
        wanted = self._wanted()
        limit, start = self.budget.limit, self.layout.head
        large = min(ARRIVES, limit // 4)
        for call, (_, end) in enumerate(self.layout.calls):
            news = [item for item in self.layout.items[start:end] if item.position >= 0]
            tight = self.trails[0].fixed + sum(item.tokens for item in news) > limit // SQUEEZED
            for item in news:
                entry = self.entries[item.position]
                whole = min(item.tokens, entry.tokens)
                least = MESSAGE_OVERHEAD if tight or whole > large else whole - entry.thinking
                yield OracleMessage(whole, least, call, wanted.get(item.position, ()))
            start = max(start, end)

    def _wanted(self) -> dict[int, tuple[int, ...]]:
        """Find the calls that want a message whole: what a record names is there without it."""
        number = {position: call for call, (position, _) in enumerate(self.layout.calls)}
        wanted: dict[int, set[int]] = defaultdict(set)
        for turn, uses in self.uses.items():
            for use in uses:
                if not use.text:
                    wanted[use.source].add(number[turn])
        return {source: tuple(sorted(calls)) for source, calls in wanted.items()}
