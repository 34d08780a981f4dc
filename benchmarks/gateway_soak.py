"""What remains after many small requests: `python -m benchmarks.gateway_soak --requests 100000`.

A gateway in a process of its own answers one owner, who keeps a few connections open and asks in
turn for what there is: threads, memory, a thread that is not there, a body that is refused. After
each tenth of the requests: how many were answered a second, the resident memory of the process and
its open files. The first tenth warms it up; the growth is counted from there.
"""

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from benchmarks import gateway_floods
from benchmarks.gateway_floods import KEYS, Gateway, serving

REQUESTS = 100_000
AT_ONCE = 4
PARTS = 10
BODY = json.dumps({"name": 1}).encode()
_UNLIMITED = "  limits: {requests_per_minute: null}\n"


def requests() -> Iterator[bytes]:
    """Write the requests, over and over."""
    asked = (
        ("GET", "/api/threads", b""),
        ("GET", "/api/memory", b""),
        ("GET", "/api/threads/nowhere", b""),
        ("POST", "/api/threads", BODY),
        ("GET", "/healthz", b""),
    )
    for method, path, body in cycle(asked):
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {KEYS['ada']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        yield head.encode() + body


async def ask(gateway: Gateway, waiting: Iterator[bytes], statuses: Counter[int]) -> None:
    """Send what waits over one connection."""
    reader, writer = await asyncio.open_connection(gateway.host, gateway.port)
    for request in waiting:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
        await reader.readexactly(int(fields[b"content-length"]))
        statuses[int(head[9:12])] += 1
    writer.close()
    await writer.wait_closed()


def open_files(gateway: Gateway) -> int:
    """Count the open files of the process."""
    return len([*Path(f"/proc/{gateway.pid}/fd").iterdir()])


async def soak(gateway: Gateway, number: int, at_once: int) -> None:
    """Send so many requests, and print what is seen after each tenth."""
    print("| requests | a second | answers | resident MB | open files |")
    print("|---|---|---|---|---|")
    endless, sent = requests(), 0
    first: tuple[int, int] | None = None
    for _ in range(PARTS):
        statuses = Counter[int]()
        waiting = islice(endless, number // PARTS)
        began = time.perf_counter()
        await asyncio.gather(*(ask(gateway, waiting, statuses) for _ in range(at_once)))
        rate = number / PARTS / (time.perf_counter() - began)
        sent += number // PARTS
        await asyncio.sleep(0.5)  # connections that were closed are closed there, too
        seen = gateway.memory, open_files(gateway)
        first = first or seen
        told = ", ".join(f"{n:,} x {status}" for status, n in sorted(statuses.items()))
        print(f"| {sent:,} | {rate:,.0f} | {told} | {seen[0] / 1e6:.1f} | {seen[1]} |", flush=True)
    assert first is not None
    print(f"growth: {(seen[0] - first[0]) / 1e6:+.1f} MB, {seen[1] - first[1]:+d} open files")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    given = parser.parse_args()
    with serving(gateway_floods.CONFIG + _UNLIMITED) as gateway:
        asyncio.run(soak(gateway, given.requests, given.at_once))


if __name__ == "__main__":
    main()
