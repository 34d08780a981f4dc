"""The chart of the page: what each policy costs, and how often its agent has to look again."""

from pathlib import Path

import matplotlib.pyplot as plt

from benchmarks.arena.rows import DEEPAGENTS, DETAILED, FIXED, OURS, PRESETS
from benchmarks.arena.tables import steps_per_100_calls
from benchmarks.arena.totals import TEST, WHOLE, Cell, Totals

NAME = "arena-frontier.png"
OWN, OTHER, FIXED_COLOR = "#0b6e4f", "#c1440e", "#8a8a8a"


def draw_all(totals: Totals, folder: Path, window: int = 128_000) -> list[Path]:
    """Draw cost against steps of every policy on the test half, if there are figures."""
    policies = totals.get(Cell(TEST, window, DETAILED), {})
    if DEEPAGENTS not in policies or OURS not in policies:
        return []
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
    figure, axes = plt.subplots(figsize=(7.5, 4.2))
    places = {
        name: (steps_per_100_calls(total), total.ratio_to(policies[DEEPAGENTS], WHOLE))
        for name, total in policies.items()
        if not total.failed
    }
    fixed = [places[name] for name in FIXED if name in places]
    axes.plot(*zip(*fixed, strict=True), color=FIXED_COLOR, linewidth=0.8) if fixed else None
    for name, (x, y) in places.items():
        is_preset = name in (OURS, *PRESETS)
        is_peer = name.startswith("peer:")
        color = OWN if is_preset else OTHER if is_peer else FIXED_COLOR
        axes.scatter([x], [y], s=70 if is_preset else 30, color=color, zorder=3)
        shown = "balanced, the default" if name == OURS else name.removeprefix("thalweg-")
        axes.annotate(
            shown.removeprefix("thalweg").removeprefix("peer:"),
            (x, y),
            (0, -15) if is_preset else (8, -3) if is_peer else (5, 5),
            textcoords="offset points",
            ha="center" if is_preset else "left",
            color=color,
            weight="bold" if is_preset else "normal",
            fontsize=8,
        )
    axes.set_xlabel("steps: calls to have removed content again, per 100 calls")
    axes.set_ylabel("whole bill / deepagents'")
    axes.set_xlim(0, 1.15 * max(x for x, _ in places.values()))
    axes.set_ylim(0, 1.1 * max(y for _, y in places.values()))
    axes.grid(color="#e8e8e8", linewidth=0.8)
    threads = len(policies[OURS].rows)
    where = (
        f"{threads} sessions that no preset was chosen on, window {window:,}, {DETAILED}'s prices"
    )
    note = "@0.25: with a fixed trigger at a quarter of the window"
    figure.suptitle(f"{where}\n{note}", x=0.01, ha="left", fontsize=9)
    figure.tight_layout()
    figure.savefig(folder / NAME, dpi=160)
    plt.close(figure)
    return [folder / NAME]
