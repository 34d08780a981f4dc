"""Inputs far above what a window holds: each is sent shortened, or refused by what is too large."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from server_tests.e2e.talkers import calls
from thalweg.context.middleware import ContextMiddleware
from thalweg.errors import WindowExceededError
from thalweg.testing import ScriptedModel

WINDOW = 32_000
MIB = 1 << 20


def talk(model: ScriptedModel, tools: list[BaseTool]) -> list[BaseMessage]:
    """Send one message; return the messages of the state afterwards."""
    model.profile = {"max_input_tokens": WINDOW}
    agent: Any = create_agent(
        model,
        tools,
        middleware=[ContextMiddleware(archive=":memory:")],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "t"}}
    messages: list[BaseMessage] = agent.invoke({"messages": [("user", "go")]}, config)["messages"]
    return messages


class Query(BaseModel):
    """What is searched for."""

    query: str


def named(name: str) -> BaseTool:
    """Make a tool; all share one schema, which LangChain would else build for each."""
    return StructuredTool(
        name=name,
        description=f"Search {name}.",
        args_schema=Query,
        func=lambda query: f"nothing for {query}",
    )


@pytest.mark.slow
def test_five_thousand_tools_are_an_error_that_names_them() -> None:
    """No request is sent, and none is sent without some of the tools."""
    model = ScriptedModel(script=lambda _: AIMessage("unreached"))
    with pytest.raises(WindowExceededError, match="tools") as refused:
        talk(model, [named(f"search_{number}") for number in range(5_000)])
    assert "use a larger window" in str(refused.value)


def test_two_hundred_tools_are_sent_with_every_request() -> None:
    offered: list[int] = []

    class Counting(ScriptedModel):
        """Notes how many tools it is offered."""

        def bind_tools(self, tools: Any, **others: Any) -> Any:  # noqa: ANN401 (LangChain's)
            offered.append(len(tools))
            return super().bind_tools(tools, **others)

    answered = talk(
        Counting(script=lambda _: AIMessage("done")), [named(f"search_{n}") for n in range(200)]
    )
    assert answered[-1].text == "done"
    assert offered
    assert min(offered) >= 200


def test_a_result_of_20_mib_is_a_reference_in_the_request_and_whole_in_the_state() -> None:
    """The model is shown its beginning, its size and how to read on."""
    result = "".join(f"line {number}\n" for number in range(20 * MIB // 12))[: 20 * MIB]
    seen: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        last = messages[-1]
        if not isinstance(last, ToolMessage):
            return calls("I fetch it.", ("c1", "fetch", {}))
        seen.append(last.text)
        return AIMessage("done")

    fetch = StructuredTool.from_function(
        lambda: result, name="fetch", description="Fetch everything."
    )
    messages = talk(ScriptedModel(script=script), [fetch])
    assert messages[-1].text == "done"
    assert len(seen[0]) < 4 * WINDOW
    assert "line 0\n" in seen[0]
    assert "recall" in seen[0]
    kept = next(message for message in messages if isinstance(message, ToolMessage))
    assert kept.text == result
