"""The tables of the page, in Markdown."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from benchmarks.arena.policies import ORACLE
from benchmarks.arena.rows import (
    DEEPAGENTS,
    DETAILED,
    FIXED,
    OURS,
    POLICIES,
    PRESETS,
    RECORDED,
    TARIFFS,
)
from benchmarks.arena.totals import (
    BOTH,
    CHEAP,
    DEAR,
    FORMER,
    TEST,
    WHOLE,
    Cell,
    Total,
    Totals,
    title,
)
from benchmarks.arena.verdicts import Verdict

MILLION = 1e6
CellText = Callable[[Mapping[str, Total]], str]
"""The contents of one cell of a table, about its policies."""


def compared_with_deepagents(totals: Totals) -> str:
    """Return our cost as a share of deepagents', without steps to removed content and with."""

    def cell(policies: Mapping[str, Total]) -> str:
        if DEEPAGENTS not in policies:
            return ""
        ours, peer = policies[OURS], policies[DEEPAGENTS]
        low, high = sorted((ours.ratio_to(peer, CHEAP), ours.ratio_to(peer, DEAR)))
        return f"{low:.2f} to {high:.2f}"

    return _by_tariff(totals, cell)


DEARER = 1.005
"""Share of the cost of sending everything above which a thread counts as dearer."""


def compared_with_everything(totals: Totals) -> str:
    """Return our cost as a share of sending everything, and the threads that cost more than that.

    Sending everything is priced in a window without end.
    """

    def cell(policies: Mapping[str, Total]) -> str:
        rows = [row for row in policies[OURS].rows if row.cost_unmanaged and not row.failed]
        whole = sum(row.cost_unmanaged for row in rows)
        if not whole:
            return ""
        shares = [row.cost_with_steps / row.cost_unmanaged for row in rows]
        dearer = [share for share in shares if share > DEARER]
        share = f"{policies[OURS].dear / whole:.2f}"
        if dearer:
            share += f"; {len(dearer)} of {len(rows)} dearer, up to {max(dearer):.2f}"
        return share

    return _by_tariff(totals, cell)


FIXED_PARTS = (0, 12_000, 25_000)
"""Tokens of a system prompt and tools: none, of a usual agent, of a large coding agent."""


def with_fixed_part(totals: Totals) -> str:
    """Return our cost as a share of deepagents', with what no policy can shrink."""
    rows: list[list[str]] = []
    for cell, policies in sorted(totals.items(), key=lambda pair: pair[0].window):
        if cell.tariff != DETAILED or not {OURS, DEEPAGENTS} <= policies.keys():
            continue
        ours, peer = policies[OURS], policies[DEEPAGENTS]
        ratios = [
            f"{(ours.dear + ours.fixed_part(n)) / (peer.dear + peer.fixed_part(n)):.2f}"
            for n in FIXED_PARTS
        ]
        rows.append([f"{title(cell.group)}, {cell.window // 1_000}k", *ratios])
    return _table(("threads, window", *(f"{n:,}" for n in FIXED_PARTS)), rows)


_BILL = {
    "uncached": "plain",
    "reads": "reads",
    "writes": "writes",
    "system prompt, tools": "system",
    "`recall`": "recall",
    "output": "output",
    "summaries": "summaries",
    "steps": "steps",
}
"""Columns of a bill, and the parts that they show."""


def whole_bill(totals: Totals, group: str, window: int) -> str:
    """Return the parts of the whole bill of every policy, at one tariff."""
    policies = totals.get(Cell(group, window, DETAILED), {})
    rows = [
        [
            f"`{name}`",
            *(f"{total.sum(f'bill.{part}') / MILLION:.2f}" for part in _BILL.values()),
            f"{total.sum(WHOLE) / MILLION:.2f}",
            *([_ratio(total, peer, WHOLE), _ratio(total, peer, DEAR)] if peer else []),
        ]
        for peer in [policies.get(DEEPAGENTS)]
        for name in POLICIES
        if name in policies and name != ORACLE and not (total := policies[name]).failed
    ]
    ratios = (
        ["/ deepagents'", "of input, with steps / deepagents'"] if DEEPAGENTS in policies else []
    )
    return _table(("policy", *_BILL, "whole bill", *ratios), rows)


def _ratio(total: Total, peer: Total, field: str) -> str:
    return f"{total.ratio_to(peer, field):.2f}"


def steps_per_100_calls(total: Total) -> float:
    """Return the calls that later uses of removed content need, per 100 calls of the threads."""
    return 100 * total.sum("steps") / max(1.0, total.sum("calls"))


def in_short(totals: Totals, window: int = 128_000) -> str:
    """Return the table of README, and a sentence about the threads where both act."""
    recorded = totals[Cell(RECORDED, window, DETAILED)]
    names = {OURS: "**thalweg**", DEEPAGENTS: "deepagents"}
    names |= {name: f"thalweg, `cost: {name.removeprefix('thalweg-')}`" for name in PRESETS}
    rows = [
        [
            names[name],
            f"{total.sum(WHOLE) / MILLION:.1f}",
            f"{total.dear / MILLION:.1f}",
            f"{steps_per_100_calls(total):.1f}",
            f"{total.sum('inline') + total.sum('search'):.0f} of {total.needles:.0f}",
            f"{total.sum('goals_lost'):.0f} of {total.sum('goals'):.0f}",
        ]
        for name in (OURS, *sorted(PRESETS), DEEPAGENTS)
        if (total := recorded.get(name))
    ]
    heads = (
        f"window {window:,}, Anthropic's prices",
        "whole bill",
        "of input",
        "steps per 100 calls",
        "details found",
        "goal quotes out of context",
    )
    both = totals.get(Cell(BOTH, window, DETAILED), {})
    sections = [_table(heads, rows)]
    if DEEPAGENTS in both:
        ours, peer = both[OURS], both[DEEPAGENTS]
        steps = [f"{steps_per_100_calls(one):.1f}" for one in (ours, peer)]
        sections.append(
            f"On the {len(ours.rows)} sessions where both remove content, thalweg's whole bill is "
            f"{_ratio(ours, peer, WHOLE)} of deepagents', and {_ratio(ours, peer, DEAR)} of "
            f"input alone, with {steps[0]} and {steps[1]} steps per 100 calls."
        )
    return "\n\n".join(sections)


def frontier(totals: Totals, window: int = 128_000) -> str:
    """Return the figures of the chart: cost against steps of every policy, on the test half."""
    policies = totals.get(Cell(TEST, window, DETAILED), {})
    peer = policies.get(DEEPAGENTS)
    rows = [
        [
            f"`{name}`",
            f"{steps_per_100_calls(total):.1f}",
            _ratio(total, peer, DEAR),
            _ratio(total, peer, WHOLE),
        ]
        for name, total in sorted(policies.items(), key=lambda pair: steps_per_100_calls(pair[1]))
        if peer and not total.failed
    ]
    return _table(("policy", "steps per 100 calls", "cost with steps", "whole bill"), rows)


def in_full(totals: Totals, group: str, window: int) -> str:
    """Return everything about every policy, at one tariff."""
    policies = totals.get(Cell(group, window, DETAILED), {})
    heads = (
        "policy", "cost", "with steps", "with faults", "cached", "breaks", "summaries",
        "over / invalid", "steps", "faults", "needles", "goals lost", "unread",
    )  # fmt: skip
    rows = [
        _full(name, policies[name])
        for name in POLICIES
        if name in policies and name not in FIXED and name != ORACLE
    ]
    return _table(heads, rows)


def _full(name: str, total: Total) -> list[str]:
    if total.failed:
        return [f"`{name}`", f"no figures for {len(total.failed)} threads", *[""] * 11]
    needles = "/".join(f"{total.sum(what):.0f}" for what in ("inline", "search", "lost"))
    unread = _percent(total.sum("unread"), total.sum("evicted"))
    faults, lost = total.sum("faults"), total.sum("faults_lost")
    return [
        f"`{name}`",
        f"{total.cost / MILLION:.2f}",
        f"{total.dear / MILLION:.2f}",
        f"{total.sum(FORMER) / MILLION:.2f}",
        _percent(total.sum("cached"), total.sum("input")),
        f"{total.sum('breaks'):,.0f}",
        f"{total.sum('summaries'):,.0f}",
        f"{total.sum('over'):.0f} / {total.sum('invalid'):.0f}",
        f"{total.sum('steps'):.0f}/{total.sum('steps_lost'):.0f}",
        f"{faults - lost:.0f}/{lost:.0f}",
        needles,
        f"{total.sum('goals_lost'):.0f} of {total.sum('goals'):.0f}",
        unread,
    ]


def judged(found: Sequence[Verdict]) -> str:
    """Return which figures were reached, rule by rule, and which were missed, one by one."""
    rules: dict[str, list[Verdict]] = {}
    for verdict in found:
        rule = verdict.rule.partition(" (")[0]
        rules.setdefault("recall below a peer's" if "recall" in rule else rule, []).append(verdict)
    rows = [
        [rule, f"{sum(v.is_met for v in some)} of {len(some)}", f"{max(_excess(some)):+.3f}"]
        for rule, some in rules.items()
    ]
    missed = [f"- {verdict}" for verdict in found if not verdict.is_met]
    table = _table(("what", "reached in", "worst, beyond its limit"), rows)
    return table if not missed else f"{table}\n\nMissed:\n\n" + "\n".join(missed)


def _excess(some: Iterable[Verdict]) -> list[float]:
    return [verdict.figure - verdict.limit for verdict in some]


def _by_tariff(totals: Totals, render: CellText) -> str:
    """Lay out one figure per group and window, a column a tariff."""
    tariffs = [tariff for tariff in TARIFFS if any(cell.tariff == tariff for cell in totals)]
    places = dict.fromkeys((cell.window, cell.group) for cell in totals)
    rows: list[list[str]] = []
    for window, group in sorted(places, key=lambda place: place[0]):
        cells = [totals.get(Cell(group, window, tariff), {}) for tariff in tariffs]
        texts = [render(policies) if OURS in policies else "" for policies in cells]
        rows.append([f"{title(group)}, {window // 1_000}k", *texts])
    return _table(("threads, window", *tariffs), rows)


def _percent(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else "-"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rule, *rows))
