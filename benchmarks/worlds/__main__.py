"""Which policies let an agent do its task, with how many calls, at which cost?

uv run --group arena python -m benchmarks.worlds [--window 32000,64000,128000] [--load 0.5,2.5]
    [--seeds 3] [--policy none,balanced] [--world gather] [--mode own,recall] [--json]
uv run python -m benchmarks.worlds --engine --count 10000 [--first SEED]
uv run python -m benchmarks.worlds --table FILE

With `--json` each run is a line of JSON, which `--table` reads. `--engine` plays random worlds
with the engine alone, and prints those in which the task was not done. Exit status 1: a random
world had no end within its limit of calls.
"""

import argparse
import json
import logging
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from benchmarks.worlds.agents import POLICIES, Row, run_world
from benchmarks.worlds.driver import Mode
from benchmarks.worlds.engine import random_world
from benchmarks.worlds.tasks import TASKS
from benchmarks.worlds.worlds import WORLDS

NONE, PEER = "none", "deepagents"
_HEAD = (
    "| window | load | world | mode | policy | done | calls | worst | cost / none | "
    "cost / deepagents | calls / deepagents |\n"
    "|---:|---:|---|---|---|---:|---:|---:|---:|---:|---:|"
)


def main() -> int:
    """Run the worlds, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--window", default="32000,64000,128000", help="tokens, with commas")
    parser.add_argument("--load", default="0.5,2.5", help="sources, as shares of the window")
    parser.add_argument("--seeds", type=int, default=3, help="worlds of each kind")
    parser.add_argument("--policy", default=",".join(POLICIES))
    parser.add_argument("--world", default=",".join(WORLDS), help=f"or {','.join(TASKS)}")
    parser.add_argument("--mode", default="own", help="own, recall or both")
    parser.add_argument("--json", action="store_true", help="a line for each run")
    parser.add_argument("--table", type=Path, help="print the table of a file of such lines")
    parser.add_argument("--engine", action="store_true", help="random worlds without LangChain")
    parser.add_argument("--count", type=int, default=1_000, help="random worlds")
    parser.add_argument("--first", type=int, default=0, help="seed of the first random world")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    if given.engine:
        return _random(range(given.first, given.first + given.count))
    if given.table:
        lines = given.table.read_text("utf-8").splitlines()
        print(table([Row(**json.loads(line)) for line in lines if line.startswith("{")]))
        return 0
    rows = []
    for row in _runs(given):
        rows.append(row)
        if given.json:
            print(json.dumps(row.to_dict()), flush=True)
    if not given.json:
        print(table(rows))
    return 0


def _runs(given: argparse.Namespace) -> Iterator[Row]:
    for window in map(int, given.window.split(",")):
        for load in map(float, given.load.split(",")):
            for seed in range(given.seeds):
                for world in given.world.split(","):
                    for mode in cast("list[Mode]", given.mode.split(",")):
                        for policy in given.policy.split(","):
                            yield run_world(world, policy, window, load, seed, mode)


def _random(seeds: Iterable[int]) -> int:
    ends: Counter[tuple[str, str]] = Counter()
    calls: dict[str, list[float]] = defaultdict(list)
    for seed in seeds:
        played = random_world(seed)
        how = "done" if not played.wrong else "wrong"
        how = "no end" if played.wrong.startswith("more than") else how
        ends[played.name, how] += 1
        calls[played.name].append(played.calls / played.base)
        if played.wrong:
            print(json.dumps({key: getattr(played, key) for key in played.__slots__}), flush=True)
    for world in sorted(calls):
        counts = {how: ends[world, how] for how in ("done", "wrong", "no end")}
        shares = sorted(calls[world])
        mean = sum(shares) / len(shares)
        print(
            f"{world}: {counts}, calls of those with the whole context: mean {mean:.2f}, "
            f"95 % {shares[int(0.95 * len(shares))]:.2f}, most {shares[-1]:.2f}"
        )
    return int(any(how == "no end" for _, how in ends))


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a table: means over seeds, relative to other policies in the same worlds.

    Calls are those of the agent's model, in those of the driver with its whole context; costs of
    two policies are compared in the worlds that both ran.
    """
    groups: dict[tuple[Any, ...], dict[int, Row]] = defaultdict(dict)
    for one in rows:
        groups[one.window, one.load, one.world, one.mode, one.policy][one.seed] = one
    lines = [_HEAD]
    for place, found in groups.items():
        own = list(found.values())
        calls = [one.calls / one.base for one in own]
        done = sum(not one.wrong for one in own)
        none = groups.get((*place[:-1], NONE), {})
        peer = groups.get((*place[:-1], PEER), {})
        fits = {seed: one for seed, one in none.items() if not one.wrong}
        cells = [
            f"{done}/{len(own)}",
            f"{sum(calls) / len(calls):.2f}",
            f"{max(calls):.2f}",
            _ratio(found, fits, "cost"),
            _ratio(found, peer, "cost"),
            _ratio(found, peer, "calls"),
        ]
        lines.append("| " + " | ".join([*map(str, place), *cells]) + " |")
    return "\n".join(lines)


def _ratio(found: dict[int, Row], other: dict[int, Row], name: str) -> str:
    """Return the ratio of the totals over the seeds that both have."""
    seeds = found.keys() & other.keys()
    total = sum(getattr(other[seed], name) for seed in seeds)
    return f"{sum(getattr(found[seed], name) for seed in seeds) / total:.2f}" if total else "-"


if __name__ == "__main__":
    sys.exit(main())
