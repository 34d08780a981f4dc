"""Kills processes at random while they perform runs, without HTTP, and looks at every stream.

    python -m benchmarks.runs_kill --runs 200 --kills 10

`server_tests/e2e/runs_world.py` lists the checks. The exit code is 1 if one fails.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from core_tests.postgres import fresh_database, running_server
from server_tests.e2e.runs_world import World, world


def main() -> int:
    """Run it, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--words", type=int, default=60, help="of every final answer")
    parser.add_argument(
        "--placed", type=int, default=0, help="runs that one process accepts, first"
    )
    parser.add_argument(
        "--cancelled", type=int, default=0, help="runs to cancel, before the others"
    )
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
        place(made, given.placed)
        cancel(made, given.cancelled)
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
    for attempt, took in sorted(made.takeovers_s.items()):
        times = f"{statistics.median(took):.1f} median, {max(took):.1f} at most, of {len(took)}"
        print(f"seconds until attempt {attempt}   {times}")
    print(f"messages taken back       {found.withdrawn}")
    print(f"tool calls made again     {found.repeated_effects}, none behind its checkpoint")
    for problem in [*made.errors, *found.problems]:
        print(f"WRONG {problem}")
    return 1 if made.errors or found.problems else 0


def place(made: World, count: int) -> None:
    """Have one process accept runs, and print which processes performed them."""
    keys = [(f"owner {n % 17}", f"placed {n}", f"placed-{n}") for n in range(count)]
    for key in keys:
        made.start(key, made.workers[0])
    made.finish(1_200.0)
    by: Counter[int] = Counter()
    for key in keys:
        by[json.loads(made.streams[key].events[0].data)["worker"]] += 1
    if count:
        even = count / len(made.workers)
        off = max(abs(by[one.process.pid] - even) / even for one in made.workers)
        print(f"accepted by one process   {count}, performed {sorted(by.values())}, {off:.0%} off")


def cancel(made: World, count: int) -> None:
    """Cancel streaming runs one by one, and print how long their ends take."""
    took_s: list[float] = []
    for number in range(count):
        made.start(key := ("owner", f"cancelled {number}", f"cancelled-{number}"))
        while len(made.streams[key].events) < _BEGUN:
            made.tend(0.01)
        made.cancel(key)
        began = time.monotonic()
        while not made.streams[key].is_ended:
            made.tend(0.005)
        took_s.append(time.monotonic() - began)
        del made.streams[key]
    if count:
        took_s.sort()
        median, late = took_s[count // 2], took_s[count * 99 // 100]
        print(f"seconds until a cancel    {median:.2f} median, {late:.2f} p99 of {count}")


_BEGUN = 5
"""Events of a run that has begun to stream."""


if __name__ == "__main__":
    sys.exit(main())
