"""Kills gateways in turn while they stream runs, and looks at what came of every run.

    python -m benchmarks.gateway_kill --runs 200 --kills 10
    python -m benchmarks.gateway_kill --sqlite --runs 24 --kills 3

Two gateways over one PostgreSQL server, as a role that row-level security holds, or one over a
SQLite file. `server_tests/e2e/gateways_findings.py` lists the checks. The exit code is 1 if one
fails.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from core_tests.postgres import fresh_database, running_server
from server_tests.e2e.gateways_findings import Findings
from server_tests.e2e.gateways_world import World, found, roles, world

RUNS_A_THREAD = 2


def main() -> int:
    """Run it, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--words", type=int, default=40, help="of every answer, two in a run")
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between words")
    parser.add_argument("--sqlite", action="store_true", help="one gateway over one file")
    given = parser.parse_args()
    model = {"words": given.words, "pause_s": given.pause}
    folder = Path(tempfile.mkdtemp(prefix="thalweg-kill-"))
    if given.sqlite:
        with world(folder, None, gateways=1, **model) as made:
            return told(made, *killed(made, given.runs, given.kills))
    with (
        running_server() as server,
        fresh_database(server) as admin,
        roles(admin) as url,
        world(folder, url, **model) as made,
    ):
        return told(made, *killed(made, given.runs, given.kills))


def killed(made: World, runs: int, kills: int) -> tuple[Findings, float]:
    """Begin conversations over the time of the kills; then wait for all of them."""
    began = time.monotonic()
    conversations = runs // RUNS_A_THREAD
    for kill in range(kills):
        due = conversations * (kill + 1) // kills
        while len(made.runs) < due * RUNS_A_THREAD:
            made.converse(RUNS_A_THREAD)
            made.tend(0.1)
        made.until_streaming(min(4, runs // kills))
        gateway = made.gateways[kill % len(made.gateways)]
        made.kill(gateway)
        print(f"kill {kill + 1}: {gateway.name}, {made.under_way} runs under way", flush=True)
    made.finish(600.0)
    took_s = time.monotonic() - began
    return found(made), took_s


def told(made: World, seen: Findings, took_s: float) -> int:
    """Print the figures."""
    again = f"{seen.asked_again}, none whose answer had been kept"
    rows = {
        "runs": f"{seen.runs}, in {took_s:.0f} s",
        "kills": ", ".join(f"{one.kills} of {one.name}" for one in made.gateways),
        "attempts of a run": f"{dict(sorted(seen.attempts.items()))}",
        "events": f"{seen.events}, without gap or repeat",
        "readers that changed gateways": f"{seen.hops}, in the midst of a stream",
        "messages taken back": f"{seen.withdrawn}",
        "model calls made again": again,
        "tool calls made again": f"{seen.repeated_effects}, none whose result had been kept",
        "facts in memory": f"{seen.facts}, {seen.memory_s:.0f} s after the last run",
    }
    for name, value in rows.items():
        print(f"{name:<30} {value}")
    for problem in seen.problems:
        print(f"WRONG {problem[:1_000]}")
    return 1 if seen.problems else 0


if __name__ == "__main__":
    sys.exit(main())
