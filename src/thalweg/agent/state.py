"""What the state of a deep agent holds at the least."""

from typing import Any

from langchain.agents import AgentState


class DeepAgentState(AgentState[Any]):
    """Extend it for more: `create_deep_agent(..., state_schema=MyState)`."""
