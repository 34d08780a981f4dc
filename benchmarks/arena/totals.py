"""Rows added up: one figure per group, policy, window and tariff."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from benchmarks.arena.rows import DEEPAGENTS, OURS, RECORDED, Row
from benchmarks.arena.workloads import SCHEME, WORKLOADS
from thalweg.engine.pricing.table import TARIFFS

LONG = f"{RECORDED}, long"
"""Those recorded threads that are larger than the window."""
BOTH = f"{RECORDED}, both act"
"""Those from which the default and installed deepagents remove content."""
TEST = f"{BOTH}, test half"
"""Every second of them: sizes of presets are chosen with the first, third, and so on."""
PARTS = (LONG, BOTH, TEST)
"""Subsets of the recorded threads."""

CHEAP, DEAR = "cost", "cost_with_steps"
"""Fields of the two ends of what a thread costs.

No one missed what was removed; everybody who used it needed the steps to it first."""
FORMER = "cost_with_faults"
"""The former of the dear end, which the best in hindsight still minimizes."""
WHOLE = "whole_bill"
"""The dear end, with all costs that a provider bills."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The place of a total."""

    group: str
    window: int
    tariff: str


@dataclass(frozen=True, slots=True)
class Total:
    """The rows of one policy in one cell."""

    rows: tuple[Row, ...]

    def sum(self, field: str) -> float:
        """Add up one field."""
        return float(sum(attrgetter(field)(row) for row in self.rows))

    @property
    def cost(self) -> float:
        """Without steps to removed content."""
        return self.sum(CHEAP)

    @property
    def dear(self) -> float:
        """With them."""
        return self.sum(DEAR)

    @property
    def recall(self) -> float:
        """Share of the needles that are in the context or one search away; 1 without needles."""
        return 1 - self.sum("lost") / self.needles if self.needles else 1.0

    @property
    def needles(self) -> float:
        """Number of needles."""
        return self.sum("inline") + self.sum("search") + self.sum("lost")

    def fixed_part(self, tokens: int) -> float:
        """Return what a system prompt and tools of so many tokens add to the cost.

        Each call reads them from the cache, or writes them where it finds nothing there. Our
        summaries are requested after the live request, so they read them once more.
        """
        added = 0.0
        for row in self.rows:
            prices = TARIFFS[row.tariff].prices(tokens)
            asked = row.calls + (0 if row.policy.startswith("peer:") else row.summaries)
            added += tokens * (prices.write * row.cold + prices.read * (asked - row.cold))
        return added

    def ratio_to(self, other: "Total", mine: str, its: str = "") -> float:
        """Divide one field by another's of the same threads: those that neither failed on."""
        fine = {row.trajectory for row in other.rows if not row.failed}
        pairs = {row.trajectory for row in self.rows if not row.failed} & fine
        above = sum(attrgetter(mine)(row) for row in self.rows if row.trajectory in pairs)
        below = sum(attrgetter(its or mine)(row) for row in other.rows if row.trajectory in pairs)
        return above / below if below else 1.0

    @property
    def failed(self) -> tuple[Row, ...]:
        """Rows without figures."""
        return tuple(row for row in self.rows if row.failed)


Totals = Mapping[Cell, Mapping[str, Total]]
"""By cell and policy."""


def totals_of(rows: Sequence[Row]) -> Totals:
    """Add up rows; subsets of the recorded threads are groups in addition, see `PARTS`.

    In a cell, only threads count that every policy has figures of, or has failed on: an
    interrupted run yields figures of the same threads for all.
    """
    policies: dict[tuple[str, int, str], set[str]] = defaultdict(set)
    had: dict[tuple[str, int, str], set[str]] = defaultdict(set)
    for row in rows:
        policies[row.group, row.window, row.tariff].add(row.policy)
        had[row.trajectory, row.window, row.tariff].add(row.policy)
    acting = _acting(rows)
    grouped: dict[Cell, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(rows, key=lambda r: (_order(r.group), r.group, r.window, r.trajectory)):
        wanted = policies[row.group, row.window, row.tariff]
        if had[row.trajectory, row.window, row.tariff] != wanted:
            continue
        for group in _groups(row, acting[row.window, row.tariff]):
            grouped[Cell(group, row.window, row.tariff)][row.policy].append(row)
    return {
        cell: {policy: Total(tuple(some)) for policy, some in by_policy.items()}
        for cell, by_policy in grouped.items()
    }


def _groups(row: Row, acting: Sequence[str]) -> Iterable[str]:
    yield row.group
    if row.group == RECORDED and row.whole_tokens > row.window:
        yield LONG
    if row.group == RECORDED and row.trajectory in acting:
        yield BOTH
        if acting.index(row.trajectory) % 2:
            yield TEST


def _acting(rows: Sequence[Row]) -> Mapping[tuple[int, str], Sequence[str]]:
    """Return the threads from which both remove content, by window and tariff, sorted."""
    found: dict[tuple[int, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        if row.evicted:
            found[row.window, row.tariff][row.policy].add(row.trajectory)
    both = {place: by[OURS] & by[DEEPAGENTS] for place, by in found.items()}
    return defaultdict(list, {place: sorted(names) for place, names in both.items()})


def _order(group: str) -> int:
    """Put recorded threads first, then workloads as they are listed, then the others."""
    known = [RECORDED, *(SCHEME + name for name in WORKLOADS)]
    return known.index(group) if group in known else len(known)


def title(group: str) -> str:
    """Name a group for a reader."""
    return group.removeprefix(SCHEME)
