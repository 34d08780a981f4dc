"""Where a state comes from: a run that was left there, or a person's hand.

A log that is longer than a state knows of has one of two reasons. Another run was faster: what
it said belongs to the thread. Or a person went back to an older checkpoint: what came after it
was left behind. Checkpoints tell which, since LangGraph notes who made each of them.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from thalweg.middleware.effects import LOOP
from thalweg.middleware.names import is_node

BY_HAND = ("update", "fork")
"""Sources of checkpoints that a person made."""
NEWEST = ""
"""Stands for the id of a thread's newest checkpoint."""
WAIT_S, WAITS = 0.02, 25
"""A checkpoint may be on its way to the database while its step runs already."""


def checkpointer(config: RunnableConfig) -> BaseCheckpointSaver[Any] | None:
    """Find the checkpointer that keeps the state of a run; `None` when nobody keeps it."""
    saver = config.get("configurable", {}).get("__pregel_checkpointer")
    return saver if isinstance(saver, BaseCheckpointSaver) else None


def keeps_state(config: RunnableConfig) -> bool:
    """Tell whether a checkpointer keeps the state of a run until the next one.

    Where none does, or the agent is a node of a graph that hands it all messages with every run,
    the messages come from outside, and the caller passes on what the run gives back.
    """
    named = config.get("configurable", {}).get("thread_id") is not None
    return named and checkpointer(config) is not None and not is_node(config)


def is_addressed(config: RunnableConfig) -> bool:
    """Tell whether a run was asked to start from a checkpoint that it names."""
    return "checkpoint_id" in (config.get("metadata") or {})


def is_rewound(config: RunnableConfig, mark: str | None) -> bool | None:
    """Tell whether a person made the state that a model is called with.

    Args:
        config: Of the model's step.
        mark: What the state says of where it was left: hands that were at work before do not count.

    Returns:
        `None` where it cannot be told: there is no checkpoint, or not yet.
    """
    given = config.get("configurable", {})
    saver, graph = checkpointer(config), str(given.get("checkpoint_ns", "")).rpartition("|")[0]
    at = given.get("checkpoint_map", {}).get(graph)
    if saver is None or at is None:
        return None
    if given.get("__pregel_durability") == "exit":  # this run's own checkpoint comes at its end
        if is_addressed(config):
            return None
        at = NEWEST
    try:
        return _is_by_hand(saver, config, mark, (str(given.get("thread_id")), graph, at))
    except _UnreadableError:
        return None


def was_left(config: RunnableConfig) -> bool:
    """Tell whether a run of this thread left a state that a checkpointer still has.

    A state without a mark begins a thread. If the log has messages from before, either another
    run began the thread at the same time, and its checkpoints are there, or the thread was
    deleted, and they are not.
    """
    given = config.get("configurable", {})
    saver, graph = checkpointer(config), str(given.get("checkpoint_ns", "")).rpartition("|")[0]
    if saver is None:
        return False
    thread = {"thread_id": str(given.get("thread_id")), "checkpoint_ns": graph}
    found = _listed(saver, {"configurable": thread})
    return any(one.checkpoint["channel_values"].get("thalweg_turn") for one in found)


def _listed(saver: BaseCheckpointSaver[Any], where: RunnableConfig) -> Iterable[CheckpointTuple]:
    try:
        return [*saver.list(where)]
    except (NotImplementedError, asyncio.InvalidStateError):
        loop = LOOP.get()

    async def listed() -> list[CheckpointTuple]:
        return [found async for found in saver.alist(where)]

    return [] if loop is None else asyncio.run_coroutine_threadsafe(listed(), loop).result()


def _is_by_hand(
    saver: BaseCheckpointSaver[Any],
    config: RunnableConfig,
    mark: str | None,
    place: tuple[str, str, str],
) -> bool | None:
    thread, graph, at = place
    found = _checkpoint(saver, thread, graph, at)
    if found is None:
        return None if at else False
    while found and found.checkpoint["channel_values"].get("thalweg_turn") == mark:
        source = found.metadata.get("source")
        if source in BY_HAND or (is_addressed(config) and source == "input"):
            return True
        found = _read(saver, found.parent_config) if found.parent_config else None
    return False


def _checkpoint(
    saver: BaseCheckpointSaver[Any], thread: str, graph: str, at: str
) -> CheckpointTuple | None:
    place = {"thread_id": thread, "checkpoint_ns": graph}
    where: RunnableConfig = {"configurable": {**place, "checkpoint_id": at} if at else place}
    for _ in range(WAITS if at else 1):
        if found := _read(saver, where):
            return found
        time.sleep(WAIT_S)
    return None


def _read(saver: BaseCheckpointSaver[Any], where: RunnableConfig) -> CheckpointTuple | None:
    """Read a checkpoint; where a saver is async alone, on the loop that the run is on.

    Raises:
        _UnreadableError: There is no loop that could be asked.
    """
    try:
        return saver.get_tuple(where)
    except (NotImplementedError, asyncio.InvalidStateError) as error:
        loop = LOOP.get()
        if loop is None:
            raise _UnreadableError from error
    return asyncio.run_coroutine_threadsafe(saver.aget_tuple(where), loop).result()


class _UnreadableError(Exception):
    """A saver cannot be read from here."""
