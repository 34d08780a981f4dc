"""The charts of the page."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from benchmarks.arena.policies import ORACLE
from benchmarks.arena.rows import (
    DEEPAGENTS,
    FIXED,
    OURS,
    PEERS,
    RECORD,
    RECORDED,
    SHARES,
    TARIFFS,
)
from benchmarks.arena.totals import DEAR, LONG, Cell, Total, Totals, title
from benchmarks.arena.verdicts import NEAR

DPI = 200
WIDTH = 8.0
COLORS = {
    OURS: "#0b6e4f",
    RECORD: "#57b894",
    DEEPAGENTS: "#c1440e",
    f"{DEEPAGENTS}@0.25": "#e58a5f",
    f"{DEEPAGENTS}@0.5": "#f0b89a",
    "peer:langchain-summarization": "#7a5195",
    "peer:langchain-editing": "#b39bc8",
    "peer:strands": "#2f6690",
    "peer:headroom": "#c9a227",
    ORACLE: "#333333",
}
GROUP_COLORS = ("#0b6e4f", "#c1440e", "#7a5195", "#2f6690", "#c9a227")
_ENOUGH = f"where ours would be {NEAR - 1:.0%} dearer"
DRAWN_TO = 2.0
"""Where the bars of the first chart are cut off."""


def draw_all(totals: Totals, folder: Path) -> list[Path]:
    """Draw every chart that there are figures for."""
    plt.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
    drawn = {
        "arena-relative.png": _relative(totals),
        "arena-calls.png": _calls(totals),
        "arena-thresholds.png": _thresholds(totals),
    }
    paths: list[Path] = []
    for name, figure in drawn.items():
        if figure is not None:
            figure.savefig(folder / name, dpi=DPI)
            plt.close(figure)
            paths.append(folder / name)
    return paths


def _relative(totals: Totals) -> Figure | None:
    """Draw cost relative to deepagents: a panel per tariff and window, groups across."""
    windows, tariffs, groups = _axes_of(totals)
    policies = [p for p in (OURS, RECORD, *PEERS) if p != DEEPAGENTS and _has(totals, p)]
    if not policies or not _has(totals, DEEPAGENTS):
        return None
    figure, panels = plt.subplots(
        len(tariffs),
        len(windows),
        figsize=(WIDTH, 0.7 + 1.65 * len(tariffs)),
        squeeze=False,
        sharey=True,
        sharex=True,
    )
    for row, tariff in zip(panels, tariffs, strict=True):
        for axes, window in zip(row, windows, strict=True):
            cells = [totals.get(Cell(group, window, tariff), {}) for group in groups]
            _bars(axes, cells, policies)
            axes.set_title(f"{tariff}, window {window:,}", loc="left", fontsize=8.5)
            axes.set_xticks(range(len(groups)), [_wrapped(group) for group in groups])
    for row in panels:
        row[0].set_ylabel("cost / deepagents'")
    _legend(figure, panels[0][0])
    return figure


def _bars(axes: Axes, cells: Sequence[Mapping[str, Total]], policies: Sequence[str]) -> None:
    width = 0.8 / len(policies)
    for k, policy in enumerate(policies):
        heights = [
            cell[policy].beside(cell[DEEPAGENTS], DEAR)
            if {policy, DEEPAGENTS} <= cell.keys()
            else 0.0
            for cell in cells
        ]
        at = [x - 0.4 + width * (k + 0.5) for x in range(len(cells))]
        axes.bar(at, [min(h, DRAWN_TO) for h in heights], width, color=COLORS[policy], label=policy)
        for x, height in zip(at, heights, strict=True):
            if policy == OURS:
                _tell(axes, x, height + 0.02, f"{height:.2f}", COLORS[OURS], rotation=0)
            elif height > DRAWN_TO:
                _tell(axes, x, DRAWN_TO - 0.5, f"{height:.1f}", "white", rotation=90)
    axes.axhline(1, color=COLORS[DEEPAGENTS], linewidth=1, linestyle="--", label=DEEPAGENTS)
    axes.set_ylim(0, DRAWN_TO + 0.12)
    axes.tick_params(axis="x", length=0)


def _tell(axes: Axes, x: float, y: float, text: str, color: str, *, rotation: int) -> None:
    axes.text(x, y, text, ha="center", va="bottom", fontsize=6, color=color, rotation=rotation)


def _calls(totals: Totals) -> Figure | None:
    """Draw how the cost of one scripted thread adds up, call by call."""
    cell = _told_call_by_call(totals)
    if cell is None:
        return None
    policies = totals[cell]
    figure, axes = plt.subplots(figsize=(WIDTH, 3.8))
    for policy in (OURS, RECORD, *PEERS):
        if policy not in policies or policies[policy].failed:
            continue
        costs = [0.0, *accumulate(policies[policy].rows[0].by_call)]
        is_ours = policy == OURS
        axes.plot(
            [cost / 1e6 for cost in costs],
            color=COLORS[policy],
            linewidth=2.2 if is_ours else 1.3,
            zorder=3 if is_ours else 2,
            label=policy,
        )
    axes.set_xlabel("model calls")
    axes.set_ylabel("cost so far, million units")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#e0e0e0", linewidth=0.8)
    where = f"{title(cell.group)}, window {cell.window:,}, prices of {cell.tariff}"
    axes.set_title(where, loc="left", fontsize=8.5)
    _legend(figure, axes)
    return figure


def _told_call_by_call(totals: Totals) -> Cell | None:
    """Choose the thread to draw: mixed, in the larger window, at Anthropic's prices, if there."""

    def rank(cell: Cell) -> tuple[bool, int, int]:
        return "mixed" in cell.group, cell.window, -TARIFFS.index(cell.tariff)

    told = [
        cell
        for cell, policies in totals.items()
        if OURS in policies and policies[OURS].rows[0].by_call
    ]
    return max(told, key=rank, default=None)


def _thresholds(totals: Totals) -> Figure | None:
    """Draw what a fixed threshold would cost, next to what our policy does: a panel a tariff."""
    windows, tariffs, groups = _axes_of(totals)
    if not any(_has(totals, fixed) for fixed in FIXED):
        return None
    figure, panels = plt.subplots(
        len(tariffs),
        len(windows),
        figsize=(WIDTH, 0.8 + 1.75 * len(tariffs)),
        squeeze=False,
        sharex=True,
        sharey="row",
    )
    for row, tariff in zip(panels, tariffs, strict=True):
        for axes, window in zip(row, windows, strict=True):
            _curves(axes, [(g, totals.get(Cell(g, window, tariff), {})) for g in groups])
            axes.set_title(f"{tariff}, window {window:,}", loc="left", fontsize=8.5)
        row[0].set_ylabel("cost / ours")
    for axes in panels[-1]:
        axes.set_xlabel("fixed threshold, percent of the window")
    _legend(figure, panels[0][0])
    return figure


def _curves(axes: Axes, cells: Sequence[tuple[str, Mapping[str, Total]]]) -> None:
    for color, (group, cell) in zip(GROUP_COLORS, cells, strict=False):
        points = [
            (share, cell[fixed].beside(cell[OURS], DEAR))
            for share, fixed in zip(SHARES, FIXED, strict=True)
            if fixed in cell and OURS in cell
        ]
        if points:
            shares, costs = zip(*points, strict=True)
            axes.plot(shares, costs, color=color, marker="o", markersize=3, label=title(group))
    axes.axhline(1, color="#333333", linewidth=1.4, label="thalweg, told nothing")
    axes.axhline(1 / NEAR, color="#333333", linewidth=0.8, linestyle=":", label=_ENOUGH)
    axes.set_xscale("log")
    axes.set_xticks(SHARES)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=""))
    axes.grid(axis="y", color="#e8e8e8", linewidth=0.8)


def _axes_of(totals: Totals) -> tuple[list[int], list[str], list[str]]:
    windows = sorted({cell.window for cell in totals})
    tariffs = [t for t in TARIFFS if any(cell.tariff == t for cell in totals)]
    return windows, tariffs, [*dict.fromkeys(cell.group for cell in totals)]


def _has(totals: Totals, policy: str) -> bool:
    return any(policy in policies for policies in totals.values())


def _wrapped(group: str) -> str:
    return {RECORDED: "recorded", LONG: "recorded,\nlong"}.get(group, title(group))


def _legend(figure: Figure, axes: Axes) -> None:
    """Put one legend below everything."""
    handles, names = axes.get_legend_handles_labels()
    columns = 4
    lines = -(-len(names) // columns)
    figure.legend(handles, names, loc="lower center", ncols=columns, frameon=False, fontsize=7.5)
    height = figure.get_size_inches()[1]
    figure.tight_layout(rect=(0, (0.12 + 0.17 * lines) / height, 1, 1))
