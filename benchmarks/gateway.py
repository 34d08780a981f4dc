"""What the gateway adds: to a read of memory, and to each event of many streams.

Run `python -m benchmarks.gateway memory` or `… streams`; see the README here. The gateway runs in
a process of its own, and a bare FastAPI application beside it in the same server: the same
requests go to both in turn.
"""

import argparse
import asyncio
import http.client
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from thalweg.api.memory import NewFact
from thalweg.app import open_app
from thalweg.gateway import create_app
from thalweg.gateway.serving import Server, address_of, bound
from thalweg.settings import Settings

FACTS = 100
READS = 2_000
STREAMS = 500
RATE = 1.0
"""Words a second that each model says."""
WINDOW_S = 30.0
"""How long all streams are looked at together."""
STARTS_S = 8.0
"""Runs that are started a second: starting is not what is measured."""
_TICK = re.compile(rb"\b(\d{19})\b")


def bare(document: dict[str, Any], rate: float) -> FastAPI:
    """Make the application that is compared with: FastAPI and nothing else."""
    application = FastAPI()

    @application.get("/bare/memory")
    async def memory() -> dict[str, Any]:
        return document

    @application.get("/bare/stream")
    async def stream() -> StreamingResponse:
        return StreamingResponse(_ticks(rate), media_type="text/event-stream")

    return application


async def _ticks(rate: float) -> AsyncIterator[bytes]:
    seq = 0
    while True:
        await asyncio.sleep(1 / rate)
        seq += 1
        told = {"type": "message.delta", "message": "m", "text": f"{time.time_ns()} "}
        yield f"id: {seq}\nevent: message.delta\ndata: {json.dumps(told)}\n\n".encode()


async def serve(home: str, rate: float, ticks: int) -> None:
    """Serve both in this process until standard input ends."""
    model = {"name": "ticking", "use": "tests.ticking:TickingModel", "rate": rate, "ticks": ticks}
    settings = Settings.from_mapping(
        {"models": [{**model, "window": 32_000}], "gateway": {"max_streams": 10_000}}
    )
    async with open_app(settings, home=home) as app:
        tenant = app.tenant("local")
        for number in range(FACTS):
            said = f"Ada's preference number {number} is to have things done in way {number * 7}."
            await tenant.memory.add(NewFact(content=said))
        document = (await tenant.memory.document()).model_dump(mode="json")
        gateway, plain = create_app(app), bare(document, rate)

        async def both(scope: Scope, receive: Receive, send: Send) -> None:
            is_bare = scope.get("path", "").startswith("/bare/")
            await (plain if is_bare else gateway)(scope, receive, send)

        with bound("127.0.0.1", 0) as taken:
            server = Server(gateway, lambda: print(address_of(taken), flush=True))
            server.config.app = both
            serving = asyncio.create_task(server.serve([taken]))
            await asyncio.to_thread(sys.stdin.read)
            server.should_exit = True
            await serving


@contextmanager
def running(rate: float, ticks: int) -> Iterator[str]:
    """Run the server in a process of its own; gives its address."""
    with tempfile.TemporaryDirectory() as home:
        asked = [__spec__.name, "serve", home, str(rate), str(ticks)]
        process = subprocess.Popen(  # noqa: S603 (this very file)
            [sys.executable, "-m", *asked],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.communicate()


def memory(reads: int) -> None:
    """Compare reads of memory with a constant of the same size."""
    paths = ("/bare/memory", "/api/memory", "/api/memory/facts", "/api/memory/config")
    took: dict[str, list[float]] = {path: [] for path in paths}
    sizes = {}
    with running(RATE, 1) as url:
        at = urlsplit(url)
        connection = http.client.HTTPConnection(str(at.hostname), at.port)
        for turn in range(reads + reads // 10):
            for path in paths:
                began = time.perf_counter()
                connection.request("GET", path)
                body = connection.getresponse().read()
                if turn >= reads // 10:  # the first tenth warms up
                    took[path].append(1_000 * (time.perf_counter() - began))
                sizes[path] = len(body)
        connection.close()
    base = statistics.median(took["/bare/memory"])
    print(f"{reads} reads of each in turn, {FACTS} facts")
    for path, each in took.items():
        p50, p95 = _percentiles(each)
        times = f"{p50 / base:4.2f}x"
        print(f"{path:<24} {sizes[path]:>7} bytes  p50 {p50:6.3f} ms  p95 {p95:6.3f} ms  {times}")


@dataclass
class Heard:
    """What came of many streams."""

    late_ms: list[tuple[int, float]] = field(default_factory=list)
    """When it was said, and how long it was under way."""
    opened: int = 0


async def streams(count: int, rate: float) -> None:
    """Follow many runs at once, then as many bare streams at the same rate."""
    ramp_s = count / STARTS_S
    ticks = int(rate * (ramp_s + WINDOW_S + 30))
    with running(rate, ticks) as url:
        asked = [_request("/bare/stream", None) for _ in range(count)]
        _told("bare FastAPI", await _followed(url, asked, starts_s=100.0), count, rate)
        message = {"message": "What time is it?"}
        path = "/api/threads/t{}/runs/stream"
        asked = [_request(path.format(number), message) for number in range(count)]
        _told("gateway", await _followed(url, asked, starts_s=STARTS_S), count, rate)


async def _followed(url: str, asked: Sequence[bytes], *, starts_s: float) -> list[float]:
    """Give how late events were while all streams were open."""
    heard = Heard()
    tasks = []
    for request in asked:
        tasks.append(asyncio.create_task(_one(url, request, heard)))
        await asyncio.sleep(1 / starts_s)
    while heard.opened < len(asked):  # noqa: ASYNC110 (a tenth of a second is soon enough)
        await asyncio.sleep(0.1)
    await asyncio.sleep(3)  # what began last has begun to speak
    began = time.time_ns()
    await asyncio.sleep(WINDOW_S)
    ended = time.time_ns()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [late for said, late in heard.late_ms if began <= said < ended - 10**9]


async def _one(url: str, request: bytes, heard: Heard) -> None:
    at = urlsplit(url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    writer.write(request)
    status = await reader.readline()
    if b" 200 " not in status:
        print(status, await reader.read(2_000))
        return
    heard.opened += 1
    while line := await reader.readline():
        if line.startswith(b"data: ") and b"message.delta" in line:
            now = time.time_ns()
            for said in map(int, _TICK.findall(line)):
                heard.late_ms.append((said, (now - said) / 1e6))


def _request(path: str, body: object) -> bytes:
    if body is None:
        return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    told = json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(told)}\r\n\r\n{told}".encode()


def _told(name: str, late: Sequence[float], count: int, rate: float) -> None:
    p50, p95 = _percentiles(late)
    a_second = len(late) / (WINDOW_S - 1)
    print(
        f"{name:<13} {count} streams of {rate:g} words/s: {a_second:6.0f} words/s, "
        f"late by p50 {p50:6.1f} ms  p95 {p95:6.1f} ms  max {max(late):6.1f} ms",
        flush=True,
    )


def _percentiles(values: Sequence[float]) -> tuple[float, float]:
    cuts = statistics.quantiles(values, n=20)
    return cuts[9], cuts[18]


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    ways = parser.add_subparsers(dest="what", required=True)
    reading = ways.add_parser("memory", help="reads of memory")
    reading.add_argument("--reads", type=int, default=READS)
    following = ways.add_parser("streams", help="events of many streams")
    following.add_argument("--streams", type=int, default=STREAMS)
    following.add_argument("--rate", type=float, default=RATE)
    serving = ways.add_parser("serve", help="the server itself")
    serving.add_argument("home")
    serving.add_argument("rate", type=float)
    serving.add_argument("ticks", type=int)
    given = parser.parse_args()
    if given.what == "memory":
        memory(given.reads)
    elif given.what == "streams":
        asyncio.run(streams(given.streams, given.rate))
    else:
        asyncio.run(serve(given.home, given.rate, given.ticks))


if __name__ == "__main__":
    main()
