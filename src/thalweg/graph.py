"""The path of `deepagents.graph`: its public names are in `thalweg.agent.graph`."""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazily

if TYPE_CHECKING:
    from thalweg.agent.graph.create import create_deep_agent
    from thalweg.agent.graph.state import DeepAgentState
    from thalweg.middleware.subagents.middleware import GENERAL_PURPOSE_SUBAGENT

__all__ = ["GENERAL_PURPOSE_SUBAGENT", "DeepAgentState", "create_deep_agent"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "GENERAL_PURPOSE_SUBAGENT": "thalweg.middleware.subagents.middleware",
        "DeepAgentState": "thalweg.agent.graph.state",
        "create_deep_agent": "thalweg.agent.graph.create",
    },
)
