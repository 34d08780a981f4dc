"""What the gateway adds: to a read of memory, and to each event of many streams.

Run `python -m benchmarks.gateway memory` or `… streams`; see the README here. The gateway runs in
a process of its own, with a bare FastAPI application next to it in the same server: the same
requests are sent to both in turn.
"""

import argparse
import asyncio
import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from thalweg_memory import Memory
from thalweg_server.app import open_app
from thalweg_server.gateway import create_app
from thalweg_server.gateway.serving import GatewayServer, address_of, bound, pauses_less
from thalweg_server.settings import Settings

FACTS = 100
READS = 2_000
STREAMS = 500
UNLIMITED = {"requests_per_minute": None, "runs_per_minute": None, "runs_at_once": None}
RATE = 1.0
"""Words a second that each model sends."""
WINDOW_S = 20.0
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
    model = {
        "name": "ticking",
        "use": "core_tests.ticking:TickingModel",
        "rate": rate,
        "ticks": ticks,
    }
    settings = Settings.from_mapping(
        {
            "models": [{**model, "window": 32_000}],
            "gateway": {"max_streams": 10_000, "limits": UNLIMITED},
        }
    )
    async with open_app(settings, home=home) as app:
        tenant = app.tenant("local")
        for number in range(FACTS):
            said = f"Ada's preference number {number} is to have things done in way {number * 7}."
            await tenant.memory.ask(Memory.remember, said)
        document = json.loads(await tenant.memory.ask(Memory.export))
        gateway, plain = create_app(app), bare(document, rate)

        async def both(scope: Scope, receive: Receive, send: Send) -> None:
            is_bare = scope.get("path", "").startswith("/bare/")
            await (plain if is_bare else gateway)(scope, receive, send)

        with bound("127.0.0.1", 0) as taken:
            server = GatewayServer(gateway, lambda: print(address_of(taken), flush=True))
            server.config.app = both
            pauses_less()
            serving = asyncio.create_task(server.serve([taken]))
            await asyncio.to_thread(sys.stdin.read)
            server.should_exit = True
            await serving


@contextmanager
def running(rate: float, ticks: int, folder: str | None = None) -> Iterator[tuple[str, int]]:
    """Run the server in a process of its own; yield its address and its process id."""
    with tempfile.TemporaryDirectory(dir=folder) as home:
        asked = [__spec__.name, "serve", home, str(rate), str(ticks)]
        process = subprocess.Popen(  # noqa: S603 (this very file)
            [sys.executable, "-m", *asked],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.communicate()


def memory(reads: int) -> None:
    """Compare reads of memory with a constant of the same size."""
    paths = ("/bare/memory", "/api/memory", "/api/memory/facts", "/api/memory/config")
    took: dict[str, list[float]] = {path: [] for path in paths}
    sizes = {}
    with running(RATE, 1) as (url, _):
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


@dataclass(frozen=True, slots=True)
class Span:
    """A time, and what the server took in it."""

    began: int
    ended: int
    cpu_s: float

    @property
    def seconds(self) -> float:
        """How long it was."""
        return (self.ended - self.began) / 1e9


class Ear(asyncio.Protocol):
    """Records what a stream sends, and when; it is read when all is over.

    One process reads all streams: anything it did meanwhile would be attributed to the server.
    """

    def __init__(self, request: bytes) -> None:
        self._request = request
        self.heard: list[tuple[int, bytes]] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Take it."""
        self.heard.append((time.time_ns(), data))

    @property
    def speaks(self) -> bool:
        """Whether the first word has come."""
        first = self.heard[0][1] if self.heard else b"HTTP/1.1 200"
        assert first.startswith(b"HTTP/1.1 200"), first
        return any(b"message.delta" in data for _, data in self.heard[:20])

    def late_ms(self, span: Span) -> Iterator[float]:
        """Yield how long each word of a time was under way."""
        for now, data in self.heard:
            for said in map(int, _TICK.findall(data)):
                if span.began <= said < span.ended:
                    yield (now - said) / 1e6


async def streams(
    count: int, rate: float, starts_s: float, *, with_bare: bool, folder: str | None
) -> None:
    """Follow many runs at once, then as many bare streams at the same rate."""
    ticks = int(rate * (count / starts_s + WINDOW_S + 60))
    with running(rate, ticks, folder) as (url, pid):
        print(f"{count} streams of {rate:g} words/s, {starts_s:g} started a second")
        if with_bare:
            asked = [_request("/bare/stream", None) for _ in range(count)]
            await _followed("bare FastAPI", url, pid, asked, starts_s=100.0)
        message = {"message": "What time is it?"}
        path = "/api/threads/t{}/runs/stream"
        asked = [_request(path.format(number), message) for number in range(count)]
        await _followed("gateway", url, pid, asked, starts_s=starts_s)


async def _followed(
    name: str, url: str, pid: int, asked: Sequence[bytes], *, starts_s: float
) -> None:
    """Print how late words were while streams were opened, and while all were open."""
    loop, at = asyncio.get_running_loop(), urlsplit(url)
    host, port = str(at.hostname), int(at.port or 0)
    ears: list[Ear] = []
    began, cpu = time.time_ns(), _cpu_s(pid)
    pauses = random.Random(7)  # noqa: S311 (the same each time)
    for request in asked:
        _, ear = await loop.create_connection(partial(Ear, request), host, port)
        ears.append(ear)
        # As strangers come: at an even pace many streams would speak in step, for ever.
        await asyncio.sleep(pauses.expovariate(starts_s))
    while not all(ear.speaks for ear in ears):  # noqa: ASYNC110 (a tenth of a second will do)
        await asyncio.sleep(0.1)
    ramp = Span(began, time.time_ns(), _cpu_s(pid) - cpu)
    await asyncio.sleep(2)  # what was late by then is done
    began, cpu = time.time_ns(), _cpu_s(pid)
    await asyncio.sleep(WINDOW_S)
    ended, cpu = time.time_ns(), _cpu_s(pid) - cpu
    await asyncio.sleep(1)
    for ear in ears:
        ear.transport.abort()
    _told(f"{name}, while they start", ears, ramp)
    _told(f"{name}, all speaking", ears, Span(began, ended, cpu))
    await asyncio.sleep(2)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _request(path: str, body: object) -> bytes:
    if body is None:
        return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    told = json.dumps(body)
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(told)}\r\n\r\n{told}".encode()


def _told(name: str, ears: Sequence[Ear], span: Span) -> None:
    late = [one for ear in ears for one in ear.late_ms(span)]
    if len(late) < 2:  # noqa: PLR2004 (there are no quantiles)
        return
    p50, p95 = _percentiles(late)
    print(
        f"{name:<30} {len(late) / span.seconds:6.0f} words/s, late by p50 {p50:6.1f} ms  "
        f"p95 {p95:6.1f} ms  max {max(late):6.1f} ms; CPU {span.cpu_s / span.seconds:5.0%}, "
        f"{1e3 * span.cpu_s / len(late):5.2f} ms a word",
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
    following.add_argument("--starts", type=float, default=STARTS_S, help="runs begun a second")
    following.add_argument("--no-bare", action="store_true", help="leave out the bare streams")
    following.add_argument("--folder", help="where the databases go; /dev/shm has no syncs")
    serving = ways.add_parser("serve", help="the server itself")
    serving.add_argument("home")
    serving.add_argument("rate", type=float)
    serving.add_argument("ticks", type=int)
    given = parser.parse_args()
    if given.what == "memory":
        memory(given.reads)
    elif given.what == "streams":
        following_all = streams(
            given.streams,
            given.rate,
            given.starts,
            with_bare=not given.no_bare,
            folder=given.folder,
        )
        asyncio.run(following_all)
    else:
        asyncio.run(serve(given.home, given.rate, given.ticks))


if __name__ == "__main__":
    main()
