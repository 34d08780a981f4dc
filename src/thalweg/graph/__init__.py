"""`create_deep_agent`: planning, files, a shell, subagents, skills, memory files: one agent."""

from typing import TYPE_CHECKING

from thalweg.graph.create import create_deep_agent
from thalweg.lazy import lazily

if TYPE_CHECKING:
    from thalweg.graph.state import DeepAgentState

__all__ = ["DeepAgentState", "create_deep_agent"]

__getattr__, __dir__ = lazily(__name__, {"DeepAgentState": "thalweg.graph.state"})
