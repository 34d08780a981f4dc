"""A graph's state and its thread: the thread's name, the checkpoint pointer, the state's origin.

No caller can choose a name that joins another owner's thread.

A state may reach another thread or another archive: checkpoints are copied, a run may have another
owner, an agent may be recreated with another archive. So a checkpoint pointer names the journal of
its turn, and how many messages are in the archive's log and no longer in the state.

A log that is longer than its state has one of two reasons. Another run was faster: its messages
belong to the thread. Or a person went back to an older checkpoint: later messages are not part of
the branch. Checkpoints distinguish the two, since LangGraph records the source of each.
"""

import asyncio
import hashlib
import json
import time
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from thalweg.archive import ThreadKey
from thalweg.archive.base import SUBAGENT_SEPARATOR, escape_thread_id
from thalweg.context.request.messages import read_state
from thalweg.context.turn.effects import LOOP
from thalweg.engine.entries import Message, message_to_json, stored_form


@dataclass(frozen=True, slots=True)
class CheckpointPointer:
    """The checkpoint pointer that a state holds."""

    thread: str
    """Digest of the owner and the thread."""
    archive: str
    """`Archive.identity` of the archive that has the journal; empty in an older mark."""
    turn: int
    """Place of the turn's record in the journal."""
    released: int | None
    """Number of messages that were removed from the state and are in the archive alone; `None` in a
    pointer of a version that did not count them."""

    def is_of(self, key: ThreadKey) -> bool:
        """Return whether a state is of this thread and owner, in any archive."""
        return self.thread == _thread_digest(key)


def write_pointer(key: ThreadKey, turn: int, *, archive: str = "", released: int = 0) -> str:
    """Return the checkpoint pointer to a turn of a thread.

    Args:
        key: The thread.
        turn: Place of the turn's record in the journal.
        archive: `Archive.identity` of the archive that has the journal.
        released: Messages of the thread that the state does not hold any more.

    Example:
        >>> key = ThreadKey("ada", "t1")
        >>> pointer = write_pointer(key, 12, archive="a1", released=3)
        >>> (
        ...     read_pointer_turn(pointer, key, "a1"),
        ...     read_pointer_turn(pointer, ThreadKey("bob", "t1"), "a1"),
        ... )
        (12, None)
        >>> parse_pointer(pointer).released
        3
    """
    return f"{_thread_digest(key)}:{archive}:{turn}:{released}"


def read_pointer_turn(pointer: object, key: ThreadKey, archive: str = "") -> int | None:
    """Return the turn of a checkpoint pointer; `None` for another thread or without a pointer."""
    parsed = parse_pointer(pointer)
    if parsed is None or not parsed.is_of(key):
        return None
    is_same_archive = parsed.released is None or parsed.archive == archive
    return parsed.turn if is_same_archive else None


def parse_pointer(pointer: object) -> CheckpointPointer | None:
    """Parse a checkpoint pointer of any thread; return `None` if it is invalid."""
    match pointer.split(":") if isinstance(pointer, str) else ():
        case (thread, archive, turn, released) if turn.isdecimal() and released.isdecimal():
            return CheckpointPointer(thread, archive, int(turn), int(released))
        case (thread, turn) if turn.isdecimal():
            return CheckpointPointer(thread, "", int(turn), None)
        case _:
            return None


def _thread_digest(key: ThreadKey) -> str:
    return hashlib.sha256(json.dumps([key.owner, key.thread]).encode()).hexdigest()[:12]


_TOOLS = "tools"
"""The node of an agent that runs its tools."""


def thread_name(config: RunnableConfig, state: Any) -> str | None:  # noqa: ANN401 (any agent's)
    """Return the name of the thread of a run.

    A subagent runs inside a step of its parent's graph and has a thread of its own. If the caller
    passes the messages to every run (there is no `thread_id`, or the agent is a node of a graph
    that keeps them), the thread is identified by its first message: the same messages continue that
    thread.

    Returns:
        `None` if there is no message.
    """
    thread = config.get("configurable", {}).get("thread_id")
    parent_step = _parent_step(config)
    escaped_id = "" if thread is None else escape_thread_id(str(thread))
    if thread is not None and not is_node(config):
        return f"{escaped_id}{SUBAGENT_SEPARATOR}{parent_step}" if parent_step else escaped_id
    if not state["messages"]:
        return None
    (first,) = read_state(state["messages"][:1])
    if thread is None:
        return f"{SUBAGENT_SEPARATOR}without-id:{_message_digest(first)}"
    steps = [
        step if step.startswith(f"{_TOOLS}:") else step.partition(":")[0]
        for step in parent_step.split("|")
    ]
    return f"{escaped_id}{SUBAGENT_SEPARATOR}{'|'.join(steps)}:{_message_digest(first)}"


def is_anonymous(key: ThreadKey) -> bool:
    """Return whether a thread has no id: the caller passes its messages to every run."""
    return key.thread.startswith(SUBAGENT_SEPARATOR)


def child_name(config: RunnableConfig) -> str | None:
    """Name the thread of a subagent that the tool call of this config runs; see `thread_name`.

    Returns:
        `None` if the call's own thread has no name: the child's first message names it.
    """
    configurable = config.get("configurable", {})
    thread, parent_step = configurable.get("thread_id"), configurable.get("checkpoint_ns")
    if thread is None or not parent_step:
        return None
    return f"{escape_thread_id(str(thread))}{SUBAGENT_SEPARATOR}{parent_step}"


def is_node(config: RunnableConfig) -> bool:
    """Return whether an agent is a node of a graph that passes all messages to every run.

    Its own state is then empty at each run: LangGraph stores it under the id of the step. A
    subagent that a tool calls is no node, nor is one with its own checkpoints
    (`checkpointer=True`), which has no id of a step.
    """
    steps = [step.partition(":")[0] for step in _parent_step(config).split("|") if ":" in step]
    return bool(steps) and steps[-1] != _TOOLS


def is_subagent(config: RunnableConfig) -> bool:
    """Return whether an agent was called by another agent's tool, and not by the user."""
    return bool(_parent_step(config)) and not is_node(config)


def _parent_step(config: RunnableConfig) -> str:
    """Return the step of a parent's graph in which an agent runs; empty for none."""
    return str(config.get("configurable", {}).get("checkpoint_ns", "")).rpartition("|")[0]


def _message_digest(message: Message) -> str:
    """Return a digest of a message's id and content, the same after a checkpointer stored it."""
    message = stored_form(message)
    identity = Message(message.role, message.parts, answers=message.answers, uid=message.uid)
    return hashlib.sha256(message_to_json(identity).encode()).hexdigest()[:32]


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
