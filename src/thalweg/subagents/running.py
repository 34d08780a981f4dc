"""Two ways to run a child, sync and async: both read its stream, and stop it at its limits.

A graph of LangGraph tells every step. Any other runnable is called once: of its limits, only the
seconds hold.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, closing, contextmanager
from contextvars import copy_context
from threading import Event, Thread
from typing import Any

from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig
from langgraph.pregel import Pregel
from langsmith.run_helpers import get_tracing_context, tracing_context

from thalweg.subagents.progress import ACTIVE, Progress

_MODES = ["updates", "values"]
_KIND = {"ls_agent_type": "subagent"}
"""How LangSmith tells the runs of subagents from others."""
CONFIG: RunnableConfig = {"configurable": {**_KIND}}
"""What a child is run with; the rest is that of the tool call around it: LangGraph merges it."""

OnTurn = Callable[[], None]


@contextmanager
def inside(progress: Progress) -> Iterator[None]:
    """Let what is run in here know whose run it is in."""
    token = ACTIVE.set(progress)
    try:
        around = get_tracing_context()
        metadata = {**(around.get("metadata") or {}), **_KIND}
        with tracing_context(**{**around, "metadata": metadata}):
            yield
    finally:
        ACTIVE.reset(token)


def run_child(
    child: Runnable[Any, Any],
    inputs: Mapping[str, Any],
    config: RunnableConfig,
    progress: Progress,
    on_turn: OnTurn,
) -> None:
    """Run a child to its end or to a limit, here.

    At the limit of seconds this returns; the child itself stops between two of its steps.

    Raises:
        Exception: Whatever the child raises.
    """
    with inside(progress):
        seconds = progress.limits.seconds
        if seconds is None:
            _read(child, inputs, config, progress, on_turn)
            return
        ended, failure = Event(), list[BaseException]()

        def work() -> None:
            try:
                _read(child, inputs, config, progress, on_turn)
            except BaseException as error:  # noqa: BLE001 (raised again where it is waited for)
                failure.append(error)
            finally:
                ended.set()

        context = copy_context()
        Thread(target=context.run, args=(work,), daemon=True, name="subagent").start()
        if not ended.wait(seconds):
            progress.stopped = "seconds"
        elif failure:
            raise failure[0]


def _read(
    child: Runnable[Any, Any],
    inputs: Mapping[str, Any],
    config: RunnableConfig,
    progress: Progress,
    on_turn: OnTurn,
) -> None:
    if not is_graph(child):
        progress.values = child.invoke(inputs, config)
        return
    with closing(child.stream(inputs, config, stream_mode=_MODES)) as steps:  # type: ignore[type-var]  # a generator
        for kind, told in steps:
            if _ends(progress, kind, told, on_turn):
                return


async def arun_child(
    child: Runnable[Any, Any],
    inputs: Mapping[str, Any],
    config: RunnableConfig,
    progress: Progress,
    on_turn: OnTurn,
) -> None:
    """See `run_child`; at the limit of seconds whatever the child has at work is cancelled."""
    with inside(progress):
        limit = asyncio.timeout(progress.limits.seconds)
        try:
            async with limit:
                await _aread(child, inputs, config, progress, on_turn)
        except TimeoutError:
            if not limit.expired():
                raise
            progress.stopped = "seconds"


async def _aread(
    child: Runnable[Any, Any],
    inputs: Mapping[str, Any],
    config: RunnableConfig,
    progress: Progress,
    on_turn: OnTurn,
) -> None:
    if not is_graph(child):
        progress.values = await child.ainvoke(inputs, config)
        return
    async with aclosing(child.astream(inputs, config, stream_mode=_MODES)) as steps:  # type: ignore[type-var]  # a generator
        async for kind, told in steps:
            if _ends(progress, kind, told, on_turn):
                return


def _ends(progress: Progress, kind: str, told: Any, on_turn: OnTurn) -> bool:  # noqa: ANN401
    if progress.is_over:
        return True
    if progress.see(kind, told):
        on_turn()
    return kind == "values" and progress.must_end()


def is_graph(child: Runnable[Any, Any]) -> bool:
    """Tell whether a runnable is a graph that can tell its steps."""
    bound: object = child
    while isinstance(bound, RunnableBinding):
        bound = bound.bound
    return isinstance(bound, Pregel)
