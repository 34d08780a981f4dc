"""A gateway on a socket of this machine, in a thread, for as long as a test needs it."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi import FastAPI

from thalweg.gateway.serving import Server, address_of, bound

_PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Served:
    """Where it is, and how to end it as a signal would."""

    url: str
    server: Server

    def end(self) -> None:
        """Ask it to end; does not wait."""
        self.server.should_exit = True


@contextmanager
def served(application: FastAPI) -> Iterator[Served]:
    """Serve an application whose parts are open, or need not be."""
    ready: Future[None] = Future()
    with bound("127.0.0.1", 0) as taken:
        server = Server(application, lambda: ready.set_result(None))

        def live() -> None:
            asyncio.run(server.serve([taken]))

        thread = threading.Thread(target=live, daemon=True)
        thread.start()
        ready.result(_PATIENCE_S)
        try:
            yield Served(address_of(taken), server)
        finally:
            server.should_exit = True
            thread.join(_PATIENCE_S)
            assert not thread.is_alive()
