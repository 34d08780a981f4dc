"""What events of runs wait because checkpoints are written into the journal's file.

    python -m benchmarks.one_file

A journal of streams in SQLite, while another connection writes checkpoints of 38 kB, every 30 ms:
into a file of its own, then into the journal's. Milliseconds of `append`, and of a checkpoint.
"""

import asyncio
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from thalweg.database.sqlite_files import connect
from thalweg_server.runs.base import Claim, Draft, RunKey
from thalweg_server.runs.journal import Journal
from thalweg_server.runs.opening import open_journal

STREAMS = 20
PACE_S = 0.05
SECONDS = 6.0
ROUNDS = 3
CHECKPOINT, WRITE = b"c" * 30_000, b"w" * 2_000
EVENT = Draft("message.delta", '{"text": "word "}')


def write_checkpoints(path: Path, stop: threading.Event, times: list[float]) -> None:
    """Write one checkpoint with its writes after the other, until it is stopped."""
    with closing(connect(str(path), None, 30.0, is_shared=True)) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS checkpoints (data BLOB)")
        while not stop.is_set():
            began = time.monotonic()
            connection.execute("BEGIN IMMEDIATE")
            for data in (CHECKPOINT, *[WRITE] * 4):
                connection.execute("INSERT INTO checkpoints VALUES (?)", (data,))
            connection.execute("COMMIT")
            times.append(time.monotonic() - began)
            time.sleep(PACE_S * 0.6)


async def stream(journal: Journal, claim: Claim, times: list[float]) -> None:
    """Append events at an even pace."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        began = time.monotonic()
        await journal.append(claim, [EVENT])
        times.append(time.monotonic() - began)
        await asyncio.sleep(PACE_S)


async def measure(folder: Path, checkpoints: str) -> tuple[list[float], list[float]]:
    """Measure appends and checkpoints, which are written into a file of the folder."""
    appends, writes, stop = list[float](), list[float](), threading.Event()
    async with open_journal(folder / "runs.db") as journal:
        claims: list[Claim] = []
        for number in range(STREAMS):
            key = RunKey("ada", f"t{number}", f"r{number}")
            await journal.create(key, "{}")
            claims += [claim] if (claim := await journal.claim(key)) else []
        writer = threading.Thread(
            target=write_checkpoints, args=(folder / checkpoints, stop, writes)
        )
        writer.start()
        await asyncio.gather(*[stream(journal, claim, appends) for claim in claims])
        stop.set()
        writer.join()
    return appends, writes


def shown(times: Sequence[float]) -> str:
    """Write the median, the 95th percentile and the largest of some times."""
    ordered = [time * 1_000 for time in sorted(times)]
    late = ordered[len(ordered) * 95 // 100]
    return f"{statistics.median(ordered):8.1f}{late:8.1f}{ordered[-1]:8.0f}"


def main() -> None:
    """Print the table."""
    print("checkpoints in    append: p50, p95, max    a checkpoint: p50, p95, max")
    for _ in range(ROUNDS):
        for name in ("checkpoints.db", "runs.db"):
            with tempfile.TemporaryDirectory() as folder:
                appends, writes = asyncio.run(measure(Path(folder), name))
            print(f"{name:16}{shown(appends)}{shown(writes)}")


if __name__ == "__main__":
    main()
