"""A transport to an ASGI application in this process, without a socket, like a server.

The body of a response streams: the application waits until a part is consumed before it may send
the next one, and receives a disconnect when the reader closes.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextvars import Context
from typing import Any

import httpx2

from thalweg.errors import ConfigError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
"""An ASGI application: FastAPI, Starlette, or a function."""

_ASGI = {"version": "3.0", "spec_version": "2.3"}
_PATIENCE_S = 10.0
"""How long requests may take to finish what they were doing when the transport closes."""


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
    """The application's start and end, in one task: what is opened in a task closes in it."""

    def __init__(self, application: Application, state: dict[str, Any]) -> None:
        self._told: asyncio.Queue[Message] = asyncio.Queue()
        self._told.put_nowait({"type": "lifespan.startup"})
        self._said = ""
        self._never_was = False
        self._is_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        scope = {"type": "lifespan", "asgi": _ASGI, "state": state}
        work = _performed(application, scope, self._told.get, self._hear)
        self._task = asyncio.create_task(work, context=Context())
        self._task.add_done_callback(self._end)

    async def started(self) -> None:
        """Wait for the startup; every waiter gets its error."""
        await asyncio.shield(self._is_up)

    async def stop(self) -> None:
        """Let the application end; what it died of is raised."""
        self._told.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait([self._task])
        if not (self._never_was or self._task.cancelled()):
            self._task.result()

    async def _hear(self, message: Message) -> None:
        if message["type"] == "lifespan.startup.failed":
            self._said = str(message.get("message", "")).strip() or "it did not start"
        elif not self._is_up.done():
            self._is_up.set_result(None)

    def _end(self, task: asyncio.Task[None]) -> None:
        """Pass a failed startup to its waiters, with the original error if there is one."""
        if self._is_up.done():
            return
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None and self._said:
            error = ConfigError("gateway", self._said.splitlines()[-1], "see its log")
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
    """One request and its response. Each change wakes all waiters."""

    def __init__(
        self, request: httpx2.Request, application: Application, state: dict[str, Any]
    ) -> None:
        self._request = request
        self._body = _body_of(request)
        self._is_read = False
        self._is_gone = False
        self._is_whole = False
        self._head: Message | None = None
        self._part = b""
        self._changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        work = _performed(application, _scope(request, state), self._receive, self._send)
        self.task = asyncio.create_task(work, context=Context())
        self.task.add_done_callback(lambda _: self._change())

    async def response(self) -> httpx2.Response:
        """Wait for the head of the answer."""
        try:
            while self._head is None and not self.task.done():
                await self._tick()
        except asyncio.CancelledError:
            self.disconnect()
            raise
        if self._head is None:
            raise self._death("before")
        headers = self._head.get("headers", [])
        return httpx2.Response(self._head["status"], headers=headers, stream=_ResponseStream(self))

    def disconnect(self) -> None:
        """Notify the application that the reader has disconnected."""
        self._is_gone = True
        self._change()

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives.

        Raises:
            RemoteProtocolError: The application failed before the end.
        """
        while True:
            while not (self._part or self._is_whole or self.task.done()):
                await self._tick()
            part, self._part = self._part, b""
            self._change()
            if part:
                yield part
            elif self._is_whole:
                return
            else:
                raise self._death("in")

    async def _receive(self) -> Message:
        if not self._is_read and not self._is_gone:
            part = await anext(self._body, b"")
            self._is_read = not part
            return {"type": "http.request", "body": part, "more_body": not self._is_read}
        while not (self._is_gone or self._is_whole):
            await self._tick()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._head = message
            self._change()
            return
        part = b"" if self._request.method == "HEAD" else message.get("body", b"")
        while self._part and not self._is_gone:
            await self._tick()
        if not self._is_gone:  # what is sent to nobody is dropped, as servers do
            self._part = part
        self._is_whole = not message.get("more_body", False)
        self._change()

    def _death(self, when: str) -> httpx2.RemoteProtocolError:
        said = f"the application ended {when} its answer"
        failure = httpx2.RemoteProtocolError(said, request=self._request)
        failure.__cause__ = None if self.task.cancelled() else self.task.exception()
        return failure

    def _change(self) -> None:
        changed, self._changed = self._changed, self._changed.get_loop().create_future()
        if not changed.done():
            changed.set_result(None)

    async def _tick(self) -> None:
        await asyncio.shield(self._changed)


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
