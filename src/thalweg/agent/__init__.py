"""`create_deep_agent`: planning, files, a shell, subagents, skills, memory files: one agent."""

from thalweg.agent.create import create_deep_agent

__all__ = ["create_deep_agent"]
