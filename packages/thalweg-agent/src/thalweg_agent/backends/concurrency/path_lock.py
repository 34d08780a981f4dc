"""One at a time through the same path; threads and tasks of event loops alike."""

import asyncio
from concurrent.futures import Future
from threading import Lock, get_ident
from typing import Self


class PathLockQueue:
    """A queue of locks on paths: a change waits for others of the same path or a folder above."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._queue: list[PathLock] = []

    def at(self, path: str) -> "PathLock":
        """Ask to change a path: enter the result with `with` or `async with`."""
        return PathLock(self, path)

    def line_up(self, waiting: "PathLock") -> None:
        """Enter the queue; the lock is acquired at once if no other is before it."""
        with self._lock:
            self._queue.append(waiting)
            self._let_through()

    def leave(self, done: "PathLock") -> None:
        """Remove a lock from the queue, and let the next ones acquire."""
        with self._lock:
            self._queue.remove(done)
            self._let_through()

    def refuse_deadlock(self, waiting: "PathLock") -> None:
        """Check that a blocking lock does not wait for a task of the event loop that it blocks.

        Raises:
            RuntimeError: It does.
        """
        with self._lock:
            before = self._queue[: self._queue.index(waiting)]
        if any(lock.loop_thread == get_ident() and lock.meets(waiting) for lock in before):
            path = waiting.path.rstrip("/")
            msg = f"a task of this event loop changes {path!r}: await the asynchronous method here"
            raise RuntimeError(msg)

    def _let_through(self) -> None:
        for k, waiting in enumerate(self._queue):
            if waiting.let_through.done():
                continue
            if not any(before.meets(waiting) for before in self._queue[:k]):
                waiting.let_through.set_result(None)


class PathLock:
    """A lock on one path, and everything under it."""

    def __init__(self, turnstile: PathLockQueue, path: str) -> None:
        self.let_through: Future[None] = Future()
        self._turnstile = turnstile
        self.loop_thread = 0
        """The thread whose event loop's task has or awaits the lock; 0 of a blocking caller."""
        self.path = path.rstrip("/") + "/"
        """The path to change, with a `/` at its end."""

    def meets(self, other: "PathLock") -> bool:
        """Whether two paths are the same or one lies in the other."""
        return self.path.startswith(other.path) or other.path.startswith(self.path)

    def __enter__(self) -> Self:
        self._turnstile.line_up(self)
        try:
            self._turnstile.refuse_deadlock(self)
            self.let_through.result()
        except BaseException:
            self._turnstile.leave(self)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._turnstile.leave(self)

    async def __aenter__(self) -> Self:
        self.loop_thread = get_ident()
        self._turnstile.line_up(self)
        try:
            if not self.let_through.done():
                # Shielded: a waiter that is cancelled must not cancel the pass itself.
                await asyncio.shield(asyncio.wrap_future(self.let_through))
        except BaseException:
            self._turnstile.leave(self)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._turnstile.leave(self)
