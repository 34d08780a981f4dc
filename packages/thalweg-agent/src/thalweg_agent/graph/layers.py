"""The order of an agent's middleware, as data."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware

Middleware = AgentMiddleware[Any, Any, Any]
USERS = "(yours)"
"""The position of the user's middleware that replaces no built-in one."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One position in the stack."""

    name: str
    """`AgentMiddleware.name` of the middleware at this position."""
    why: str
    """The reason for its position."""


LAYERS = (
    Layer("TodoListMiddleware", "the first part of ours in the system prompt: never changes"),
    Layer("MemoryFilesMiddleware", "memory files: change only between runs"),
    Layer("MemoryMiddleware", "the memory of the user: changes only between runs"),
    Layer("SkillsMiddleware", "skills: change between runs at most"),
    Layer("FilesystemMiddleware", "files and the shell"),
    Layer("SubAgentMiddleware", "whom to delegate to"),
    Layer("AsyncSubAgentMiddleware", "whom to delegate to in the background"),
    Layer("SubagentRetentionMiddleware", "deletes threads of subagents when the run is logged"),
    Layer(
        "RunContextMiddleware", "the date ends our part of the system prompt: changes once a day"
    ),
    Layer("PatchToolCallsMiddleware", "a call without a result gets one before anybody reads it"),
    Layer("LoopMiddleware", "sees what the model asks for before it is run"),
    Layer("AnswerMiddleware", "asks again where an answer is empty"),
    Layer(USERS, "sees the agent's messages as the state has them"),
    Layer("ToolProfileMiddleware", "hides and describes tools of all middleware"),
    Layer("HumanInTheLoopMiddleware", "asks about the calls that are really going to be run"),
    Layer("ContextMiddleware", "last: what it counts is what is sent"),
)
"""Outermost first. Parts of the system prompt come out in this order."""
_NAMES = [layer.name for layer in LAYERS]


def arrange(built_in: Iterable[Middleware], users: Sequence[Middleware]) -> list[Middleware]:
    """Return middleware in order; a user's with the name of a built-in one replaces it.

    Returns:
        Outermost first, as `create_agent` takes them.
    """
    named = {one.name: one for one in built_in}
    named |= replacing(users)
    others = [one for one in users if one.name not in _NAMES]
    return [
        one
        for name in _NAMES
        for one in (others if name == USERS else [named[name]] if name in named else [])
    ]


def replacing(users: Iterable[Middleware]) -> dict[str, Middleware]:
    """Return, by name, the user's middleware that replaces built-in ones."""
    return {one.name: one for one in users if one.name in _NAMES}
