"""A loop in a thread of its own, and the way into it for programs that have none."""

import threading
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from functools import cache
from typing import TypeVar
from weakref import WeakSet

from anyio.from_thread import BlockingPortal, start_blocking_portal

Result = TypeVar("Result")

_UNWINDING_S = 5.0
"""How long a call may take to clean up after a Ctrl-C."""


class Portal:
    """Runs awaitables on its loop, from any thread; starts with its first call."""

    def __init__(self, last: Callable[[], Awaitable[None]]) -> None:
        """Prepare it.

        Args:
            last: Awaited on the loop before it ends.
        """
        self._last = last
        self._portal: BlockingPortal | None = None
        self._stack = ExitStack()
        self._starting = threading.Lock()

    def call(self, make: Callable[[], Awaitable[Result]]) -> Result:
        """Await something on the loop; a Ctrl-C meanwhile cancels it."""
        ended = threading.Event()

        async def performed() -> Result:
            try:
                return await make()
            finally:
                ended.set()

        future = self._started().start_task_soon(performed)
        try:
            return future.result()
        except BaseException:
            if future.cancel():
                ended.wait(_UNWINDING_S)
            raise

    def close(self) -> None:
        """End the loop, after the last call on it."""
        with self._starting:
            portal, self._portal = self._portal, None
            if portal is not None:
                try:
                    portal.call(self._last)
                finally:
                    self._stack.close()

    def _started(self) -> BlockingPortal:
        with self._starting:
            if self._portal is None:
                started = start_blocking_portal(name="thalweg-client")
                self._portal = self._stack.enter_context(started)
                _open.add(self)
                _close_at_exit()
            return self._portal


_open: "WeakSet[Portal]" = WeakSet()


@cache
def _close_at_exit() -> None:
    """Close portals that a program did not close, while threads can still be started for it."""
    # `atexit` is too late: by then executors accept no work, and closing files needs them.
    # Hooks that shut executors down are registered at their import, and later hooks run first.
    at_exit = getattr(threading, "_register_atexit", lambda _: None)
    at_exit(_close_all)


def _close_all() -> None:
    for portal in list(_open):
        portal.close()
