"""`create_deep_agent`: an agent that plans, with files, a shell, subagents, skills and memory."""

from typing import TYPE_CHECKING

from thalweg.lazy import lazily

if TYPE_CHECKING:
    from thalweg.graph.create import create_deep_agent
    from thalweg.graph.small import create_small_agent, wants_small
    from thalweg.graph.state import DeepAgentState, ThreadState
    from thalweg.middleware.subagents import GENERAL_PURPOSE_SUBAGENT

__all__ = [
    "GENERAL_PURPOSE_SUBAGENT",
    "DeepAgentState",
    "ThreadState",
    "create_deep_agent",
    "create_small_agent",
    "wants_small",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "GENERAL_PURPOSE_SUBAGENT": "thalweg.middleware.subagents",
        "DeepAgentState": "thalweg.graph.state",
        "ThreadState": "thalweg.graph.state",
        "create_deep_agent": "thalweg.graph.create",
        "create_small_agent": "thalweg.graph.small",
        "wants_small": "thalweg.graph.small",
    },
)
