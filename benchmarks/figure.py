"""Draw what a turn costs against the length of the thread, from what `benchmarks.agent` saved.

uv run --group bench python -m benchmarks.figure
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from benchmarks.contestants import BARE, DEEP, OURS, SUMMARIZING

MEASURED = Path(__file__).parent / "measured" / "beside.json"
FIGURE = Path(__file__).parents[1] / "docs" / "growth.png"
COLORS = {OURS: "#0b6e4f", DEEP: "#c1440e", SUMMARIZING: "#7a5195", BARE: "#8a8a8a"}
NAMES = {
    OURS: "create_agent + Thalweg",
    DEEP: "create_deep_agent",
    SUMMARIZING: "create_agent + SummarizationMiddleware",
    BARE: "create_agent alone (outgrows its window)",
}
WIDTH_PX, DPI = 1_600, 200


def main() -> int:
    """Draw the figure."""
    rows = json.loads(MEASURED.read_text())
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, (cpu, written) = plt.subplots(1, 2, figsize=(WIDTH_PX / DPI, 3.9))
    _draw(cpu, rows, "cpu_mean_ms", "CPU time per turn, ms")
    _draw(
        written,
        [_in_mb(row) for row in rows],
        "written_mean_mb",
        "Written per turn, MB, temporary files included",
    )
    handles, names = cpu.get_legend_handles_labels()
    figure.legend(handles, names, loc="lower center", ncols=2, frameon=False)
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.savefig(FIGURE, dpi=DPI)
    print(FIGURE)
    return 0


def _in_mb(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "written_mean_mb": row["written_mean_kb"] / 1e3}


def _draw(axes: Axes, rows: Sequence[Mapping[str, Any]], what: str, title: str) -> None:
    for name, color in COLORS.items():
        mine = [row for row in rows if row["name"] == name]
        axes.plot(
            [row["messages"] for row in mine],
            [row[what] for row in mine],
            color=color,
            linewidth=2.4 if name == OURS else 1.6,
            marker="o",
            markersize=4,
            label=NAMES[name],
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_xlabel("messages in the thread")
    axes.set_xlim(left=0)
    axes.grid(axis="y", color="#e0e0e0", linewidth=0.8)


if __name__ == "__main__":
    sys.exit(main())
