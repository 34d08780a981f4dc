"""The page: text by hand, figures between markers."""

import re
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from benchmarks.arena import tables
from benchmarks.arena.rows import DETAILED, POLICIES, RECORDED, Row, versions
from benchmarks.arena.totals import Totals, title
from benchmarks.arena.verdicts import Verdict

PAGE = Path(__file__).parents[2] / "docs" / "arena.md"
README = PAGE.parents[1] / "README.md"
_MARKED = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write_page(
    page: Path, totals: Totals, rows: Sequence[Row], found: Sequence[Verdict], today: date
) -> None:
    """Write the page, taking from the one in the repository all that is no figure."""
    figures = {
        "measured": _measured(rows, today),
        "verdicts": tables.judged(found),
        "deepagents": tables.compared_with_deepagents(totals),
        "everything": tables.compared_with_everything(totals),
        "fixed_part": tables.with_fixed_part(totals),
        "whole_bill": _by_place(totals, tables.whole_bill),
        "frontier": tables.frontier(totals),
        "full": _by_place(totals, tables.in_full),
    }
    text = PAGE.read_text(encoding="utf-8")
    page.write_text(fill(text, figures), encoding="utf-8")


def write_readme(totals: Totals) -> None:
    """Write the figures of README."""
    text = README.read_text(encoding="utf-8")
    README.write_text(fill(text, {"arena": tables.in_short(totals)}), encoding="utf-8")


def fill(text: str, figures: dict[str, str]) -> str:
    """Put figures between their markers.

    Raises:
        KeyError: A marker names figures that there are none of.
    """
    return _MARKED.sub(lambda m: f"{m[1]}\n{figures[m[2]]}\n\n{m[3]}", text)


def _measured(rows: Sequence[Row], today: date) -> str:
    threads = {row.trajectory for row in rows if row.group == RECORDED}
    scripted = dict.fromkeys(title(row.group) for row in rows if row.group != RECORDED)
    peers = ", ".join(f"{package} {version}" for package, version in versions().items())
    absent = [policy for policy in POLICIES if policy not in {row.policy for row in rows}]
    what = f"{len(threads)} recorded threads; the workloads {', '.join(scripted) or 'not'}"
    text = f"Measured on {today:%d %B %Y}: {what}. Installed: {peers or 'no peer'}."
    if absent:
        text += f"\nNot measured here: {', '.join(f'`{name}`' for name in absent)}."
    return text


def _by_place(totals: Totals, render: Callable[[Totals, str, int], str]) -> str:
    """Return one table for each group of threads and window."""
    places = dict.fromkeys((c.group, c.window) for c in totals if c.tariff == DETAILED)
    return "\n\n".join(
        f"**{title(group)}, window {window:,}**\n\n{render(totals, group, window)}"
        for group, window in places
    )
