"""Run a subagent, sync or async: read its stream, and stop it at its limits.

A LangGraph graph streams every step. Any other runnable is called once: only its limit of
seconds applies.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing, closing, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langsmith.run_helpers import get_tracing_context, tracing_context

from thalweg_agent.subagents.child_writes import ChildWrites, graph_of
from thalweg_agent.subagents.progress import ACTIVE, Progress

_MODES = ["updates", "tasks", "values"]
_KIND = {"ls_agent_type": "subagent"}
"""Metadata by which LangSmith recognizes the runs of subagents."""
CONFIG: RunnableConfig = {"configurable": {**_KIND}}
"""Configuration of a subagent's run; LangGraph merges that of the surrounding tool call."""


@dataclass(frozen=True, slots=True)
class SubagentRun:
    """A subagent, and all that its run needs."""

    child: Runnable[Any, Any]
    inputs: Mapping[str, Any]
    config: RunnableConfig
    progress: Progress
    writes: ChildWrites
    on_turn: Callable[[], None]
    """Called after each turn of the subagent."""


@contextmanager
def inside(progress: Progress) -> Iterator[None]:
    """Set the active run, and its tracing metadata, for the code inside."""
    token = ACTIVE.set(progress)
    try:
        around = get_tracing_context()
        metadata = {**(around.get("metadata") or {}), **_KIND}
        with tracing_context(**{**around, "metadata": metadata}):
            yield
    finally:
        ACTIVE.reset(token)


def run_child(run: SubagentRun) -> None:
    """Run a subagent to its end or to a limit, in this thread.

    At the limit of seconds this returns; the subagent itself stops between two of its steps.

    Raises:
        Exception: Any error that the subagent raises.
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


def _read(run: SubagentRun) -> None:
    if graph_of(run.child) is None:
        run.progress.values = run.child.invoke(run.inputs, run.config)
        return
    with closing(run.child.stream(run.inputs, run.config, stream_mode=_MODES)) as steps:  # type: ignore[type-var]  # a generator
        for kind, item in steps:
            if _ends(run, kind, item):
                return


async def arun_child(run: SubagentRun) -> None:
    """Run a subagent as `run_child` does; its time limit cancels work in progress."""
    with inside(run.progress):
        limit = asyncio.timeout(run.progress.limits.seconds)
        try:
            async with limit:
                await _aread(run)
        except TimeoutError:
            if not limit.expired():
                raise
            run.progress.stopped = "seconds"


async def _aread(run: SubagentRun) -> None:
    if graph_of(run.child) is None:
        run.progress.values = await run.child.ainvoke(run.inputs, run.config)
        return
    async with aclosing(run.child.astream(run.inputs, run.config, stream_mode=_MODES)) as steps:  # type: ignore[type-var]  # a generator
        async for kind, item in steps:
            if _ends(run, kind, item):
                return


def _ends(run: SubagentRun, kind: str, item: Any) -> bool:  # noqa: ANN401
    if run.progress.is_over:
        return True
    run.writes.see(kind, item)
    if run.progress.see(kind, item):
        run.on_turn()
    return kind == "values" and run.progress.must_end()
