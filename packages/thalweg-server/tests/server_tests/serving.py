"""A gateway on a socket of this machine, in a thread, for as long as a test needs it."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI

from thalweg_server.app import App, open_app
from thalweg_server.gateway import create_app
from thalweg_server.gateway.serving import GatewayServer, address_of, bound
from thalweg_server.settings import Settings
from thalweg_server.settings.sections import HEADER_TIMEOUT_S

PATIENCE_S = 60.0
Live = Callable[[socket.socket, "Future[Served]"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Served:
    """Where it is, and how to end it as a signal would."""

    url: str
    server: GatewayServer
    app: App | None = None

    def end(self) -> None:
        """Ask it to end; does not wait."""
        self.server.should_exit = True


def chat_input(text: str = "hi") -> dict[str, Any]:
    """Return an input of a chat for a graph."""
    return {"messages": [{"role": "user", "content": text}]}


@contextmanager
def served(application: FastAPI) -> Iterator[Served]:
    """Serve an application whose parts are open, or need not be."""

    async def live(taken: socket.socket, ready: "Future[Served]") -> None:
        await _serve(application, None, taken, ready)

    with _thread(live) as found:
        yield found


@contextmanager
def gateway(settings: Settings, *, owner: str | None = None) -> Iterator[Served]:
    """Open an application by its settings, and serve it."""

    async def live(taken: socket.socket, ready: "Future[Served]") -> None:
        async with open_app(settings) as app:
            await _serve(
                create_app(app, owner=owner),
                app,
                taken,
                ready,
                header_timeout_s=settings.gateway.header_timeout_s,
            )

    with _thread(live) as found:
        yield found


async def _serve(
    application: FastAPI,
    app: App | None,
    taken: socket.socket,
    ready: "Future[Served]",
    *,
    header_timeout_s: float = HEADER_TIMEOUT_S,
) -> None:
    def is_ready() -> None:
        ready.set_result(Served(address_of(taken), server, app))

    server = GatewayServer(application, is_ready, header_timeout_s=header_timeout_s)
    await server.serve([taken])


@contextmanager
def _thread(live: Live) -> Iterator[Served]:
    ready: Future[Served] = Future()
    with bound("127.0.0.1", 0) as taken:

        async def lived() -> None:
            try:
                await live(taken, ready)
            except BaseException as error:
                if not ready.done():
                    ready.set_exception(error)
                raise

        thread = threading.Thread(target=lambda: asyncio.run(lived()), daemon=True)
        thread.start()
        found = ready.result(PATIENCE_S)
        try:
            yield found
        finally:
            found.end()
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
