"""The todo list: one a turn, in the state, and there after any number of compactions."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import TodoListMiddleware as LangChainTodoList
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.e2e.scripted import RuledModel, calls, says
from core_tests.e2e.worlds import Run, both_worlds, in_sync
from thalweg.context.middleware import ContextMiddleware
from thalweg_agent.middleware.answer_retry import AnswerMiddleware
from thalweg_agent.middleware.todos import TodoListMiddleware


def item(content: str, status: str = "pending") -> dict[str, str]:
    """Make an item."""
    return {"content": content, "status": status}


def plan(call_id: str, *items: dict[str, str]) -> AIMessage:
    """Write a list."""
    return calls("write_todos", call_id, todos=list(items))


def planning(model: RuledModel, *more: Any) -> Any:  # noqa: ANN401 (an agent)
    """Make an agent that plans."""
    return create_agent(
        model, middleware=[TodoListMiddleware(), *more], checkpointer=InMemorySaver()
    )


def say(text: str) -> dict[str, Any]:
    """Make a request."""
    return {"messages": [HumanMessage(text)]}


@both_worlds
def test_a_list_is_in_the_state_and_its_result_counts_it(run: Run) -> None:
    """The items themselves are in the call already."""
    two = [item("look", "in_progress"), item("mend")]
    model = RuledModel(rule=says(plan("c1", *two), plan("c2"), "Done."))
    agent = planning(model)
    result = run(agent, say("Mend it."))

    told = [m.text for m in result["messages"] if isinstance(m, ToolMessage)]
    assert told == [
        "Updated todo list: 1 in progress, 1 pending.",
        "Updated todo list: it is empty.",
    ]
    assert result["todos"] == []
    assert "`write_todos`" in model.requests[0][0].text


@both_worlds
def test_of_several_lists_in_one_turn_none_is_written(run: Run) -> None:
    """Each would replace the whole; the model is notified, the run continues, others are done."""
    turn = AIMessage(
        "",
        tool_calls=[
            *plan("c1", item("one")).tool_calls,
            *plan("c2", item("two")).tool_calls,
        ],
    )
    model = RuledModel(rule=says(turn, plan("c3", item("three")), "Done."))
    result = run(planning(model), say("Plan."))

    statuses = [m.status for m in result["messages"] if isinstance(m, ToolMessage)]
    assert statuses == ["error", "error", "success"]
    assert "never be called multiple times in parallel" in result["messages"][2].text
    assert result["todos"] == [item("three")]
    assert model.problems == []


@both_worlds
def test_a_list_that_is_none_is_refused_with_what_is_wrong(run: Run) -> None:
    """The previous list is kept."""
    model = RuledModel(
        rule=says(
            plan("c1", item("one")), plan("c2", item("two", "doing")), plan("c3", {}), "Done."
        )
    )
    result = run(planning(model, AnswerMiddleware()), say("Plan."))

    told = [m.text for m in result["messages"] if isinstance(m, ToolMessage)]
    assert "todos.0.status: Input should be 'pending', 'in_progress' or 'completed'" in told[1]
    assert "todos.0.content: Field required" in told[2]
    assert result["todos"] == [item("one")]


def test_the_plan_is_there_after_every_compaction() -> None:
    """In a window of a few turns: the newest list, item by item, is in every request."""

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        newest = next(m for m in reversed(messages) if m.text.startswith("Go on"))
        number = int(newest.text.split()[2])
        if number % 7 or messages[-1].type == "tool":
            return AIMessage("ok " + "and so on " * 100)
        done = [item(f"step {n} of {number}", "completed") for n in range(3)]
        return plan(f"c{number}", *done, item(f"the rest of {number}", "in_progress"))

    model = RuledModel(rule=rule)
    context = ContextMiddleware(
        {
            "window": 8_000,
            "max_output": 500,
            "trigger": ["tokens", 3_500],
            "keep": ["tokens", 400],
            "summarize": False,
        },
        archive=":memory:",
    )
    agent = planning(model, context)
    folded = 0
    for number in range(24):
        result = in_sync(agent, say(f"Go on {number} " + "with more of the same " * 60))
        sent = "\n".join(
            f"{m.text} {m.tool_calls if isinstance(m, AIMessage) else ''}"
            for m in model.requests[-1]
        )
        newest = number // 7 * 7
        record = next((m.text for m in model.requests[-1] if "<thread-record" in m.text), "")
        folded += f"in_progress: the rest of {newest}" in record
        assert f"the rest of {newest}" in sent
        assert result["todos"][-1] == item(f"the rest of {newest}", "in_progress")

    assert folded >= 5
    assert model.problems == []


def test_ours_is_langchains_without_a_step_of_its_own() -> None:
    """A search for LangChain's finds it; the graph has no node between model and tools."""
    ours, theirs = TodoListMiddleware(), LangChainTodoList()

    assert isinstance(ours, LangChainTodoList)
    assert ours.name == theirs.name
    assert ours.state_schema is theirs.state_schema
    assert set(planning(RuledModel(rule=says("ok"))).nodes) == {"__start__", "model", "tools"}
    assert len(ours.system_prompt + ours.tool_description) < 0.4 * len(
        theirs.system_prompt + theirs.tool_description
    )


def test_words_of_ones_own_take_the_place_of_ours() -> None:
    """For the prompt and for the tool."""
    own = TodoListMiddleware(system_prompt="Plan well.", tool_description="Write it down.")

    assert own.system_prompt == "Plan well."
    assert own.tools[0].description == "Write it down."
