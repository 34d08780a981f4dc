"""Kills processes at random while they perform runs, without HTTP, and looks at every stream.

    python -m benchmarks.runs_kill --runs 200 --kills 10

`server_tests/e2e/runs_world.py` lists the checks. The exit code is 1 if one fails.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from core_tests.postgres import fresh_database, running_server
from server_tests.e2e.runs_world import world


def main() -> int:
    """Run it, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--words", type=int, default=60, help="of every final answer")
    parser.add_argument("--sqlite", action="store_true", help="one file, in the place of a server")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.sqlite:
            home = Path(folder) / "home"
            home.mkdir()
            return rounds(str(home), Path(folder), given)
        with running_server() as server, fresh_database(server) as address:
            return rounds(address, Path(folder), given)


def rounds(address: str, told: Path, given: argparse.Namespace) -> int:
    """Start the runs over the time of the kills; then wait for all of them."""
    with world(address, told, words=given.words) as made:
        for _ in range(given.processes):
            made.add_worker()
        made.wait_ready(given.processes)
        began = time.monotonic()
        per_kill = max(1, given.runs // (given.kills + 1))
        for number in range(given.runs):
            made.start((f"owner {number % 17}", f"thread {number}", f"run-{number}"))
            if number % per_kill == per_kill - 1 and number // per_kill < given.kills:
                made.tend(made.random.uniform(0.2, 3.0))
                ready = [worker for worker in made.workers if worker.is_ready]
                made.kill(made.random.choice(ready))
                made.add_worker()
                made.wait_ready(max(1, given.processes - 1))
                print(f"kill {number // per_kill + 1}: {made.under_way} runs under way", flush=True)
        made.finish(600.0)
        took_s = time.monotonic() - began
        found = made.found()
    resumed = sum(stream.resumed for stream in made.streams.values())
    print(f"runs                      {given.runs}, each ended once, in {took_s:.0f} s")
    print(f"kills                     {given.kills} of {given.processes} processes")
    print(f"attempts of a run         {dict(sorted(found.attempts.items()))}")
    print(f"events                    {found.events}, without gap or repeat")
    print(f"streams taken up again    {resumed}, through another process")
    print(f"messages taken back       {found.withdrawn}")
    print(f"tool calls made again     {found.repeated_effects}, none behind its checkpoint")
    for problem in [*made.errors, *found.problems]:
        print(f"WRONG {problem}")
    return 1 if made.errors or found.problems else 0


if __name__ == "__main__":
    sys.exit(main())
