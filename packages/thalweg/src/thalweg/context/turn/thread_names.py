"""Names of threads: no caller can choose one that joins another owner's thread."""

import hashlib
from typing import Any

from langchain_core.runnables import RunnableConfig

from thalweg.archive import ThreadKey
from thalweg.archive.base import INSIDE, escaped
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
    inside = _inside(config)
    named = "" if thread is None else escaped(str(thread))
    if thread is not None and not is_node(config):
        return f"{named}{INSIDE}{inside}" if inside else named
    if not state["messages"]:
        return None
    (first,) = read_state(state["messages"][:1])
    if thread is None:
        return f"{INSIDE}without-id:{_digest(first)}"
    steps = [s if s.startswith(f"{_TOOLS}:") else s.partition(":")[0] for s in inside.split("|")]
    return f"{named}{INSIDE}{'|'.join(steps)}:{_digest(first)}"


def is_nobodys(key: ThreadKey) -> bool:
    """Return whether a thread has no id: the caller passes its messages to every run."""
    return key.thread.startswith(INSIDE)


def child_name(config: RunnableConfig) -> str | None:
    """Name the thread of a subagent that the tool call of this config runs; see `thread_name`.

    Returns:
        `None` if the call's own thread has no name: the child's first message names it.
    """
    given = config.get("configurable", {})
    thread, inside = given.get("thread_id"), given.get("checkpoint_ns")
    if thread is None or not inside:
        return None
    return f"{escaped(str(thread))}{INSIDE}{inside}"


def is_node(config: RunnableConfig) -> bool:
    """Return whether an agent is a node of a graph that passes all messages to every run.

    Its own state is then empty at each run: LangGraph stores it under the id of the step. A
    subagent that a tool calls is no node, nor is one with its own checkpoints
    (`checkpointer=True`), which has no id of a step.
    """
    steps = [step.partition(":")[0] for step in _inside(config).split("|") if ":" in step]
    return bool(steps) and steps[-1] != _TOOLS


def is_subagent(config: RunnableConfig) -> bool:
    """Return whether an agent was called by another agent's tool, and not by the user."""
    return bool(_inside(config)) and not is_node(config)


def _inside(config: RunnableConfig) -> str:
    """Return the step of a parent's graph in which an agent runs; empty for none."""
    return str(config.get("configurable", {}).get("checkpoint_ns", "")).rpartition("|")[0]


def _digest(message: Message) -> str:
    """Return a digest of a message's id and content, the same after a checkpointer stored it."""
    message = stored_form(message)
    known_by = Message(message.role, message.parts, answers=message.answers, uid=message.uid)
    return hashlib.sha256(message_to_json(known_by).encode()).hexdigest()[:32]
