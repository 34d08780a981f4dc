"""The origin of a state: the end of a run, or a manual operation.

A log that is longer than its state has one of two reasons. Another run was faster: its messages
belong to the thread. Or a person went back to an older checkpoint: later messages are not part of
the branch. Checkpoints distinguish the two, since LangGraph records the source of each.
"""

import asyncio
import time
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from thalweg.context.turn.effects import LOOP
from thalweg.context.turn.thread_names import is_node

BY_HAND = ("update", "fork")
"""Sources of checkpoints that a person made."""
NEWEST = ""
"""Placeholder for the id of a thread's newest checkpoint."""
WAIT_S, WAITS = 0.02, 25
"""A checkpoint may be on its way to the database while its step runs already."""


def checkpointer(config: RunnableConfig) -> BaseCheckpointSaver[Any] | None:
    """Return the checkpointer of a run; `None` if it has none."""
    saver = config.get("configurable", {}).get("__pregel_checkpointer")
    return saver if isinstance(saver, BaseCheckpointSaver) else None


def keeps_state(config: RunnableConfig) -> bool:
    """Return whether a checkpointer stores the state of a run until the next one.

    If none does, or the agent is a node of a graph that passes all messages to every run, the
    messages come from the caller, which also receives those that the run returns.
    """
    named = config.get("configurable", {}).get("thread_id") is not None
    return named and checkpointer(config) is not None and not is_node(config)


def is_addressed(config: RunnableConfig) -> bool:
    """Return whether a run was asked to start from a certain checkpoint."""
    return "checkpoint_id" in (config.get("metadata") or {})


def is_rewound(config: RunnableConfig, mark: str | None) -> bool | None:
    """Return whether a model is called with a state that a manual operation made.

    Args:
        config: Of the model's step.
        mark: The checkpoint pointer of the state: manual operations before it do not count.

    Returns:
        `None` if unknown: there is no checkpoint, or not yet.
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


def _is_by_hand(
    saver: BaseCheckpointSaver[Any],
    config: RunnableConfig,
    mark: str | None,
    place: tuple[str, str, str],
) -> bool | None:
    thread, graph, at = place
    found = _checkpoint(saver, thread, graph, at)
    if found is None and at and is_addressed(config):
        return None
    if found is None and at:  # not written yet: what a person wrote before it is
        found = _checkpoint(saver, thread, graph, NEWEST)
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
    """Read a checkpoint; if a saver is only async, on the event loop of the run.

    Raises:
        _UnreadableError: There is no event loop.
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
