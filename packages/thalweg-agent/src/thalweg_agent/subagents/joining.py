"""Pass state to a subagent, and merge its changes into its parent's state."""

from collections.abc import Collection, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import BaseChannel

from thalweg_agent.prompts import prompt
from thalweg_agent.subagents.child_writes import Writes, for_one_step

PRIVATE_PREFIX = "thalweg_"
"""Prefix of state keys that describe one agent's own thread."""
FORK_EXCLUDED = frozenset(
    {
        "messages",
        "structured_response",
        "jump_to",
        "tasks",
        "artifacts",
        "files_unseen",
        "pinned_skills",
        "rubric",
        "viewed_images",
    }
)
"""Keys that not even a fork receives: they describe its parent's own run."""
EXCLUDED = FORK_EXCLUDED | {"todos", "skills_metadata"}
"""Keys of the state that are private to one agent: passed neither to nor from a subagent."""


FILES = ("files", "files_unseen")
"""Keys of the files that agents of a run share; see `backends/concurrency/child_files.py`."""


def isolated(state: Mapping[str, Any], task: str, private: Collection[str] = ()) -> dict[str, Any]:
    """Return the initial state of an isolated subagent: its task, and the shared keys."""
    return {**_without(state, EXCLUDED | set(private)), "messages": [HumanMessage(task)]}


def forked(
    state: Mapping[str, Any],
    sent: list[AnyMessage] | None,
    task: str,
    private: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return the initial state of a fork: the conversation, then its task.

    Args:
        state: The parent's state, whose newest message is the call that made the fork.
        sent: The messages sent to the parent's model before that call, if recorded.
        task: The fork's task.
        private: Keys to withhold from a fork that its parent did not build; it then also gets no
            other private key.
    """
    history = sent if sent is not None else _before_call(state.get("messages", []))
    keys = FORK_EXCLUDED if private is None else EXCLUDED | set(private)
    return {**_without(state, keys), "messages": [*history, HumanMessage(fork_task(task))]}


def fork_task(task: str) -> str:
    """Render a fork's task so that it does not repeat the request to delegate."""
    return f"{prompt('task_fork').render()}\n\n{task}"


def _before_call(messages: list[AnyMessage]) -> list[AnyMessage]:
    if messages and isinstance(messages[-1], AIMessage) and messages[-1].tool_calls:
        return messages[:-1]
    return list(messages)


def _without(state: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {k: v for k, v in state.items() if k not in keys and not k.startswith(PRIVATE_PREFIX)}


def is_shared(key: str, private: Collection[str] = ()) -> bool:
    """Return whether a key of the state is shared with subagents, files aside."""
    return not (key in EXCLUDED or key in private or key in FILES or key.startswith(PRIVATE_PREFIX))


def by_key(
    writes: Writes, channels: Mapping[str, BaseChannel[Any, Any, Any]] | None
) -> dict[str, list[Any]]:
    """Return a subagent's writes by key, as writes of one step of its parent.

    Args:
        writes: In the order in which the subagent made them.
        channels: Those of the parent's graph, which drops keys that it does not have; `None`
            outside of a graph.
    """
    grouped: dict[str, list[Any]] = {}
    for key, value in writes:
        if channels is None or key in channels:
            grouped.setdefault(key, []).append(value)
    known = channels or {}
    return {key: for_one_step(values, known.get(key)) for key, values in grouped.items()}


def new_artifacts(result: Mapping[str, Any], had: object) -> list[str]:
    """Return the artifacts of a subagent that its parent does not have yet."""
    given = result.get("artifacts")
    if not isinstance(given, (list, tuple)):
        return []
    known = set(had) if isinstance(had, (list, tuple)) else set()
    return [path for path in dict.fromkeys(given) if path not in known]


def merge_artifacts(before: list[str] | None, after: list[str] | None) -> list[str]:
    """Append artifacts that are not present yet.

    Example:
        >>> merge_artifacts(["/a"], ["/b", "/a"])
        ['/a', '/b']
    """
    return list(dict.fromkeys([*(before or []), *(after or [])]))
