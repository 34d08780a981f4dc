"""Events on their way to clients: a real server, real sockets, and a journal of a few lines."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from urllib.parse import urlsplit

import httpx2
import pytest
from fastapi import Depends, FastAPI

from server_tests.serving import Served, served
from thalweg_server.api.events import EVENT, MessageDelta, RunCancelled
from thalweg_server.app.metrics import Metrics
from thalweg_server.gateway.budgets import Budgets
from thalweg_server.gateway.problems import answers_problems
from thalweg_server.gateway.rules import rules_of
from thalweg_server.gateway.streams import EventStream, Streams, event_frames
from thalweg_server.runs.base import Event
from thalweg_server.settings import GatewaySettings
from thalweg_server.settings.sections import OwnerLimits

FLOOD = 4_000
"""Events that no socket buffers hold."""


@dataclass
class Source:
    """What is streamed: numbered deltas, then the end."""

    length: int
    text: str = "x"
    pause_s: float = 0.0
    is_closed: threading.Event = field(default_factory=threading.Event)
    given: int = 0

    async def events(self, after: int = 0) -> AsyncIterator[Event]:
        """Yield the events after a number."""
        try:
            for seq in range(after + 1, self.length + 1):
                await asyncio.sleep(self.pause_s)
                self.given = seq
                data = MessageDelta(message="m", text=self.text).model_dump_json()
                yield Event(seq, "message.delta", data)
            end = RunCancelled().model_dump_json()
            yield Event(self.length + 1, "run.cancelled", end)
        finally:
            self.is_closed.set()


def application(sources: dict[str, Source], streams: Streams) -> FastAPI:
    made = FastAPI()
    made.state.gateway = SimpleNamespace(
        streams=streams,
        budgets=Budgets(lambda _: OwnerLimits(), Metrics()),
        rules=lambda: rules_of(GatewaySettings()),
    )
    answers_problems(made)

    async def counted() -> AsyncIterator[None]:
        with streams.counted("ada"):
            yield

    @made.get("/{name}", dependencies=[Depends(counted)])
    async def follow(name: str, after: int = 0) -> EventStream:
        return EventStream(event_frames(sources[name].events(after)), streams)

    return made


def read(served: Served, path: str) -> tuple[list[int], str]:
    """Read a stream to its end: the numbers that came, and the last event's type."""
    numbers, last = [], ""
    with httpx2.stream("GET", f"{served.url}{path}", timeout=30) as response:
        for frame in httpx2.EventSource(response):
            event = EVENT.validate_json(frame.data)
            assert frame.event == event.type
            numbers.append(int(frame.id))
            last = event.type
    return numbers, last


def test_a_stream_has_every_event_and_ends_behind_the_last() -> None:
    with served(application({"s": Source(200)}, Streams(lambda: 9, Metrics()))) as gateway:
        assert read(gateway, "/s") == (list(range(1, 202)), "run.cancelled")
        assert read(gateway, "/s?after=198") == ([199, 200, 201], "run.cancelled")


def test_its_headers_keep_proxies_from_holding_it_back() -> None:
    with (
        served(application({"s": Source(1)}, Streams(lambda: 9, Metrics()))) as gateway,
        httpx2.stream("GET", f"{gateway.url}/s") as response,
    ):
        headers = response.headers
        body = response.read()

    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-cache, no-store"
    assert headers["x-accel-buffering"] == "no"
    assert "content-length" not in headers
    assert body.startswith(b"retry: 1000\nid: 1\nevent: message.delta\ndata: {")


def test_a_silent_stream_is_kept_alive_by_comments() -> None:
    streams = Streams(lambda: 9, Metrics(), keep_alive_s=0.02)
    with served(application({"s": Source(1, pause_s=0.3)}, streams)) as gateway:
        body = httpx2.get(f"{gateway.url}/s").content

    assert body.count(b": keep-alive\n\n") > 1


def test_words_of_any_kind_arrive_as_they_were() -> None:
    text = 'line\nother\r\n\r"quoted" \u2028 data: x\n\nid: 7 \u4e0a\u4e0b\u6587 \x00'
    with (
        served(application({"s": Source(1, text)}, Streams(lambda: 9, Metrics()))) as gateway,
        httpx2.stream("GET", f"{gateway.url}/s") as response,
    ):
        first = next(iter(httpx2.EventSource(response)))

    assert json.loads(first.data)["text"] == text


def test_a_client_that_goes_ends_its_stream() -> None:
    source = Source(10_000, pause_s=0.01)
    streams = Streams(lambda: 9, Metrics())
    with served(application({"s": source}, streams)) as gateway:
        with httpx2.stream("GET", f"{gateway.url}/s") as response:
            next(iter(httpx2.EventSource(response)))
        assert source.is_closed.wait(10)
        _until(lambda: streams.opened == 0)


def test_a_client_that_does_not_read_holds_back_its_own_stream_alone() -> None:
    sources = {"slow": Source(FLOOD, "x" * 10_000), "fast": Source(FLOOD, "x" * 100)}
    with served(application(sources, Streams(lambda: 9, Metrics()))) as gateway:
        at = urlsplit(gateway.url)
        with socket.create_connection((at.hostname, at.port)) as idle:
            idle.sendall(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
            numbers, last = read(gateway, "/fast")
            given = sources["slow"].given

    assert (len(numbers), last) == (FLOOD + 1, "run.cancelled")
    assert 0 < given < FLOOD  # it waits for its client, and nothing piles up


def test_streams_end_first_when_the_gateway_does() -> None:
    source = Source(100_000, pause_s=0.01)
    with (
        served(application({"s": source}, Streams(lambda: 9, Metrics()))) as gateway,
        httpx2.stream("GET", f"{gateway.url}/s") as response,
    ):
        frames = iter(httpx2.EventSource(response))
        next(frames)
        gateway.end()
        last = [frame.event for frame in frames][-1:]

    assert last in ([], ["message.delta"])  # it ended well, and with no event that ends a run
    assert source.is_closed.is_set()


def test_an_owner_may_have_so_many_streams_and_no_more() -> None:
    streams = Streams(lambda: 2, Metrics())
    with served(application({"s": Source(100_000, pause_s=0.01)}, streams)) as gateway:
        url = f"{gateway.url}/s"
        with httpx2.stream("GET", url), httpx2.stream("GET", url):
            _until(lambda: streams.opened == 2)
            answer = httpx2.get(url)
        _until(lambda: streams.opened == 0)
        with httpx2.stream("GET", url) as again:
            assert again.status_code == 200

    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "5"
    assert answer.json()["code"] == "stream.too_many"


def test_a_gateway_that_goes_takes_no_new_stream() -> None:
    streams = Streams(lambda: 2, Metrics())
    with served(application({"s": Source(1)}, streams)) as gateway:
        streams.closing.set()
        answer = httpx2.get(f"{gateway.url}/s")

    assert (answer.status_code, answer.json()["code"]) == (503, "stream.closing")


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(1_000):
        if holds():
            return
        time.sleep(0.01)
    pytest.fail("it does not come to hold")
