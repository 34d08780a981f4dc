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

MANUAL_SOURCES = ("update", "fork")
"""Sources of checkpoints that a person made."""
NEWEST_CHECKPOINT = ""
"""Placeholder for the id of a thread's newest checkpoint."""
WAIT_S, MAX_WAITS = 0.02, 25
"""A step may already run while its checkpoint is still being written: how often to read again."""


def checkpointer(config: RunnableConfig) -> BaseCheckpointSaver[Any] | None:
    """Return the checkpointer of a run; `None` if it has none."""
    saver = config.get("configurable", {}).get("__pregel_checkpointer")
    return saver if isinstance(saver, BaseCheckpointSaver) else None


def keeps_state(config: RunnableConfig) -> bool:
    """Return whether a checkpointer stores the state of a run until the next one.

    If none does, or the agent is a node of a graph that passes all messages to every run, the
    messages come from the caller, which also receives those that the run returns.
    """
    has_thread_id = config.get("configurable", {}).get("thread_id") is not None
    return has_thread_id and checkpointer(config) is not None and not is_node(config)


def has_checkpoint_id(config: RunnableConfig) -> bool:
    """Return whether a run was asked to start from a certain checkpoint."""
    return "checkpoint_id" in (config.get("metadata") or {})


def is_rewound(config: RunnableConfig, pointer: str | None) -> bool | None:
    """Return whether a model is called with a state that a manual operation made.

    Args:
        config: Of the model's step.
        pointer: The checkpoint pointer of the state: manual operations before it do not count.

    Returns:
        `None` if unknown: there is no checkpoint, or not yet.
    """
    configurable = config.get("configurable", {})
    saver, namespace = (
        checkpointer(config),
        str(configurable.get("checkpoint_ns", "")).rpartition("|")[0],
    )
    checkpoint_id = configurable.get("checkpoint_map", {}).get(namespace)
    if saver is None or checkpoint_id is None:
        return None
    if (
        configurable.get("__pregel_durability") == "exit"
    ):  # this run's own checkpoint comes at its end
        if has_checkpoint_id(config):
            return None
        checkpoint_id = NEWEST_CHECKPOINT
    try:
        return _is_manual(
            saver, config, pointer, (str(configurable.get("thread_id")), namespace, checkpoint_id)
        )
    except _UnreadableError:
        return None


def _is_manual(
    saver: BaseCheckpointSaver[Any],
    config: RunnableConfig,
    pointer: str | None,
    address: tuple[str, str, str],
) -> bool | None:
    thread, namespace, checkpoint_id = address
    checkpoint = _find_checkpoint(saver, thread, namespace, checkpoint_id)
    if checkpoint is None and checkpoint_id and has_checkpoint_id(config):
        return None
    if checkpoint is None and checkpoint_id:  # not written yet: what a person wrote before it is
        checkpoint = _find_checkpoint(saver, thread, namespace, NEWEST_CHECKPOINT)
    while checkpoint and checkpoint.checkpoint["channel_values"].get("thalweg_turn") == pointer:
        source = checkpoint.metadata.get("source")
        if source in MANUAL_SOURCES or (has_checkpoint_id(config) and source == "input"):
            return True
        checkpoint = (
            _read_checkpoint(saver, checkpoint.parent_config) if checkpoint.parent_config else None
        )
    return False


def _find_checkpoint(
    saver: BaseCheckpointSaver[Any], thread: str, namespace: str, checkpoint_id: str
) -> CheckpointTuple | None:
    configurable = {"thread_id": thread, "checkpoint_ns": namespace}
    checkpoint_config: RunnableConfig = {
        "configurable": {**configurable, "checkpoint_id": checkpoint_id}
        if checkpoint_id
        else configurable
    }
    for _ in range(MAX_WAITS if checkpoint_id else 1):
        if checkpoint := _read_checkpoint(saver, checkpoint_config):
            return checkpoint
        time.sleep(WAIT_S)
    return None


def _read_checkpoint(
    saver: BaseCheckpointSaver[Any], checkpoint_config: RunnableConfig
) -> CheckpointTuple | None:
    """Read a checkpoint; if a saver is only async, on the event loop of the run.

    Raises:
        _UnreadableError: There is no event loop.
    """
    try:
        return saver.get_tuple(checkpoint_config)
    except (NotImplementedError, asyncio.InvalidStateError) as error:
        loop = LOOP.get()
        if loop is None:
            raise _UnreadableError from error
    return asyncio.run_coroutine_threadsafe(saver.aget_tuple(checkpoint_config), loop).result()


class _UnreadableError(Exception):
    """A saver cannot be read from here."""
