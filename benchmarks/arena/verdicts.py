"""What the figures have to show, and by how much they miss it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchmarks.arena.rows import DEEPAGENTS, DETAILED, FIXED, OURS, PEERS, RECORD
from benchmarks.arena.totals import BOTH, DEAR, PARTS, TEST, WHOLE, Cell, Total, Totals, title

MOST = {32_000: 1.0, 128_000: 0.55, 200_000: 0.35}
"""Cost with steps, as a share of what installed deepagents costs, by window. At 128,000 it was 0.35
before the default kept more, for a third of the steps."""
MOST_AT = {"deepseek": 0.6}
"""The least such share that is asked for at some prices: there reading costs nearly nothing."""
MOST_WHOLE = {128_000: 0.58}
"""The whole bill as a share of deepagents', on the threads where both act."""
NEAR = 1.05
"""The same, as a share of the best fixed threshold of our own policy."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One figure that had to be reached, in one cell."""

    rule: str
    where: str
    figure: float
    limit: float

    @property
    def is_met(self) -> bool:
        """Whether it was."""
        return self.figure <= self.limit + 1e-9

    def __str__(self) -> str:
        by = "" if self.is_met else f", {self.figure - self.limit:.4f} too much"
        return f"{self.where}: {self.rule} is {self.figure:.4g}, at most {self.limit:g}{by}"


def verdicts(totals: Totals) -> list[Verdict]:
    """Judge every cell; parts of the recorded threads only for the whole bill."""
    found: list[Verdict] = []
    for cell, policies in totals.items():
        if OURS in policies and cell.group not in PARTS:
            found += _of_cell(cell, policies)
        if cell.group == TEST and OURS in policies:
            found += _against_fixed(cell, policies)
        if cell.group == BOTH and cell.window in MOST_WHOLE and cell.tariff == DETAILED:
            ratio = policies[OURS].ratio_to(policies[DEEPAGENTS], WHOLE)
            where = f"{title(cell.group)}, {cell.window:,}, {cell.tariff}"
            most = MOST_WHOLE[cell.window]
            found.append(Verdict("whole bill against deepagents", where, ratio, most))
    return found


def _of_cell(cell: Cell, policies: Mapping[str, Total]) -> Iterator[Verdict]:
    where = f"{title(cell.group)}, {cell.window:,}, {cell.tariff}"
    ours = policies[OURS]
    if DEEPAGENTS in policies and cell.window in MOST:
        ratio = ours.ratio_to(policies[DEEPAGENTS], DEAR)
        most = max(MOST[cell.window], MOST_AT.get(cell.tariff, 0.0))
        yield Verdict("cost against deepagents", where, ratio, most)
    if best := best_trigger(policies):
        ratio = ours.ratio_to(policies[best], DEAR)
        yield Verdict(f"cost against its best trigger ({best})", where, ratio, 1.0)
    yield from _against_fixed(cell, policies)
    for peer in (name for name in PEERS if name in policies):
        less = policies[peer].recall - ours.recall
        yield Verdict(f"recall of {peer} less ours", where, less, 0.0)
    for name in (OURS, RECORD):
        if name in policies:
            yield from _flaws(name, where, policies[name])


def _against_fixed(cell: Cell, policies: Mapping[str, Total]) -> Iterator[Verdict]:
    if best := best_fixed(policies):
        where = f"{title(cell.group)}, {cell.window:,}, {cell.tariff}"
        ratio = policies[OURS].ratio_to(policies[best], DEAR)
        yield Verdict(f"cost against our best threshold ({best})", where, ratio, NEAR)


def _flaws(name: str, where: str, total: Total) -> Iterator[Verdict]:
    yield Verdict(f"requests over the window, {name}", where, total.sum("over"), 0)
    yield Verdict(f"invalid requests, {name}", where, total.sum("invalid"), 0)
    yield Verdict(f"threads without figures, {name}", where, len(total.failed), 0)


def best_trigger(policies: Mapping[str, Total]) -> str:
    """Name the cheapest trigger of installed deepagents that recalls as much as we do, if any."""
    tried = [name for name in policies if name.startswith(DEEPAGENTS)]
    equal = [name for name in tried if policies[name].recall >= policies[OURS].recall]
    return min(equal, key=lambda name: policies[name].dear, default="")


def best_fixed(policies: Mapping[str, Total]) -> str:
    """Return the fixed threshold of our own policy that was cheapest in hindsight, if any."""
    tried = [name for name in FIXED if name in policies and not policies[name].failed]
    return min(tried, key=lambda name: policies[name].dear, default="")
