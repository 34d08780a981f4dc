"""An agent may ask for compaction more than once in one turn."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage

from thalweg.context.middleware import ContextMiddleware
from thalweg.testing import ScriptedModel


def test_two_calls_for_compaction_in_one_turn_are_one_wish() -> None:
    """Both are answered, and the run continues."""
    call: Any = {"name": "compact_conversation", "args": {}}

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        if messages[-1].type == "tool":
            return AIMessage("Done.")
        return AIMessage("", tool_calls=[{**call, "id": "c1"}, {**call, "id": "c2"}])

    agent: Any = create_agent(
        ScriptedModel(script=script), middleware=[ContextMiddleware(archive=":memory:")]
    )
    done = agent.invoke({"messages": [("user", "Tidy up.")]})

    assert [message.type for message in done["messages"]] == ["human", "ai", "tool", "tool", "ai"]
