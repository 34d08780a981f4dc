"""A transport to an ASGI application in this process, without a socket, like a server.

The body of a response streams: the application waits until a part is consumed before it may send
the next one, and receives a disconnect when the reader closes.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import suppress
from contextvars import Context
from typing import Any

import httpx2
from anyio import BrokenResourceError, ClosedResourceError, create_memory_object_stream

from thalweg.errors import ConfigError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
"""An ASGI application: FastAPI, Starlette, or a function."""

_ASGI = {"version": "3.0", "spec_version": "2.3"}
_PATIENCE_S = 10.0
"""Seconds that requests may take to finish when the transport closes."""


class InProcess(httpx2.AsyncBaseTransport):
    """Sends requests to an application in this process, inside its lifespan.

    The application runs in tasks of its own, without the context variables of the caller.
    """

    def __init__(self, application: Application) -> None:
        self._application = application
        self._state: dict[str, Any] = {}
        self._lifespan: _Lifespan | None = None
        self._exchanges: set[_Exchange] = set()

    async def start(self) -> None:
        """Run the application's startup; the first request does so automatically.

        Raises:
            ConfigError: It reported that it cannot start.
        """
        if self._lifespan is None:
            self._lifespan = _Lifespan(self._application, self._state)
        await self._lifespan.started()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See `httpx2.AsyncBaseTransport`; the answer is there as soon as it begins."""
        await self.start()
        exchange = _Exchange(request, self._application, dict(self._state))
        self._exchanges.add(exchange)
        exchange.task.add_done_callback(lambda _: self._exchanges.discard(exchange))
        return await exchange.response()

    async def aclose(self) -> None:
        """Disconnect every request, wait for them, and run the application's shutdown."""
        exchanges = list(self._exchanges)
        for exchange in exchanges:
            exchange.disconnect()
        if tasks := [exchange.task for exchange in exchanges]:
            _, late = await asyncio.wait(tasks, timeout=_PATIENCE_S)
            for task in late:
                task.cancel()
            await asyncio.wait(tasks)
        if self._lifespan is not None:
            lifespan, self._lifespan = self._lifespan, None
            await lifespan.stop()


class _Lifespan:
    """The application's start and end, in one task: resources close in the one that opened them."""

    def __init__(self, application: Application, state: dict[str, Any]) -> None:
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self._messages.put_nowait({"type": "lifespan.startup"})
        self._failure = ""
        self._never_was = False
        self._is_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        scope = {"type": "lifespan", "asgi": _ASGI, "state": state}
        work = _performed(application, scope, self._messages.get, self._send)
        self._task = asyncio.create_task(work, context=Context())
        self._task.add_done_callback(self._end)

    async def started(self) -> None:
        """Wait for the startup; every waiter gets its error."""
        await asyncio.shield(self._is_up)

    async def stop(self) -> None:
        """Shut the application down; an error that ended it is raised."""
        self._messages.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait([self._task])
        if not (self._never_was or self._task.cancelled()):
            self._task.result()

    async def _send(self, message: Message) -> None:
        if message["type"] == "lifespan.startup.failed":
            self._failure = str(message.get("message", "")).strip() or "it did not start"
        elif not self._is_up.done():
            self._is_up.set_result(None)

    def _end(self, task: asyncio.Task[None]) -> None:
        """Pass a failed startup to its waiters, with the original error if there is one."""
        if self._is_up.done():
            return
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None and self._failure:
            error = ConfigError("gateway", self._failure.splitlines()[-1], "see its log")
        if error is None:
            self._is_up.set_result(None)  # an application without a lifespan
        else:
            self._never_was = True
            self._is_up.set_exception(error)
            self._is_up.exception()  # read: perhaps nobody waits any more


async def _performed(
    application: Application, scope: Message, receive: Receive, send: Send
) -> None:
    await application(scope, receive, send)


class _Exchange:
    """One request and its response, whose parts are sent at the reader's speed."""

    def __init__(
        self, request: httpx2.Request, application: Application, state: dict[str, Any]
    ) -> None:
        self._request = request
        self._body = _body_of(request)
        self._is_read = False
        self._is_whole = False
        self._is_over = asyncio.Event()
        self._head: asyncio.Future[Message | None] = asyncio.get_running_loop().create_future()
        self._into, self._parts = create_memory_object_stream[bytes](1)
        work = _performed(application, _scope(request, state), self._receive, self._send)
        self.task = asyncio.create_task(work, context=Context())
        self.task.add_done_callback(lambda _: self._end())

    async def response(self) -> httpx2.Response:
        """Wait for the head of the answer."""
        try:
            head = await self._head
        except asyncio.CancelledError:
            self.disconnect()
            raise
        if head is None:
            self.disconnect()
            raise self._death("before")
        headers = head.get("headers", [])
        return httpx2.Response(head["status"], headers=headers, stream=_ResponseStream(self))

    def disconnect(self) -> None:
        """Notify the application that the reader has disconnected."""
        self._is_over.set()
        self._parts.close()

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives.

        Raises:
            RemoteProtocolError: The application failed before the end.
        """
        with suppress(ClosedResourceError):
            async for part in self._parts:
                yield part
        if not self._is_whole:
            raise self._death("in")

    async def _receive(self) -> Message:
        if not self._is_read and not self._is_over.is_set():
            part = await anext(self._body, b"")
            self._is_read = not part
            return {"type": "http.request", "body": part, "more_body": not self._is_read}
        await self._is_over.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begin(message)
            return
        part = b"" if self._request.method == "HEAD" else message.get("body", b"")
        if part:
            with suppress(BrokenResourceError):  # what is sent to nobody is dropped
                await self._into.send(part)
        if not message.get("more_body", False):
            self._is_whole = True
            self._is_over.set()
            self._into.close()

    def _begin(self, head: Message | None) -> None:
        if not self._head.done():
            self._head.set_result(head)

    def _end(self) -> None:
        self._begin(None)
        self._into.close()

    def _death(self, when: str) -> httpx2.RemoteProtocolError:
        message = f"the application ended {when} its answer"
        failure = httpx2.RemoteProtocolError(message, request=self._request)
        failure.__cause__ = None if self.task.cancelled() else self.task.exception()
        return failure


def _scope(request: httpx2.Request, state: dict[str, Any]) -> Message:
    return {
        "type": "http",
        "asgi": _ASGI,
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.split(b"?")[0],
        "query_string": request.url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "server": (request.url.host, request.url.port),
        "client": ("127.0.0.1", 0),
        "state": state,
    }


async def _body_of(request: httpx2.Request) -> AsyncIterator[bytes]:
    if isinstance(request.stream, httpx2.AsyncByteStream):
        async for part in request.stream:
            if part:
                yield part


class _ResponseStream(httpx2.AsyncByteStream):
    """The body of a response; closing it early disconnects the reader."""

    def __init__(self, exchange: _Exchange) -> None:
        self._exchange = exchange

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._exchange.parts():
            yield part

    async def aclose(self) -> None:
        """Let the application know."""
        self._exchange.disconnect()
