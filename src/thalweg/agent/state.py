"""What the state of a deep agent holds at the least."""

from typing import Annotated, Any, NotRequired

from langchain.agents import AgentState

from thalweg.subagents.joining import merge_artifacts


class DeepAgentState(AgentState[Any]):
    """Extend it for more: `create_deep_agent(..., state_schema=MyState)`."""

    artifacts: NotRequired[Annotated[list[str], merge_artifacts]]
    """Paths of what was made for the user; those of a subagent join its parent's."""
