"""What a journal adds to an event: from `emit` to each follower, for many runs at a time.

    python -m benchmarks.streams --runs 500 --per-second 5

Every run emits words at an even pace, and is followed by one reader in the same process. An
asyncio queue, with nothing durable about it, is measured in the same way for comparison. The CPU of
this process and of the server bounds what one server takes: see docs/many-machines.md.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.retention import cpu_s, server_pid
from core_tests.postgres import fresh_database, running_server
from thalweg_server.runs.base import Draft, RunKey
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.opening import open_journal

Say = Callable[[int], Awaitable[None]]


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--per-second", type=float, default=5.0, help="events of each run")
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    print(f"{given.runs} runs, {given.per_second:g} events a second each, one follower each")
    print(f"{'':24}{'p50 ms':>8}{'p95 ms':>8}{'max ms':>8}{'words':>9}{'events':>9}")
    asyncio.run(queues(given))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(journals("SQLite", Path(folder) / "runs.db", given))
    with running_server() as server, fresh_database(server) as address:
        asyncio.run(journals("PostgreSQL", address, given))
        asyncio.run(journals("PostgreSQL, elsewhere", address, given, is_remote=True))


async def speak(number: int, given: argparse.Namespace, say: Say) -> None:
    """Emit words at an even pace; all runs begin at moments of their own."""
    pause_s = 1 / given.per_second
    due = time.perf_counter() + pause_s * (number / given.runs)
    for word in range(int(given.seconds * given.per_second)):
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        due += pause_s
        await say(word)


async def queues(given: argparse.Namespace) -> None:
    """Measure queues."""
    took: list[float] = []

    async def one(number: int) -> None:
        queue: asyncio.Queue[float | None] = asyncio.Queue()

        async def read() -> None:
            while (at := await queue.get()) is not None:
                took.append(time.perf_counter() - at)

        async def say(_: int) -> None:
            await queue.put(time.perf_counter())

        reader = asyncio.create_task(read())
        await speak(number, given, say)
        await queue.put(None)
        await reader

    await asyncio.gather(*(one(number) for number in range(given.runs)))
    tell("asyncio.Queue", took, len(took))


async def journals(
    name: str, address: str | Path, given: argparse.Namespace, *, is_remote: bool = False
) -> None:
    """Measure a journal; `is_remote`: the readers have one of their own."""
    took: list[float] = []
    events = 0
    server = server_pid(str(address)) if isinstance(address, str) else None
    own, all_ = cpu_s(None), cpu_s(server)
    async with open_journal(address) as journal, open_journal(address) as other:
        claims = []
        for number in range(given.runs):
            key = RunKey(f"owner {number}", "t", f"{name} {number}")
            await journal.create(key, "{}")
            claim = await journal.claim(key)
            assert claim is not None
            claims.append(claim)

        async def one(number: int) -> None:
            nonlocal events
            claim = claims[number]
            key = claim.key
            emit = Emit(journal, claim)

            async def read() -> None:
                nonlocal events
                async for event in (other if is_remote else journal).follow(key):
                    now = time.perf_counter()
                    events += 1
                    stamps = json.loads(event.data).get("text", "").split()
                    took.extend(now - float(stamp) for stamp in stamps)

            async def say(_: int) -> None:
                data = json.dumps({"message": "m", "text": f"{time.perf_counter():.6f} "})
                await emit(Draft("message.delta", data, joins="m"))

            reader = asyncio.create_task(read())
            await asyncio.sleep(1.0)  # all begin to read before any begins to speak
            await speak(number, given, say)
            await emit.drain()
            await journal.finish(claim, "completed", [Draft("run.completed", "{}")])
            await emit.close()
            await reader

        await asyncio.gather(*(one(number) for number in range(given.runs)))
    own, all_ = cpu_s(None) - own, cpu_s(server) - all_
    tell(name, took, events)
    each = [1_000 * one / max(1, events) for one in (own, all_ - own)]
    print(f"{'':24}CPU ms an event: {each[0]:.3f} here, {each[1]:.3f} of the server", flush=True)


def tell(name: str, took: list[float], events: int) -> None:
    """Print one line."""
    took.sort()
    at = [took[min(len(took) - 1, int(len(took) * share))] * 1000 for share in (0.5, 0.95, 1.0)]
    print(f"{name:24}{at[0]:8.2f}{at[1]:8.2f}{at[2]:8.2f}{len(took):9}{events:9}", flush=True)


if __name__ == "__main__":
    main()
