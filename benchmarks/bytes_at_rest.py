"""Bytes that a run leaves in the databases of a gateway, by table.

    python -m benchmarks.bytes_at_rest [--runs 60] [--threads 6] [--postgres]

Each run has a message of 400 characters and an answer of 40 words from a scripted model.
"""

import argparse
import asyncio
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import psycopg

from core_tests.postgres import fresh_database, running_server
from thalweg_server.api.runs import NewRun
from thalweg_server.app import open_app
from thalweg_server.settings import Settings

MESSAGE = "What did we decide? " * 20
WORDS = 40
LEAST = 0.05


async def perform(settings: Settings, runs: int, threads: int, first: int) -> int:
    """Perform runs one after another, and return the characters of the last message."""
    async with open_app(settings) as app:
        tenant = app.tenant("ada")
        for number in range(first, first + runs):
            thread, run = f"thread {number % threads}", f"run-{number}"
            await tenant.runs.start(thread, NewRun(id=run, message=MESSAGE))
            ended = await tenant.runs.wait(thread, run)
            assert ended.status == "completed", ended
        history = await tenant.threads.history("thread 0")
        return len(history.items[-1].model_dump_json())


def sqlite_sizes(home: Path) -> dict[str, float]:
    """Return the bytes of each table with its indexes."""
    sizes: dict[str, float] = {}
    for name in ("thalweg.db", "runs.db"):
        with closing(sqlite3.connect(home / name)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for table, payload in database.execute(
                "SELECT tbl_name, sum(pgsize - unused) FROM dbstat"
                " JOIN sqlite_master ON sqlite_master.name = dbstat.name GROUP BY 1"
            ):
                sizes[table] = sizes.get(table, 0) + payload
    return sizes


def postgres_sizes(address: str) -> dict[str, float]:
    """Return the bytes of each table with its indexes and long values."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("VACUUM FULL")
        rows = connection.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        )
        return {name: float(size) for name, size in rows}


def main() -> int:
    """Measure it, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--threads", type=int, default=6)
    parser.add_argument("--postgres", action="store_true", help="a server that is started here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        if not given.postgres:
            measure(home, "", given)
            return 0
        with running_server() as server, fresh_database(server) as address:
            measure(home, address, given)
    return 0


def measure(home: Path, address: str, given: argparse.Namespace) -> None:
    """Perform runs twice, and print what the second half added to each table."""
    storage = {"home": str(home), **({"url": address} if address else {})}
    model = {"name": "ticking", "use": "core_tests.ticking:TickingModel", "window": 32_000}
    settings = Settings.from_mapping(
        {
            "models": [{**model, "rate": 10_000.0, "ticks": WORDS}],
            "memory": {"debounce_seconds": 300},
            "storage": storage,
        }
    )
    half = given.runs // 2
    sizes: list[Mapping[str, float]] = []
    for first in (0, half):
        length = asyncio.run(perform(settings, half, given.threads, first))
        sizes.append(postgres_sizes(address) if address else sqlite_sizes(home))
    rows = {name: (sizes[1][name] - sizes[0].get(name, 0)) / half / 1024 for name in sizes[1]}
    for name, kib in sorted(rows.items(), key=lambda row: -row[1]):
        if kib >= LEAST:
            print(f"{name:28} {kib:6.2f} KiB")
    print(f"{'a run':28} {sum(rows.values()):6.2f} KiB, {len(MESSAGE)} + {length} characters")


if __name__ == "__main__":
    sys.exit(main())
