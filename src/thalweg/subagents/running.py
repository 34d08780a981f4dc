"""Two ways to run a child, sync and async: both read its stream, and stop it at its limits.

A graph of LangGraph tells every step. Any other runnable is called once: of its limits, only the
seconds hold.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, closing, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Run:
    """A child, and all that its run takes."""

    child: Runnable[Any, Any]
    inputs: Mapping[str, Any]
    config: RunnableConfig
    progress: Progress
    on_turn: Callable[[], None]
    """Called when the child has taken a turn."""


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


def run_child(run: Run) -> None:
    """Run a child to its end or to a limit, here.

    At the limit of seconds this returns; the child itself stops between two of its steps.

    Raises:
        Exception: Whatever the child raises.
    """
    with inside(run.progress):
        seconds = run.progress.limits.seconds
        if seconds is None:
            _read(run)
            return
        ended, failure = Event(), list[BaseException]()

        def work() -> None:
            try:
                _read(run)
            except BaseException as error:  # noqa: BLE001 (raised again where it is waited for)
                failure.append(error)
            finally:
                ended.set()

        context = copy_context()
        Thread(target=context.run, args=(work,), daemon=True, name="subagent").start()
        if not ended.wait(seconds):
            run.progress.stopped = "seconds"
        elif failure:
            raise failure[0]


def _read(run: Run) -> None:
    if not is_graph(run.child):
        run.progress.values = run.child.invoke(run.inputs, run.config)
        return
    with closing(run.child.stream(run.inputs, run.config, stream_mode=_MODES)) as steps:  # type: ignore[type-var]  # a generator
        for kind, told in steps:
            if _ends(run, kind, told):
                return


async def arun_child(run: Run) -> None:
    """See `run_child`; at the limit of seconds whatever the child has at work is cancelled."""
    with inside(run.progress):
        limit = asyncio.timeout(run.progress.limits.seconds)
        try:
            async with limit:
                await _aread(run)
        except TimeoutError:
            if not limit.expired():
                raise
            run.progress.stopped = "seconds"


async def _aread(run: Run) -> None:
    if not is_graph(run.child):
        run.progress.values = await run.child.ainvoke(run.inputs, run.config)
        return
    async with aclosing(run.child.astream(run.inputs, run.config, stream_mode=_MODES)) as steps:  # type: ignore[type-var]  # a generator
        async for kind, told in steps:
            if _ends(run, kind, told):
                return


def _ends(run: Run, kind: str, told: Any) -> bool:  # noqa: ANN401
    if run.progress.is_over:
        return True
    if run.progress.see(kind, told):
        run.on_turn()
    return kind == "values" and run.progress.must_end()


def is_graph(child: Runnable[Any, Any]) -> bool:
    """Tell whether a runnable is a graph that can tell its steps."""
    bound: object = child
    while isinstance(bound, RunnableBinding):
        bound = bound.bound
    return isinstance(bound, Pregel)
