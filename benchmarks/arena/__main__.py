"""Measure the arena, and write its page with tables and a chart, and the figures of README.

uv run --group bench --group arena python -m benchmarks.arena

Fixed triggers of our own policy are measured on the test half of the threads alone, for the chart.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.arena.page import PAGE, write_page, write_readme
from benchmarks.arena.rows import FIXED, OURS, POLICIES, TARIFFS, WINDOWS, Shelf
from benchmarks.arena.runs import measure, policies_here
from benchmarks.arena.totals import TEST, Total, totals_of
from benchmarks.arena.verdicts import verdicts
from benchmarks.arena.workloads import SCHEME
from scripts import pictures

SCRIPTED = f"{SCHEME}all"
NOT_THERE = "no recorded threads: set THALWEG_RECORDED to their folder. Only scripted ones are run."


def main() -> int:
    """Run it; 1 when a figure that has to be reached is missed."""
    options = _parse_arguments()
    policies, absent = policies_here(options.policies.split(","))
    for why in absent:
        print(f"left out: {why}", file=sys.stderr)
    folder, out = Path(options.folder), Path(options.out)
    folder.mkdir(parents=True, exist_ok=True)
    out.mkdir(parents=True, exist_ok=True)
    shelf = Shelf(folder / "rows.jsonl", any_code=options.any_code)
    places = options.places.split(",") if options.places else [*_recorded(), SCRIPTED]
    windows = [int(window) for window in options.windows.split(",")]
    tariffs, fixed = options.prices.split(","), [name for name in policies if name in FIXED]
    others = [name for name in policies if name not in FIXED]
    rows = measure(shelf, places, others, windows, tariffs)
    totals = {cell: dict(by_policy) for cell, by_policy in totals_of(rows).items()}
    for cell in [one for one in totals if fixed and one.group == TEST]:
        only = {row.trajectory for row in totals[cell][OURS].rows}
        at_fixed = measure(shelf, places, fixed, [cell.window], [cell.tariff], only=only)
        for name in fixed:
            totals[cell][name] = Total(tuple(row for row in at_fixed if row.policy == name))
        rows += at_fixed
    found = verdicts(totals)
    write_page(out / PAGE.name, totals, rows, found, datetime.now(tz=UTC).date())
    # matplotlib takes a second, and only who got here needs it
    from benchmarks.arena.charts import NAME, draw_all  # noqa: PLC0415

    for path in (out / PAGE.name, *draw_all(totals, out)):
        print(path)
    if out.resolve() == PAGE.parent:
        write_readme(totals)
        pictures.main([NAME])
    missed = [verdict for verdict in found if not verdict.is_met]
    print(f"{len(found) - len(missed)} of {len(found)} figures reached")
    for verdict in missed:
        print(f"missed: {verdict}")
    return 1 if missed else 0


def _parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arena", description=__doc__)
    add = parser.add_argument
    add("--folder", default=".arena", help="keeps what was measured; a new run goes on from there")
    add("--out", default=str(PAGE.parent), help="where the page and its chart are written")
    add("--places", default="", help="what to replay, by commas, instead of everything")
    add("--windows", default=",".join(map(str, WINDOWS)))
    add("--policies", default=",".join(POLICIES))
    add("--prices", default=",".join(TARIFFS))
    add("--any-code", action="store_true", help="keep peers' rows that older code measured")
    return parser.parse_args(arguments)


def _recorded() -> list[str]:
    """Find the folder of recorded threads: named by the environment, or next to the repository."""
    beside = PAGE.parents[2] / "shared" / "data" / "recorded"
    folder = Path(os.environ.get("THALWEG_RECORDED") or beside)
    places = [str(folder / name) for name in ("trajectories", "nc") if (folder / name).is_dir()]
    if not places:
        print(NOT_THERE, file=sys.stderr)
    return places


if __name__ == "__main__":
    sys.exit(main())
