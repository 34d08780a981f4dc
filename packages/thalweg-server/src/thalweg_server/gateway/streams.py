"""Server-sent events of runs: from the journal to the client, at the client's own speed.

A stream buffers nothing: it reads the journal after the last number it sent, and waits for the
client to receive that before it reads on. A client that disconnects ends its stream and not the
run.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import ClassVar, NamedTuple

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from thalweg_server.app.metrics import Metrics
from thalweg_server.gateway.problems import GatewayRefusal
from thalweg_server.runs.base import Event

KEEP_ALIVE_S = 15.0
"""Seconds without data after which a comment is sent: proxies close silent connections."""
RETRY_MS = 1_000
"""Milliseconds that a browser waits before it reconnects."""
_HEADERS = {
    "Cache-Control": "no-cache, no-store",
    "X-Accel-Buffering": "no",  # nginx holds answers back otherwise
    "Connection": "keep-alive",
}


class Streams:
    """All open streams of a gateway: how many each owner has, and the end of all of them."""

    def __init__(
        self,
        most: Callable[[], int],
        metrics: Metrics,
        *,
        keep_alive_s: float = KEEP_ALIVE_S,
    ) -> None:
        self._most = most
        self.metrics = metrics
        self._open: Counter[str] = Counter()
        self.closing = asyncio.Event()
        """Set when the gateway shuts down: streams end, and clients connect to another gateway."""
        self.keep_alive_s = keep_alive_s

    @property
    def opened(self) -> int:
        """How many are open."""
        return self._open.total()

    @contextmanager
    def counted(self, owner: str) -> Iterator[None]:
        """Count a stream of an owner until the block ends; enter it before any work for it.

        Raises (when entered):
            GatewayRefusal: The owner has the maximum of open streams, or the gateway shuts down.
        """
        if self.closing.is_set():
            detail = "this gateway is closing; connect again"
            raise GatewayRefusal(503, "stream.closing", detail, {"Retry-After": "1"})
        most = self._most()
        if self._open[owner] >= most:
            self.metrics.limits_met.labels("streams").inc()
            detail = f"the limit of {most} open streams and waits is reached; try again"
            raise GatewayRefusal(429, "stream.too_many", detail, {"Retry-After": "5"})
        self._open[owner] += 1
        try:
            yield
        finally:
            self._open[owner] -= 1
            if not self._open[owner]:
                del self._open[owner]


class Frame(NamedTuple):
    """One server-sent event."""

    id: str
    type: str
    data: str
    """JSON, on one line."""


async def event_frames(events: AsyncIterator[Event]) -> AsyncIterator[Frame]:
    """Yield the lines of a journal unchanged."""
    async with aclosing(events):  # type: ignore[type-var]  # a generator
        async for event in events:
            yield Frame(str(event.seq), event.type, event.data)


class _LongAnswer(Response):
    """An answer whose parts are sent as they come, with `keep_alive` between parts that take long.

    The status is sent first, so the parts themselves have to name a failure.
    """

    keep_alive: ClassVar[bytes]
    is_cut: ClassVar[bool] = False
    """Whether the connection breaks off if the gateway shuts down: a part alone is of no use."""

    def __init__(
        self,
        parts: AsyncIterator[bytes],
        streams: Streams,
        headers: Mapping[str, str],
        on_disconnect: Callable[[], Awaitable[object]] | None,
    ) -> None:
        super().__init__(headers=headers)
        del self.headers["content-length"]
        self._parts = parts
        self._streams = streams
        self._on_disconnect = on_disconnect
        self._at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until the last part, the client disconnects, or the gateway shuts down."""
        del scope
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        self._at = time.monotonic()
        work = (self._pump(send), _gone(receive), self._streams.closing.wait())
        tasks = [asyncio.create_task(one) for one in (*work, self._keep_alive(send))]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        pump, gone, closing, _ = tasks
        if not pump.cancelled():
            pump.result()  # an error breaks the connection off, and the client asks again
        elif not gone.cancelled() and self._on_disconnect is not None:
            await self._on_disconnect()
        elif not closing.cancelled() and self.is_cut:
            problem = "the gateway shuts down; the client asks another one"
            raise ConnectionResetError(problem)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pump(self, send: Send) -> None:
        async with aclosing(self._parts) as parts:  # type: ignore[type-var]  # a generator
            async for part in parts:
                await self._send(send, part)

    async def _keep_alive(self, send: Send) -> None:
        while True:
            silent_s = time.monotonic() - self._at
            if silent_s < self._streams.keep_alive_s:
                await asyncio.sleep(self._streams.keep_alive_s - silent_s)
            else:
                await self._send(send, self.keep_alive)

    async def _send(self, send: Send, body: bytes) -> None:
        self._at = time.monotonic()
        await send({"type": "http.response.body", "body": body, "more_body": True})


class EventStream(_LongAnswer):
    """The answer that sends a run's events as they come."""

    media_type = "text/event-stream"
    keep_alive = b": keep-alive\n\n"

    def __init__(
        self,
        frames: AsyncIterator[Frame],
        streams: Streams,
        headers: Mapping[str, str] | None = None,
        on_disconnect: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """Create a stream.

        Args:
            frames: Closed when the client disconnects.
            streams: The gateway's streams.
            headers: More headers.
            on_disconnect: Called if the client disconnects before the end.
        """
        parts = _encoded(frames, streams)
        super().__init__(parts, streams, {**_HEADERS, **(headers or {})}, on_disconnect)


async def _encoded(frames: AsyncIterator[Frame], streams: Streams) -> AsyncIterator[bytes]:
    """Yield frames in their wire format, and count those that were sent."""
    async with aclosing(frames):  # type: ignore[type-var]  # a generator
        yield b"retry: %d\n" % RETRY_MS
        async for one in frames:
            yield frame(one)
            streams.metrics.events.labels(one.type).inc()


def frame(one: Frame) -> bytes:
    r"""Return one event in its wire format.

    Example:
        >>> frame(Frame("7", "run.cancelled", '{"type":"run.cancelled"}'))
        b'id: 7\nevent: run.cancelled\ndata: {"type":"run.cancelled"}\n\n'
    """
    name = f"event: {one.type}\n" if one.type else ""
    id_ = f"id: {one.id}\n" if one.id else ""
    return f"{id_}{name}data: {one.data}\n\n".encode(errors="replace")


class Waiting(_LongAnswer):
    """The answer of a result that takes long: blanks keep the connection open until it is there."""

    media_type = "application/json"
    keep_alive = b"\n"
    is_cut = True

    def __init__(
        self,
        result: Callable[[], Awaitable[bytes]],
        streams: Streams,
        *,
        headers: Mapping[str, str],
        on_disconnect: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        headers = {"Cache-Control": "no-store", **headers}
        super().__init__(_one(result), streams, headers, on_disconnect)


async def _one(result: Callable[[], Awaitable[bytes]]) -> AsyncIterator[bytes]:
    yield await result()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
