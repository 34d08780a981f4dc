"""Deletes a million old events by `retention.runs_days` while runs go on.

    python -m benchmarks.retention [--events 1000000] [--postgres] [--packed]

The events belong to runs that ended 40 days ago, 500 each, ten runs in a thread, whose newest run
is a day old and is kept. All jobs are due at once. Meanwhile another owner starts runs one after
another. CPU is that of this process and, with `--postgres`, of the server's processes.
"""

import argparse
import asyncio
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

import psycopg

from core_tests.postgres import fresh_database, running_server
from thalweg.database.jobs import BACKGROUND
from thalweg_server.api.runs import NewRun
from thalweg_server.app import open_app
from thalweg_server.app.opening import App
from thalweg_server.runs.base import AGE, Event, RunKey
from thalweg_server.runs.drafts import PACKED, pack
from thalweg_server.settings import Settings

OF_RUN = 500
"""Events of a run."""
OF_THREAD = 10
"""Old runs of a thread."""
OWNER = "ann"
DATA = '{"type":"message.delta","message":"m","text":"On the right bank of "}'
BEFORE = 20
"""Runs that are measured before the deletion."""
RUNS = (
    "INSERT INTO runs (owner, thread, run, status, request, created, ended, last_seq)"
    " VALUES (?, ?, ?, 'completed', '{}', ?, ?, ?)"
)
EVENTS = "INSERT INTO run_events (owner, thread, run, seq, type, data) VALUES (?, ?, ?, ?, ?, ?)"
THREADS = "INSERT INTO app_thread (owner, thread, title, created, updated) VALUES (?, ?, ?, ?, ?)"


def runs_of(events: int) -> Iterator[tuple[RunKey, bool]]:
    """List the runs with whether they are old, oldest first."""
    for number in range(events // OF_RUN // OF_THREAD):
        for run in range(OF_THREAD + 1):
            yield RunKey(OWNER, f"thread {number}", f"run {number}-{run}"), run < OF_THREAD


def rows_of(key: RunKey, *, packed: bool) -> list[tuple[str | int, ...]]:
    """Return the rows of the events of a run."""
    events = [Event(seq, "message.delta", DATA) for seq in range(1, OF_RUN + 1)]
    rows = [Event(OF_RUN, PACKED, pack(events))] if packed else events
    return [(*key, one.seq, one.type, one.data) for one in rows]


def fill(home: Path, address: str, given: argparse.Namespace) -> None:
    """Add the old runs, their events and their threads."""
    day_s, now = 86_400, time.time()
    runs: list[tuple[str | int, ...]] = []
    events: list[tuple[str | int, ...]] = []
    threads = {}
    for key, is_old in runs_of(given.events):
        at = time.strftime(
            "%Y-%m-%dT%H:%M:%S.000+00:00", time.gmtime(now - day_s * (40 if is_old else 1))
        )
        runs.append((*key, at, at, OF_RUN if is_old else 0))
        events += rows_of(key, packed=given.packed) if is_old else []
        ms = round(1_000 * (now - day_s))
        threads[key.thread] = (OWNER.encode(), key.thread.encode(), b"", ms, ms)
    for table, statement, rows in (
        ("runs", RUNS, runs),
        ("runs", EVENTS, events),
        ("thalweg", THREADS, list(threads.values())),
    ):
        if address:
            with psycopg.connect(address) as connection:
                connection.cursor().executemany(statement.replace("?", "%s"), rows)
        else:
            with closing(sqlite3.connect(home / f"{table}.db")) as database, database:
                database.executemany(statement, rows)


def count_events(home: Path, address: str) -> int:
    """Return the number of rows of events of the old runs."""
    query = f"SELECT count(*) FROM run_events WHERE owner = '{OWNER}'"  # noqa: S608 (a constant)
    if address:
        with psycopg.connect(address) as connection:
            row = connection.execute(query).fetchone()
    else:
        with closing(sqlite3.connect(home / "runs.db")) as database:
            row = database.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def server_pid(address: str) -> int:
    """Return the id of the first process of a server on this machine."""
    with psycopg.connect(address) as connection:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        return int(Path(f"/proc/{row[0]}/stat").read_text().rpartition(")")[2].split()[1])


def cpu_s(server: int | None) -> float:
    """Return the CPU time of this process, and of a server with its children."""
    total = time.process_time()
    for stat in Path("/proc").glob("[0-9]*/stat") if server else ():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if server in {int(stat.parent.name), int(fields[1])}:
            total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return total


@contextmanager
def timed_deletions(app: App) -> Iterator[list[float]]:
    """Collect the seconds of each transaction that deletes, with its wait."""
    took: list[float] = []
    journal, delete = app.parts.journal, app.parts.journal.delete

    async def timed(owner: str, thread: str, run: str | None = None) -> int:
        began = time.perf_counter()
        try:
            return await delete(owner, thread, run)
        finally:
            took.append(time.perf_counter() - began)

    setattr(journal, "delete", timed)  # noqa: B010 (a method)
    yield took


async def measure(
    settings: Settings, given: argparse.Namespace, address: str, server: int | None
) -> None:
    """Delete them, and print the figures."""
    numbers = count()
    async with open_app(settings) as app:
        tenant, jobs = app.tenant("bob"), app.parts.journal.jobs

        async def run() -> float:
            name, began = f"run-{next(numbers)}", time.perf_counter()
            await tenant.runs.start(f"thread-{name}", NewRun(id=name, message="hello"))
            ended = await tenant.runs.wait(f"thread-{name}", name)
            assert ended.status == "completed", ended
            return time.perf_counter() - began

        for _ in range(3):
            await run()
        before = [await run() for _ in range(BEFORE)]
        threads = {key.thread for key, _ in runs_of(given.events)}
        with timed_deletions(app) as took:
            cpu, began = cpu_s(server), time.perf_counter()
            for thread in threads:
                key = RunKey(OWNER, thread, AGE)
                await app.parts.journal.change_queue(
                    jobs.submit(key.job, key.lock, priority=BACKGROUND)
                )
            app.parts.journal.job_available.set()
            meanwhile, runs = [], given.events // OF_RUN
            while len(took) < runs:
                meanwhile.append(await run())
            seconds, cpu = time.perf_counter() - began, cpu_s(server) - cpu
    left = count_events(Path(str(settings.storage.home)), address)
    print(f"rows of events left     {left}")
    print(f"deleted                 {runs} runs in {seconds:.1f} s, CPU {cpu:.1f} s with runs'")
    print(f"a transaction, s        {_spread(took)}, with its wait")
    print(f"a run before, s         {_spread(before)}")
    print(f"a run meanwhile, s      {_spread(meanwhile)}")
    print(f"load                    {os.getloadavg()[0]:.0f}")
    if left:
        sys.exit(1)


def _spread(took: list[float]) -> str:
    return f"{statistics.median(took):.3f} median, {max(took):.3f} at most, of {len(took)}"


def main() -> None:
    """Fill a database, and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--packed", action="store_true", help="as an ended run usually has them")
    parser.add_argument("--postgres", action="store_true", help="a server that is started here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not given.postgres:
            perform(Path(folder), "", given)
            return
        with running_server() as server, fresh_database(server) as address:
            perform(Path(folder), address, given, server_pid(address))


def perform(home: Path, address: str, given: argparse.Namespace, server: int | None = None) -> None:
    """Create the tables, fill them and measure."""
    storage = {"home": str(home), **({"url": address} if address else {})}
    model = {"name": "ticking", "use": "core_tests.ticking:TickingModel", "window": 32_000}
    settings = Settings.from_mapping(
        {
            "models": [{**model, "rate": 10_000.0, "ticks": 3}],
            "memory": {"enabled": False},
            "retention": {"runs_days": 30},
            "storage": storage,
        }
    )

    async def create() -> None:
        async with open_app(settings):
            pass

    asyncio.run(create())
    began = time.perf_counter()
    fill(home, address, given)
    print(f"filled                  in {time.perf_counter() - began:.0f} s")
    print(f"rows of events          {count_events(home, address)}", flush=True)
    asyncio.run(measure(settings, given, address, server))


if __name__ == "__main__":
    main()
