"""Calls of a middleware as generators: one flow for sync and async callers.

A flow yields effects and receives the result of each; an error of an effect is raised at its
`yield`. `Send` passes a request on, `SyncOrAsync` has a blocking and an awaited form. A flow calls
everything else directly. Blocking work (archive, engine) leaves the event loop in one place:
`run_in_worker`.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

from langchain.agents.middleware.types import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
)
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import ToolMessage
from langchain_core.runnables.config import ensure_config
from langgraph.types import Command

from thalweg.engine.undocumented import child_config

Done = TypeVar("Done")
Params = ParamSpec("Params")

LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("thalweg_loop", default=None)
"""The event loop that a flow is driven on, for work that has to ask something of it."""
UNSEEN_TAGS = ("nostream", "langsmith:nostream", "thalweg:summary")
"""Tags of a call of our own: LangGraph does not stream its tokens to the user."""


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request on: to the other middleware, and to the model or the tool."""

    request: ModelRequest[Any] | ToolCallRequest
    callbacks: Sequence[BaseCallbackHandler] = ()
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SyncOrAsync:
    """An action with a blocking and an awaited form."""

    blocking: Callable[[], object]
    awaited: Callable[[], Awaitable[object]]


Effect = Send | SyncOrAsync
Flow = Generator[Effect, Any, Done]
Handler = Callable[[Any], Any]
AsyncHandler = Callable[[Any], Awaitable[Any]]
Response = ModelResponse[Any] | ExtendedModelResponse[Any]
ToolResult = ToolMessage | Command[Any]


def run(flow: Flow[Done], handler: Handler | None = None) -> Done:
    """Perform a flow in this thread."""
    steps = _Steps(flow)
    steps.resume()
    while steps.effect is not None:
        result: object = None
        failure: BaseException | None = None
        try:
            match steps.effect:
                case Send(request, callbacks, tags, metadata) if handler:
                    with with_listeners(callbacks, tags, metadata):
                        result = handler(request)
                case SyncOrAsync(blocking):
                    result = blocking()
        except BaseException as error:  # noqa: BLE001 (the flow decides, a cancelled one too)
            failure = error
        steps.resume(result, failure)
    return steps.done


async def arun(flow: Flow[Done], handler: AsyncHandler | None = None) -> Done:
    """Perform a flow that does not block, on the event loop."""
    return await _perform(_Steps(flow), handler, _resume_directly)


async def arun_in_thread(flow: Flow[Done], handler: AsyncHandler | None = None) -> Done:
    """Perform a flow that blocks: its code in worker threads, its effects on the event loop.

    A flow that is cancelled while its code runs has the cancellation raised at its next effect,
    which is not performed.
    """
    return await _perform(_Steps(flow), handler, run_in_worker)


class ModelCallFlow(ABC):
    """The model call of a middleware, as a flow that does not block."""

    @abstractmethod
    def call(self, request: ModelRequest[Any]) -> Flow[Response]:
        """Return the flow of a model call."""

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> Any:  # noqa: ANN401 (a `Response`)
        """Perform `call`."""
        return run(self.call(request), handler)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Any:  # noqa: ANN401
        """Perform `call`."""
        return await arun(self.call(request), handler)


class RequestChange(ModelCallFlow):
    """The model call of a middleware that does no more than change the request."""

    @abstractmethod
    def change_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Return the request to send on."""

    def call(self, request: ModelRequest[Any]) -> Flow[Response]:
        """Send the changed request on."""
        response: Response = yield Send(self.change_request(request))
        return response


class ToolCallFlow(ABC):
    """The tool call of a middleware, as a flow that does not block."""

    @abstractmethod
    def tool_call(self, request: ToolCallRequest) -> Flow[ToolResult]:
        """Return the flow of a tool call."""

    def wrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> ToolResult:
        """Perform `tool_call`."""
        return run(self.tool_call(request), handler)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: AsyncHandler) -> ToolResult:
        """Perform `tool_call`."""
        return await arun(self.tool_call(request), handler)


def sync_and_async(flow: Callable[..., Flow[Any]]) -> tuple[Any, Any]:
    """Return the blocking and the awaited form of a function that is a flow."""

    @wraps(flow)
    def blocking(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (the flow's own)
        return run(flow(*args, **kwargs))

    @wraps(flow)
    async def awaited(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (as above)
        return await arun(flow(*args, **kwargs))

    return blocking, awaited


class _Steps(Generic[Done]):
    """A flow up to its next effect, or its end."""

    def __init__(self, flow: Flow[Done]) -> None:
        self._flow = flow
        self.effect: Effect | None = None
        """The effect to perform next; `None` at the end."""
        self.done: Done

    def resume(self, result: object = None, failure: BaseException | None = None) -> None:
        """Send the flow the result or the error of its effect."""
        self.effect = None
        try:
            self.effect = self._flow.send(result) if failure is None else self._flow.throw(failure)
        except StopIteration as end:
            self.done = end.value


Resume = Callable[[Callable[..., None], object, BaseException | None], Awaitable[None]]


async def _perform(steps: _Steps[Done], handler: AsyncHandler | None, resume: Resume) -> Done:
    result: object = None
    failure: BaseException | None = None
    while True:
        try:
            await resume(steps.resume, result, failure)
        except asyncio.CancelledError as cancelled:
            if steps.effect is None:
                raise
            result, failure = None, cancelled
            continue
        if steps.effect is None:
            return steps.done
        result, failure = None, None
        try:
            match steps.effect:
                case Send(request, callbacks, tags, metadata) if handler:
                    with with_listeners(callbacks, tags, metadata):
                        result = await handler(request)
                case SyncOrAsync(awaited=awaited):
                    result = await awaited()
        except BaseException as error:  # noqa: BLE001 (as above; a flow that ended raises it)
            failure = error


async def _resume_directly(
    resume: Callable[..., None], result: object, failure: BaseException | None
) -> None:
    resume(result, failure)


async def run_in_worker(
    function: Callable[Params, Done], /, *args: Params.args, **kwargs: Params.kwargs
) -> Done:
    """Call a blocking function in a worker thread; a cancelled caller waits for its end.

    A thread cannot be stopped, and the caller's next operation would run concurrently with it.
    """
    token = LOOP.set(asyncio.get_running_loop())
    try:
        worker = asyncio.create_task(asyncio.to_thread(function, *args, **kwargs))
    finally:
        LOOP.reset(token)
    try:
        return await asyncio.shield(worker)
    except asyncio.CancelledError:
        while not worker.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((worker,))
        if not worker.cancelled():
            worker.exception()  # retrieved: the cancellation is raised in its place
        raise


def blocking_effect(work: Callable[[], object]) -> SyncOrAsync:
    """Return the effect of blocking work: sync callers do it themselves, async ones in a worker."""
    return SyncOrAsync(work, lambda: run_in_worker(work))


@contextmanager
def with_listeners(
    callbacks: Sequence[BaseCallbackHandler],
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
) -> Iterator[None]:
    """Add callbacks, tags and metadata to every model call inside."""
    if not callbacks and not tags:
        yield
        return
    config = ensure_config()  # a copy, also of what it holds
    config["tags"] = sorted({*config["tags"], *tags})
    config["metadata"].update(metadata or {})
    manager = config["callbacks"]
    if isinstance(manager, BaseCallbackManager):
        for handler in callbacks:
            manager.add_handler(handler, inherit=True)
    else:
        config["callbacks"] = [*(manager or ()), *callbacks]
    with child_config(config):
        yield
