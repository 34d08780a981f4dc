"""The chart of the page: what each policy costs, and how often its agent has to look again."""

from pathlib import Path

import matplotlib.pyplot as plt

from benchmarks.arena.rows import DEEPAGENTS, OURS, PRESETS, RECORDED
from benchmarks.arena.tables import DETAILED
from benchmarks.arena.totals import DEAR, Cell, Total, Totals

NAME = "arena-frontier.png"
OWN, OTHER, FIXED_COLOR = "#0b6e4f", "#c1440e", "#8a8a8a"


def draw_all(totals: Totals, folder: Path, window: int = 128_000) -> list[Path]:
    """Draw cost against steps of every policy on the recorded threads, if there are figures."""
    policies = totals.get(Cell(RECORDED, window, DETAILED), {})
    if DEEPAGENTS not in policies or OURS not in policies:
        return []
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=(7.5, 4.2))
    for name, total in policies.items():
        is_preset = name in (OURS, *PRESETS)
        color = OWN if is_preset else OTHER if name.startswith("peer:") else FIXED_COLOR
        x, y = steps_per_100_calls(total), total.beside(policies[DEEPAGENTS], DEAR)
        axes.scatter([x], [y], s=70 if is_preset else 34, color=color, zorder=3)
        label = f"{name} (balanced)" if name == OURS else name
        weight = "bold" if is_preset else "normal"
        axes.annotate(label, (x, y), (6, 5), textcoords="offset points", color=color, weight=weight)
    axes.set_xlabel("steps to removed content, per 100 calls")
    axes.set_ylabel("cost with steps / deepagents'")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.margins(x=0.15)
    axes.grid(color="#e8e8e8", linewidth=0.8)
    where = f"recorded threads, window {window:,}, prices of {DETAILED}"
    axes.set_title(where, loc="left", fontsize=9)
    figure.tight_layout()
    figure.savefig(folder / NAME, dpi=200)
    plt.close(figure)
    return [folder / NAME]


def steps_per_100_calls(total: Total) -> float:
    """Return the calls that later uses of removed content need, per 100 calls of the threads."""
    return 100 * total.sum("steps") / max(1.0, total.sum("calls"))
