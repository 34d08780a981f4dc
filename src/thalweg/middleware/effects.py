"""One flow for sync and async: steps that say what is to be done, and two ways to do it.

A flow is a generator of effects. It is sent what each effect gave, or has what went wrong
raised where it stands.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import BaseMessage
from langchain_core.runnables.config import (
    RunnableConfig,
    ensure_config,
    merge_configs,
)

from thalweg.undocumented import child_config

Done = TypeVar("Done")

LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("thalweg_loop", default=None)
"""The event loop that a flow is driven on, for work that has to ask something of it."""
UNSEEN = ("nostream", "langsmith:nostream", "thalweg:summary")
"""Tags of a call of our own: LangGraph does not stream its tokens to the user."""


@dataclass(frozen=True, slots=True)
class Work:
    """Something that blocks: the archive, the engine."""

    do: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Send:
    """Send a request on, to the other middleware and the model."""

    request: ModelRequest[Any]
    callbacks: Sequence[BaseCallbackHandler] = ()
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a model several things at once, beside the agent's flow.

    It gives a list with the answer to each, or the `Exception` that came instead.
    """

    model: BaseChatModel
    prompts: Sequence[Sequence[BaseMessage]]

    @property
    def inputs(self) -> list[LanguageModelInput]:
        """The prompts as `batch` takes them."""
        return [list(prompt) for prompt in self.prompts]

    @property
    def config(self) -> RunnableConfig:
        """All at once, and unseen."""
        return {"tags": list(UNSEEN), "max_concurrency": max(1, len(self.prompts))}


Effect = Work | Send | Ask
Flow = Generator[Effect, Any, Done]
Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]


def run(flow: Flow[Done], handler: Handler | None = None) -> Done:
    """Do a flow's effects one after the other, here."""
    result, failure = None, None
    while True:
        try:
            effect = flow.send(result) if failure is None else flow.throw(failure)
        except StopIteration as end:
            done: Done = end.value
            return done
        result, failure = None, None
        try:
            match effect:
                case Work(do):
                    result = do()
                case Send(request, callbacks, tags) if handler:
                    with listening(callbacks, tags):
                        result = handler(request)
                case Ask(model) as ask:
                    result = model.batch(ask.inputs, ask.config, return_exceptions=True)
        except BaseException as error:  # noqa: BLE001 (the flow decides, a cancelled one too)
            failure = error


async def arun(flow: Flow[Done], handler: AsyncHandler | None = None) -> Done:
    """Do a flow's effects one after the other, without blocking the event loop.

    Work that follows on work is done in one go: a flow goes to another thread, and comes back,
    once for each thing that it needs from outside.
    """
    at: _At[Done] = _At(flow)
    at.go_on()
    while at.effect is not None:
        result: Any = None
        failure: BaseException | None = None
        try:
            match at.effect:
                case Work():
                    await _in_thread(at.work)
                    continue
                case Send(request, callbacks, tags) if handler:
                    with listening(callbacks, tags):
                        result = await handler(request)
                case Ask(model) as ask:
                    result = await model.abatch(ask.inputs, ask.config, return_exceptions=True)
        except BaseException as error:  # noqa: BLE001 (as above; a flow that ended raises it)
            failure = error
        at.go_on(result, failure)
    return at.done


class _At(Generic[Done]):
    """Where a flow stands: at an effect, or at its end."""

    def __init__(self, flow: Flow[Done]) -> None:
        self._flow = flow
        self.effect: Effect | None = None
        """What is to be done next; `None` at the end."""
        self.done: Done

    def go_on(self, result: Any = None, failure: BaseException | None = None) -> None:  # noqa: ANN401
        """Give the flow what came of its effect."""
        self.effect = None
        try:
            self.effect = self._flow.send(result) if failure is None else self._flow.throw(failure)
        except StopIteration as end:
            self.done = end.value

    def work(self) -> None:
        """Do work until the flow needs something else."""
        while isinstance(self.effect, Work):
            result, failure = None, None
            try:
                result = self.effect.do()
            except BaseException as error:  # noqa: BLE001 (as above)
                failure = error
            self.go_on(result, failure)


async def _in_thread(do: Callable[[], Any]) -> Any:  # noqa: ANN401 (a flow knows what it gets)
    """Do something that blocks in a thread; who is cancelled meanwhile waits for its end.

    A thread cannot be stopped: a flow that went on would be at work beside it.
    """
    token = LOOP.set(asyncio.get_running_loop())
    try:
        worker = asyncio.create_task(asyncio.to_thread(do))
    finally:
        LOOP.reset(token)
    try:
        return await asyncio.shield(worker)
    except asyncio.CancelledError:
        while not worker.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((worker,))
        if not worker.cancelled():
            worker.exception()  # seen: the cancellation stands for it
        raise


@contextmanager
def listening(callbacks: Sequence[BaseCallbackHandler], tags: Sequence[str] = ()) -> Iterator[None]:
    """Add callbacks and tags to every model call inside."""
    if not callbacks and not tags:
        yield
        return
    config = _with_callbacks(merge_configs(ensure_config(), {"tags": list(tags)}), callbacks)
    with child_config(config):
        yield


def _with_callbacks(
    config: RunnableConfig, callbacks: Sequence[BaseCallbackHandler]
) -> RunnableConfig:
    present = config.get("callbacks")
    if isinstance(present, BaseCallbackManager):
        manager = present.copy()
        for handler in callbacks:
            manager.add_handler(handler, inherit=True)
        return {**config, "callbacks": manager}
    return {**config, "callbacks": [*(present or []), *callbacks]}
