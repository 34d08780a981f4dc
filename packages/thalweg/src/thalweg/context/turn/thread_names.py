"""Names of threads: no caller can choose one that joins another owner's thread."""

import hashlib
from typing import Any

from langchain_core.runnables import RunnableConfig

from thalweg.archive import ThreadKey
from thalweg.archive.base import SUBAGENT_SEPARATOR, escape_thread_id
from thalweg.context.request.message_writer import read_state
from thalweg.engine.entries import Message, message_to_json
from thalweg.engine.identity import stored_form

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
        return f"{SUBAGENT_SEPARATOR}without-id:{_digest(first)}"
    steps = [
        step if step.startswith(f"{_TOOLS}:") else step.partition(":")[0]
        for step in parent_step.split("|")
    ]
    return f"{escaped_id}{SUBAGENT_SEPARATOR}{'|'.join(steps)}:{_digest(first)}"


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


def _digest(message: Message) -> str:
    """Return a digest of a message's id and content, the same after a checkpointer stored it."""
    message = stored_form(message)
    identity = Message(message.role, message.parts, answers=message.answers, uid=message.uid)
    return hashlib.sha256(message_to_json(identity).encode()).hexdigest()[:32]
