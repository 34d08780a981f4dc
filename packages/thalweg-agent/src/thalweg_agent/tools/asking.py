"""Calls of a tool to its backend, written once for sync and async.

A tool is a generator: it yields backend calls (`BackendRequest`) and returns its result. `run` and
`arun` perform the calls with the blocking and the awaited methods of the backend.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from thalweg_agent.backends.calls.flows import Result, ago, go
from thalweg_agent.backends.protocol import BackendProtocol


@dataclass(frozen=True, slots=True)
class BackendRequest:
    """A backend call that a tool requests."""

    method: str
    """Name of the blocking method; its awaited twin has an `a` in front."""
    args: tuple[object, ...] = ()
    named: dict[str, object] = field(default_factory=dict[str, object])
    within_s: float | None = None
    """Seconds to wait at most."""
    of: object | None = None
    """The object to call, if it is not the backend of the tool."""


Steps = Generator[BackendRequest, Any, Result]
"""The steps to a result; the value sent in is the result of the yielded `BackendRequest`."""


class OutOfTimeError(Exception):
    """Raised when no answer came within `BackendRequest.within_s`."""


class TooManyCallsError(Exception):
    """Raised when too many timed-out calls are still running."""


_BACKEND_ERRORS = (OSError, ValueError, NotImplementedError, OutOfTimeError, TooManyCallsError)
"""Errors that a backend may raise although it should not; a tool reports them to the model."""


def ask(result: type[Result], method: str, *args: object, **named: object) -> Steps[Result]:
    """Request a call of the backend, and return its result.

    Args:
        result: Type that the method returns.
        method: The blocking method's name.
        args: Its positional arguments.
        named: Its keyword arguments.
    """
    del result
    return cast("Result", (yield BackendRequest(method, args, named)))


def run(
    steps: Steps[Result], backend: BackendProtocol, slots: threading.Semaphore | None = None
) -> Result:
    """Run a tool's steps with the backend's blocking methods.

    Args:
        steps: The tool's generator.
        backend: Receives the calls.
        slots: How many calls with a time limit may run at once; others wait, as long as they may
            run. A call that times out keeps its thread and its slot until it ends, since nothing
            can stop it. `None`: no limit.
    """
    return go(steps, lambda request: _answer(request, backend, slots), _BACKEND_ERRORS)


def _answer(
    request: BackendRequest, backend: BackendProtocol, slots: threading.Semaphore | None
) -> object:
    call = _call(request, backend, request.method)
    if request.within_s is None:
        return call()
    if slots is not None and not slots.acquire(timeout=request.within_s):
        raise TooManyCallsError
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="thalweg-files")
    future = executor.submit(contextvars.copy_context().run, call)
    if slots is not None:
        future.add_done_callback(lambda _: slots.release())
    executor.shutdown(wait=False)
    if not wait([future], timeout=request.within_s).done:
        raise OutOfTimeError(request.within_s)
    return future.result()


async def arun(steps: Steps[Result], backend: BackendProtocol) -> Result:
    """Run a tool's steps with the backend's awaited methods."""
    return await ago(steps, lambda request: _awaited(request, backend), _BACKEND_ERRORS)


async def _awaited(request: BackendRequest, backend: BackendProtocol) -> object:
    call = _call(request, backend, f"a{request.method}")
    if request.within_s is None:
        return await call()
    limit = asyncio.timeout(request.within_s)
    try:
        async with limit:
            return await call()
    except TimeoutError:
        if limit.expired():
            raise OutOfTimeError(request.within_s) from None
        raise  # the backend's own timeout


def _call(request: BackendRequest, backend: BackendProtocol, method: str) -> Callable[[], Any]:
    return partial(getattr(request.of or backend, method), *request.args, **request.named)
