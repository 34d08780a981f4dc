"""One event loop for all async calls.

Clients of models keep connections that belong to the loop in which they were opened, and are shared
by trials: with a loop per trial, the next trial would get dead connections.
"""

import asyncio
from collections.abc import Coroutine
from threading import Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")
_LOCK = Lock()
_LOOPS: list[asyncio.AbstractEventLoop] = []
"""The loop, created at its first use."""


def awaited(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop and return its result; an interrupt cancels it."""
    future = asyncio.run_coroutine_threadsafe(work, _loop())
    try:
        return future.result()
    finally:
        future.cancel()


def _loop() -> asyncio.AbstractEventLoop:
    with _LOCK:
        if not _LOOPS:
            _LOOPS.append(asyncio.new_event_loop())
            Thread(target=_LOOPS[0].run_forever, name="thalweg-evals", daemon=True).start()
        return _LOOPS[0]
