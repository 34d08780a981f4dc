"""One event loop for all that can only be awaited.

Clients of models keep connections that belong to the loop in which they were made, and are shared
by trials: a loop for each trial would leave the next one with connections that are dead.
"""

import asyncio
from collections.abc import Coroutine
from threading import Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")
_LOCK = Lock()
_LOOPS: list[asyncio.AbstractEventLoop] = []
"""The loop, when it was first needed."""


def awaited(work: Coroutine[Any, Any, T]) -> T:
    """Wait for something to be done on the loop; when the wait is interrupted, it is cancelled."""
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
