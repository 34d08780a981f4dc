"""`create_deep_agent`: an agent that plans, with files, a shell, subagents, skills and memory."""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_agent.graph.create import create_deep_agent
    from thalweg_agent.graph.small import create_small_agent, wants_small
    from thalweg_agent.graph.state import DeepAgentState, ThreadState
    from thalweg_agent.middleware.subagents.middleware import GENERAL_PURPOSE_SUBAGENT

__all__ = [
    "GENERAL_PURPOSE_SUBAGENT",
    "DeepAgentState",
    "ThreadState",
    "create_deep_agent",
    "create_small_agent",
    "wants_small",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "GENERAL_PURPOSE_SUBAGENT": "thalweg_agent.middleware.subagents.middleware",
        "DeepAgentState": "thalweg_agent.graph.state",
        "ThreadState": "thalweg_agent.graph.state",
        "create_deep_agent": "thalweg_agent.graph.create",
        "create_small_agent": "thalweg_agent.graph.small",
        "wants_small": "thalweg_agent.graph.small",
    },
)
