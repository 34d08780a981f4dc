"""Every call of a model is recorded, from any caller and with any end."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool

from core_tests.e2e.scripted import Agent, RuledModel, calls
from thalweg_agent.graph import create_deep_agent
from thalweg_evals.trace import Recorder, Trace

AT: Any = {"configurable": {"thread_id": "t"}}


@tool
def look(n: int) -> str:
    """Look something up."""
    return f"found {n}"


class Model(RuledModel):
    """Sends its tools along, as a provider's client does."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (LangChain's)
        """Take tools."""
        return self.bind(tools=[convert_to_openai_tool(one) for one in tools], **kwargs)


def _recorded() -> tuple[Trace, Recorder]:
    trace = Trace()
    recorder = Recorder(trace, has_tools=True)
    return trace, recorder


def _ask(agent: Agent, recorder: Recorder, *words: str) -> None:
    asked: Any = {"messages": [HumanMessage(one) for one in words]}
    config: Any = {**AT, "callbacks": [recorder]}
    agent.invoke(asked, config)


def _delegating(messages: Sequence[BaseMessage]) -> AIMessage:
    """Hand a task to a subagent, which uses a tool; then answer."""
    said = [one.text for one in messages if one.type == "human"]
    if "Look up 7." in said[-1]:
        return AIMessage("7 it is.") if messages[-1].type == "tool" else calls("look", "c2", n=7)
    if messages[-1].type == "tool":
        return AIMessage("Done.")
    asked = {"description": "Look up 7.", "subagent_type": "general-purpose"}
    return calls("task", "c1", **asked)


@pytest.mark.parametrize("is_async", [False, True])
def test_the_agent_and_its_subagent_are_told_apart(tmp_path: Path, *, is_async: bool) -> None:
    trace, recorder = _recorded()
    model = Model(rule=_delegating)
    agent = create_deep_agent(model, [look], archive=tmp_path / "a.db")

    if is_async:
        asked: Any = {"messages": [HumanMessage("Go.")]}
        config: Any = {**AT, "callbacks": [recorder]}
        asyncio.run(agent.ainvoke(asked, config))
    else:
        _ask(agent, recorder, "Go.")

    assert [one.kind for one in trace.requests] == ["agent", "subagent", "subagent", "agent"]
    assert [one.number for one in trace.requests] == [0, 1, 2, 3]
    assert [call.name for _, call in trace.calls()] == ["task"]
    assert "look" in trace.requests[1].tools


def test_a_summary_of_middleware_is_the_harness_s_own() -> None:
    trace, recorder = _recorded()
    model = Model(rule=lambda _: AIMessage("Yes."))
    summarizing = SummarizationMiddleware(model, trigger=("messages", 3), keep=("messages", 1))
    agent = create_agent(model, [look], middleware=[summarizing])

    _ask(agent, recorder, *map(str, range(5)))

    assert [one.kind for one in trace.requests] == ["harness", "agent"]


def test_what_no_conversation_changes_is_counted_apart() -> None:
    trace, recorder = _recorded()
    model = Model(rule=lambda _: AIMessage("Yes."))
    agent = create_agent(model, [look], system_prompt="Be brief.")

    for words in ("Hi.", "A longer question than the one before."):
        _ask(agent, recorder, words)

    first, second = trace.requests
    assert first.fixed == second.fixed > 0
    assert first.tokens - first.fixed == 2
    assert second.tokens > first.tokens


def test_a_model_that_fails_leaves_its_request() -> None:
    trace, recorder = _recorded()

    def fail(messages: Sequence[BaseMessage]) -> AIMessage:
        del messages
        raise ConnectionError

    agent = create_agent(Model(rule=fail), [look])

    with pytest.raises(ConnectionError):
        _ask(agent, recorder, "Hi.")

    assert len(trace.requests) == 1
    assert trace.requests[0].messages[-1].text == "Hi."
    assert trace.requests[0].answer is None


def test_calls_from_many_threads_are_each_recorded_with_their_own_answer() -> None:
    trace, recorder = _recorded()
    model = Model(rule=lambda messages: AIMessage(f"so {messages[-1].text}"), delay_s=0.002)
    many: RunnableLambda[str, AIMessage] = RunnableLambda(model.invoke)

    many.batch([str(n) for n in range(40)], {"callbacks": [recorder], "max_concurrency": 8})

    assert len(trace.requests) == 40
    assert [one.number for one in trace.requests] == list(range(40))
    for one in trace.requests:
        assert one.answer is not None
        assert one.answer.text == f"so {one.messages[-1].text}"
