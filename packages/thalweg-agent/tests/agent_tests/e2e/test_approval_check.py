"""A call that a person rejected, or was not asked about, is not executed by any way."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, after_model
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from core_tests.e2e.scripted import Agent, RuledModel, calls
from thalweg_agent import create_deep_agent
from thalweg_agent.middleware.approval import CheckedApprovalMiddleware
from thalweg_agent.middleware.subagents.middleware import SubAgentMiddleware

AT: Any = {"configurable": {"thread_id": "t"}}
GO: Any = {"messages": [("user", "go")]}
APPROVE: Any = {"type": "approve"}
REJECT: Any = {"type": "reject", "message": "no"}
Make = Callable[[RuledModel, list[BaseTool], Any], Agent]


@after_model(can_jump_to=["tools"])
def jump(state: AgentState[Any], runtime: object) -> dict[str, Any] | None:
    """Jump to the tools if the newest answer calls any."""
    del runtime
    answers = [m for m in state["messages"] if isinstance(m, AIMessage)]
    return {"jump_to": "tools"} if answers[-1].tool_calls else None


class Wiping:
    """A tool that needs approval, and what it did."""

    def __init__(self) -> None:
        self.wiped: list[str] = []

    def tools(self) -> list[BaseTool]:
        """Return the tool, and another that needs no approval."""

        @tool
        def wipe(what: str) -> str:
            """Wipe something."""
            self.wiped.append(what)
            return f"wiped {what}"

        @tool
        def look(what: str) -> str:
            """Look at something."""
            return f"saw {what}"

        return [wipe, look]


def once(*made: AIMessage) -> RuledModel:
    """Make a model that makes some calls in one answer, and then ends."""

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        if messages[-1].type == "tool":
            return AIMessage("end")
        return AIMessage("", tool_calls=[call for one in made for call in one.tool_calls])

    return RuledModel(rule=rule)


def deep(model: RuledModel, tools: list[BaseTool], middleware: Any) -> Agent:  # noqa: ANN401
    """Make a deep agent with `interrupt_on`."""
    return create_deep_agent(
        model,
        tools,
        middleware=middleware,
        interrupt_on={"wipe": True},
        checkpointer=InMemorySaver(),
        archive=":memory:",
    )


class Own(HumanInTheLoopMiddleware[Any, Any, Any]):
    """A user's own middleware, under LangChain's name."""

    @property
    def name(self) -> str:
        """Return LangChain's name."""
        return "HumanInTheLoopMiddleware"


def users_own(model: RuledModel, tools: list[BaseTool], middleware: Any) -> Agent:  # noqa: ANN401
    """Make a deep agent with a user's middleware for approval."""
    return create_deep_agent(
        model,
        tools,
        middleware=[*middleware, Own({"wipe": True})],
        checkpointer=InMemorySaver(),
        archive=":memory:",
    )


def alone(model: RuledModel, tools: list[BaseTool], middleware: Any) -> Agent:  # noqa: ANN401
    """Make an agent with `create_agent`."""
    return create_agent(
        model,
        tools,
        middleware=[*middleware, CheckedApprovalMiddleware({"wipe": True})],
        checkpointer=InMemorySaver(),
    )


MAKES = [deep, users_own, alone]


def run(agent: Agent, given: Any, *, is_async: bool = False) -> dict[str, Any]:  # noqa: ANN401
    """Run an agent, in one of the two ways."""
    return asyncio.run(agent.ainvoke(given, AT)) if is_async else agent.invoke(given, AT)


def decide(*decisions: Any) -> Command[Any]:  # noqa: ANN401
    """Answer an interrupt."""
    return Command(resume={"decisions": [*decisions]})


def results(state: dict[str, Any]) -> list[str]:
    """Return the results of calls."""
    return [m.text for m in state["messages"] if isinstance(m, ToolMessage)]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("make", MAKES)
def test_a_rejected_call_keeps_its_result_where_a_hook_jumps_to_the_tools(
    make: Make, *, is_async: bool
) -> None:
    work = Wiping()
    agent = make(once(calls("wipe", "c1", what="disk")), work.tools(), [jump])
    run(agent, GO, is_async=is_async)

    result = run(agent, decide(REJECT), is_async=is_async)

    assert work.wiped == []
    assert results(result) == ["User rejected the tool call for `wipe` with reason: no"]
    assert result["messages"][-1].text == "end"


@pytest.mark.parametrize("make", MAKES)
def test_an_answer_in_place_of_a_call_is_its_only_result(make: Make) -> None:
    work = Wiping()
    agent = make(once(calls("wipe", "c1", what="disk")), work.tools(), [jump])
    run(agent, GO)

    result = run(agent, decide({"type": "respond", "message": "I did it"}))

    assert (work.wiped, results(result)) == ([], ["I did it"])


def test_of_several_calls_exactly_the_approved_ones_are_executed_once() -> None:
    work = Wiping()
    names = ["a", "b", "c"]
    made = [calls("wipe", f"c{n}", what=what) for n, what in enumerate(names)]
    agent = deep(once(*made, calls("look", "c9", what="x")), work.tools(), [jump])
    run(agent, GO)
    edit: Any = {"type": "edit", "edited_action": {"name": "wipe", "args": {"what": "B"}}}

    result = run(agent, decide(APPROVE, edit, REJECT))

    assert sorted(work.wiped) == ["B", "a"]
    assert len(results(result)) == 4
    assert sum("rejected" in text for text in results(result)) == 1
    assert "saw x" in results(result)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_call_that_nobody_was_asked_about_is_refused(*, is_async: bool) -> None:
    """The hook of the inner middleware runs first, and skips the question."""
    work = Wiping()
    agent = create_agent(
        once(calls("wipe", "c1", what="disk"), calls("look", "c2", what="x")),
        work.tools(),
        middleware=[CheckedApprovalMiddleware({"wipe": True}), jump],
    )

    result = run(agent, GO, is_async=is_async)

    assert work.wiped == []
    assert "a person must approve this call" in results(result)[0]
    assert results(result)[1] == "saw x"


def test_approval_of_one_answer_is_none_for_a_call_with_the_same_id_in_another() -> None:
    """Some providers restart the numbering of calls in each answer."""
    work = Wiping()
    skips = False

    @after_model(can_jump_to=["tools"])
    def jump_later(state: AgentState[Any], runtime: object) -> dict[str, Any] | None:
        return jump.after_model(state, runtime) if skips else None  # type: ignore[arg-type]

    agent = create_agent(
        once(calls("wipe", "call_0", what="disk")),
        work.tools(),
        middleware=[CheckedApprovalMiddleware({"wipe": True}), jump_later],
        checkpointer=InMemorySaver(),
    )
    run(agent, GO)
    run(agent, decide(APPROVE))
    assert work.wiped == ["disk"]

    skips = True
    run(agent, GO)

    assert work.wiped == ["disk"]


def test_a_call_that_needs_no_approval_by_its_arguments_is_executed() -> None:
    work = Wiping()
    approval: Any = {
        "allowed_decisions": ["approve"],
        "when": lambda request: request.tool_call["args"]["what"] == "disk",
    }
    agent = create_agent(
        once(calls("wipe", "c1", what="cache")),
        work.tools(),
        middleware=[CheckedApprovalMiddleware({"wipe": approval})],
    )

    assert results(run(agent, GO)) == ["wiped cache"]


def test_a_rejected_call_of_a_subagent_is_not_executed() -> None:
    work = Wiping()
    spec: Any = {
        "name": "general-purpose",
        "description": "works",
        "model": once(calls("wipe", "c1", what="disk")),
        "tools": work.tools(),
        "middleware": [jump],
        "interrupt_on": {"wipe": True},
    }
    agent = create_agent(
        once(calls("task", "t1", description="wipe it")),
        middleware=[SubAgentMiddleware(backend=None, subagents=[spec])],
        checkpointer=InMemorySaver(),
    )
    run(agent, GO)

    result = run(agent, decide(REJECT))

    assert (work.wiped, results(result)) == ([], ["end"])
