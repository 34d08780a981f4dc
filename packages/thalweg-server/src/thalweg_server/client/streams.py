"""The events of a run as they come: each once, in order, however often the line is cut."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Self

import httpx2
from pydantic import JsonValue, TypeAdapter, ValidationError

from thalweg.errors import ClientError, ThalwegError
from thalweg_server.api.events import END_EVENTS, EVENT, Event, Notice, Numbered
from thalweg_server.api.paths import path_of
from thalweg_server.client.calls import GatewayRequest
from thalweg_server.client.connection import (
    Connection,
    ReconnectAttempts,
    failure,
    is_passing,
    requested_pause,
)
from thalweg_server.client.problems import UNREADABLE

_OBJECT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])
_SILENCE_S = 45.0
"""A gateway sends at least every fifteen seconds; three missing intervals count as a disconnect."""


class RunStream:
    """The stream of a run up to its end: iterate it for `Numbered` events.

    It reconnects automatically after a disconnect and continues after the last event, at another
    gateway if there is one. Ending the loop, or `aclose`, closes the stream and not the run;
    iterating again continues after the last event.

    Attributes:
        thread: The thread.
        run: The run.
        seq: The number of the last returned event.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        thread: str,
        run: str,
        *,
        start: GatewayRequest | None = None,
        after: int = 0,
    ) -> None:
        self.thread = thread
        self.run = run
        self.seq = after
        self._connect = connect
        self._start = start
        self._ended = asyncio.Event()
        self._response: httpx2.Response | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the stream; the run continues."""
        self._ended.set()
        if self._response is not None:
            await self._response.aclose()

    async def __aiter__(self) -> AsyncGenerator[Numbered]:
        connection = await self._connect()
        tries = ReconnectAttempts()
        while not self._ended.is_set():
            pause: float | None = None
            why: Exception = _Cut("the stream ended before the run")
            try:
                async with connection.streamed(self._call()) as self._response:
                    if not self._response.is_success:
                        why, pause = await _refusal(self._response)
                    else:
                        self._start = None  # the run is there: from now on it is followed
                        async with aclosing(self._news(self._response)) as news:
                            async for numbered in news:
                                tries.got_on()
                                yield numbered
            except httpx2.TransportError as error:
                why = error
            if self._ended.is_set():
                return
            connection.next_gateway()
            if not await tries.another(pause):
                raise why if isinstance(why, ThalwegError) else connection.unreachable(why)

    async def _news(self, response: httpx2.Response) -> AsyncGenerator[Numbered]:
        """Yield new events up to a gap, which is treated as a disconnect."""
        async for frame in httpx2.EventSource(response):
            if not frame.id.isdecimal() or (seq := int(frame.id)) <= self.seq:
                continue
            if seq > self.seq + 1:
                return
            self.seq = seq
            if frame.event in END_EVENTS:
                self._ended.set()
            yield Numbered(seq=seq, event=_event_of(frame))
            if self._ended.is_set():
                return

    def _call(self) -> GatewayRequest:
        if self._start is not None:
            return self._start
        return GatewayRequest(
            "GET",
            path_of("/api/threads/{}/runs/{}/stream", self.thread, self.run),
            headers={"last-event-id": str(self.seq), "accept": "text/event-stream"},
            wait_s=_SILENCE_S,
        )


class _Cut(httpx2.TransportError):
    """A stream that ended well, and too early."""


async def _refusal(response: httpx2.Response) -> tuple[ThalwegError, float | None]:
    """Read why a gateway does not stream; raise it where another try would not help."""
    await response.aread()
    error = failure(response)
    if not is_passing(response):
        raise error
    return error, requested_pause(response)


def _event_of(frame: httpx2.ServerSentEvent) -> Event:
    """Parse an event; an unknown one of a newer gateway becomes a notice."""
    try:
        return EVENT.validate_json(frame.data)
    except ValidationError:
        pass
    try:
        return Notice(kind=frame.event, detail=_OBJECT.validate_json(frame.data))
    except ValidationError:
        detail = f"event {frame.id} of the stream is not a JSON object: {frame.data[:80]!r}"
        raise ClientError(200, UNREADABLE, detail) from None
