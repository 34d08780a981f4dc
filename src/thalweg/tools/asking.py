"""What a tool wants of its backend, said once and asked in both worlds.

A tool is a generator: it yields what it wants to know (an `Ask`) and returns its answer. `run`
and `arun` put the questions to the blocking and to the awaited methods of the backend.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from thalweg.backends.flows import Result, ago, go
from thalweg.backends.protocol import BackendProtocol


@dataclass(frozen=True, slots=True)
class Ask:
    """A call of a backend's method that a tool needs answered."""

    method: str
    """The blocking method; its awaited twin has an `a` in front."""
    args: tuple[object, ...] = ()
    named: dict[str, object] = field(default_factory=dict[str, object])
    within_s: float | None = None
    """Seconds to wait at most."""
    of: object | None = None
    """Whose method, when it is not the backend of the tool."""


Steps = Generator[Ask, Any, Result]
"""The way to a result; what is sent in answers the `Ask` that came out."""


class OutOfTimeError(Exception):
    """No answer came within `Ask.within_s`."""


class BusyError(Exception):
    """Too many calls that ran out of time still go on."""


_TOLD = (OSError, ValueError, NotImplementedError, OutOfTimeError, BusyError)
"""What a backend may raise although it should not; a tool tells the model of it."""


def ask(result: type[Result], method: str, *args: object, **named: object) -> Steps[Result]:
    """Ask the backend for something.

    Args:
        result: What the method returns.
        method: The blocking method's name.
        args: Its positional arguments.
        named: Its named ones.
    """
    del result
    return cast("Result", (yield Ask(method, args, named)))


def run(
    steps: Steps[Result], backend: BackendProtocol, slots: threading.Semaphore | None = None
) -> Result:
    """Go through a tool's steps with the backend's blocking methods.

    Args:
        steps: The tool at work.
        backend: Answers what it asks.
        slots: How many calls with a time limit may go on at once. One that runs out of time
            keeps its thread and its slot until it ends, since nothing can stop it. As many as
            are asked for when not given.
    """
    return go(steps, lambda wanted: _answer(wanted, backend, slots), _TOLD)


def _answer(wanted: Ask, backend: BackendProtocol, slots: threading.Semaphore | None) -> object:
    call = _call(wanted, backend, wanted.method)
    if wanted.within_s is None:
        return call()
    if slots is not None and not slots.acquire(blocking=False):
        raise BusyError
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="thalweg-files")
    future = executor.submit(contextvars.copy_context().run, call)
    if slots is not None:
        future.add_done_callback(lambda _: slots.release())
    executor.shutdown(wait=False)
    if not wait([future], timeout=wanted.within_s).done:
        raise OutOfTimeError(wanted.within_s)
    return future.result()


async def arun(steps: Steps[Result], backend: BackendProtocol) -> Result:
    """Go through a tool's steps with the backend's awaited methods."""
    return await ago(steps, lambda wanted: _awaited(wanted, backend), _TOLD)


async def _awaited(wanted: Ask, backend: BackendProtocol) -> object:
    call = _call(wanted, backend, f"a{wanted.method}")
    if wanted.within_s is None:
        return await call()
    limit = asyncio.timeout(wanted.within_s)
    try:
        async with limit:
            return await call()
    except TimeoutError:
        if limit.expired():
            raise OutOfTimeError(wanted.within_s) from None
        raise  # the backend's own, of another clock


def _call(wanted: Ask, backend: BackendProtocol, method: str) -> Callable[[], Any]:
    return partial(getattr(wanted.of or backend, method), *wanted.args, **wanted.named)
