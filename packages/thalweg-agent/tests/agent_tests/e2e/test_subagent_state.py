"""Changes of a shared state that subagents bring back to their parent."""

import asyncio
import operator
import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Overwrite, interrupt

from core_tests.e2e.scripted import Agent, RuledModel, calls, says
from thalweg_agent import create_deep_agent
from thalweg_agent.middleware.subagents.middleware import (
    CompiledSubAgent,
    SubAgent,
    SubAgentMiddleware,
)
from thalweg_agent.subagents.parent_step import LaterValue

AT: Any = {"configurable": {"thread_id": "t"}}
FOREVER_S = 60


class Notes(AgentState[Any]):
    """A state with a key that accumulates, and one that does not."""

    notes: NotRequired[Annotated[list[str], operator.add]]
    last: NotRequired[str]


class NotesState(AgentMiddleware[Any, Any, Any]):
    """Adds that state to an agent."""

    state_schema = Notes


class LaterNotes(AgentState[Any]):
    """The same, where the later of two values is kept."""

    notes: NotRequired[Annotated[list[str], operator.add]]
    last: NotRequired[Annotated[str, LaterValue]]


class Killed(BaseException):
    """Ends a process."""


class Team:
    """Tools of children, and when each of their calls ends."""

    def __init__(self) -> None:
        self.gates: dict[str, threading.Event] = {}
        self.opens: dict[str, threading.Event] = {}
        self.kills = False
        self.fails = False

    def tools(self) -> list[Any]:
        """Return tools that write a key."""

        @tool
        def note(text: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
            """Append to the notes."""
            if text == "breaks" and self.kills:
                raise Killed
            if text == "breaks" and self.fails:
                raise ValueError(text)
            return _update(runtime, notes=[text])

        @tool
        def set_last(text: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
            """Set the last word."""
            if text in self.gates:
                assert self.gates[text].wait(FOREVER_S)
            return _update(runtime, last=text)

        @tool
        def reset(text: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
            """Replace the notes."""
            return _update(runtime, notes=Overwrite([text]))

        @tool
        def ask(text: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
            """Ask a person, and append the answer."""
            return _update(runtime, notes=[f"{text} {interrupt(text)}"])

        return [note, set_last, reset, ask]


def _update(runtime: ToolRuntime[Any, Any], **update: Any) -> Command[Any]:  # noqa: ANN401
    done = ToolMessage("done", tool_call_id=str(runtime.tool_call_id))
    return Command(update={"messages": [done], **update})


def follow(messages: Sequence[BaseMessage]) -> AIMessage:
    """Make the calls that the task names, such as `note a, note b`, one after the other."""
    words = next(m.text for m in messages if m.type == "human").splitlines()[-1]
    done = sum(m.type == "tool" for m in messages)
    plan = [call.split() for call in words.split(", ")]
    if done == len(plan):
        return AIMessage(f"did {words}")
    name, text = plan[done]
    return calls(name, f"{words}{done}", text=text)


def tasks(*words: str) -> RuledModel:
    """Make a model that hands out tasks in one message."""

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        if messages[-1].type == "tool":
            return AIMessage("end")
        made = [calls("task", f"t{n}", description=w) for n, w in enumerate(words)]
        return AIMessage("", tool_calls=[call for one in made for call in one.tool_calls])

    return RuledModel(rule=rule)


def worker(team: Team, schema: type[AgentState[Any]] = Notes) -> CompiledSubAgent:
    """Make a compiled child."""
    graph = create_agent(RuledModel(rule=follow), team.tools(), state_schema=schema)
    return {"name": "general-purpose", "description": "works", "runnable": graph}


def parent(
    model: RuledModel,
    *subagents: SubAgent | CompiledSubAgent,
    schema: type[AgentState[Any]] = Notes,
    saver: InMemorySaver | None = None,
    tools: Sequence[Any] = (),
) -> Agent:
    """Make an agent with no middleware but that of subagents."""
    middleware = [SubAgentMiddleware(backend=None, subagents=subagents)]
    return create_agent(
        model, tools, middleware=middleware, state_schema=schema, checkpointer=saver
    )


def run(agent: Agent, **state: Any) -> dict[str, Any]:  # noqa: ANN401
    """Run an agent."""
    return agent.invoke({"messages": [("user", "go")], "notes": ["parent"], **state}, AT)


def reports(result: dict[str, Any]) -> list[str]:
    """Return the results of tasks, in the order of their calls."""
    found = [m for m in result["messages"] if isinstance(m, ToolMessage)]
    return [m.text for m in sorted(found, key=lambda m: m.tool_call_id)]


def test_twelve_tasks_add_twelve_items() -> None:
    made = [calls("task", f"t{n}", description=f"note {n}") for n in range(12)]
    model = RuledModel(rule=says(*made, "end"))

    result = run(parent(model, worker(Team())))

    assert result["notes"] == ["parent", *map(str, range(12))]


def deep(team: Team, model: RuledModel) -> Agent:
    """Make a deep agent with a declared child."""
    spec: SubAgent = {
        "name": "general-purpose",
        "description": "works",
        "model": RuledModel(rule=follow),
        "tools": team.tools(),
        "system_prompt": "Work.",
        "middleware": [NotesState()],
    }
    return create_deep_agent(model, subagents=[spec], middleware=[NotesState()], archive=":memory:")


def bare(team: Team, model: RuledModel) -> Agent:
    """Make an agent with `create_agent`, whose key keeps the later value."""
    return parent(model, worker(team), schema=LaterNotes)


@pytest.mark.parametrize("make", [deep, bare])
@pytest.mark.parametrize("first", ["one", "two"])
def test_the_later_call_wins_a_plain_key_whichever_ends_first(
    make: Callable[[Team, RuledModel], Agent], first: str
) -> None:
    team = Team()
    second = "two" if first == "one" else "one"
    team.gates[second] = threading.Event()
    agent = make(team, tasks("set_last one", "set_last two"))

    result: dict[str, Any] = {}
    modes: Any = {"stream_mode": ["values", "tasks"], "subgraphs": True}
    stream: Any = agent.stream({"messages": [("user", "go")]}, AT, **modes)
    for namespace, kind, item in stream:
        if kind == "tasks" and item.get("result", {}).get("last") == first:
            team.gates[second].set()
        if kind == "values" and not namespace:
            result = item

    assert result["last"] == "two"
    one, two = reports(result)
    key = "[The key `last` of the state was written in the same step by"
    assert one == f"did set_last one\n\n{key} t1, too; the value of call t1 is kept.]"
    assert two == f"did set_last two\n\n{key} t0, too; the value of this call is kept.]"


def test_the_later_call_wins_a_plain_key_in_an_async_run() -> None:
    agent = deep(Team(), tasks("set_last one", "set_last two"))

    result = asyncio.run(agent.ainvoke({"messages": [("user", "go")]}, AT))

    assert result["last"] == "two"
    assert all("is kept.]" in text for text in reports(result))


def test_without_a_later_value_the_first_task_to_end_keeps_a_plain_key() -> None:
    """LangGraph would end the run."""
    result = run(parent(tasks("set_last one", "set_last two"), worker(Team())))

    kept, lost = ("one", "two") if result["last"] == "one" else ("two", "one")
    both = {text.splitlines()[0]: text for text in reports(result)}
    assert "the value of this call is kept" in both[f"did set_last {kept}"]
    assert "the value of call t" in both[f"did set_last {lost}"]


def test_equal_values_of_two_tasks_are_no_conflict() -> None:
    result = run(parent(tasks("set_last same", "set_last same"), worker(Team())))

    assert result["last"] == "same"
    assert not any("is kept" in text for text in reports(result))


def test_two_tasks_that_replace_a_list_end_no_run() -> None:
    result = run(parent(tasks("reset one", "reset two, note more"), worker(Team())))

    assert result["notes"] in (["one"], ["two", "more"])
    assert all("The key `notes`" in text for text in reports(result))


def test_a_task_that_ended_before_an_interrupt_keeps_its_key_in_another_process() -> None:
    """The step resumes there, with a task that writes the same key."""
    saver = InMemorySaver()

    def made() -> Agent:
        return parent(tasks("set_last one", "ask sure?, set_last two"), worker(Team()), saver=saver)

    assert "__interrupt__" in run(made())
    result = made().invoke(Command(resume="yes"), AT)

    assert result["last"] == "one"
    assert result["notes"] == ["parent", "sure? yes"]
    assert "by t0, too; the value of call t0 is kept.]" in reports(result)[1]


def test_writes_before_and_after_an_interrupt_come_back_once() -> None:
    saver = InMemorySaver()

    def made() -> Agent:
        return parent(tasks("note a, ask b, note c, ask d"), worker(Team()), saver=saver)

    assert "__interrupt__" in run(made())
    assert "__interrupt__" in made().invoke(Command(resume="1"), AT)
    result = made().invoke(Command(resume="2"), AT)

    assert result["notes"] == ["parent", "a", "b 1", "c", "d 2"]


def test_a_run_that_was_killed_brings_back_each_write_once() -> None:
    saver, team = InMemorySaver(), Team()
    team.kills = True
    agent = parent(tasks("note a, note breaks, note c", "note d"), worker(team), saver=saver)
    with pytest.raises(Killed):
        run(agent)

    team.kills = False
    result = parent(
        tasks("note a, note breaks, note c", "note d"), worker(team), saver=saver
    ).invoke(None, AT)

    assert result["notes"] == ["parent", "a", "breaks", "c", "d"]


def test_a_child_that_fails_brings_back_the_steps_that_it_completed() -> None:
    team = Team()
    team.fails = True

    result = run(parent(tasks("note a, note breaks, note c"), worker(team)))

    assert result["notes"] == ["parent", "a"]
    assert result["tasks"]["t0"]["status"] == "failed"


def test_a_child_that_reaches_a_limit_brings_back_the_steps_that_it_completed() -> None:
    spec = worker(Team())
    spec["limits"] = {"turns": 2}

    result = run(parent(tasks("note a, note b, note c"), spec))

    assert result["notes"][:2] == ["parent", "a"]
    assert result["tasks"]["t0"]["status"] == "partial"


def test_a_rewind_runs_a_task_anew_and_repeats_no_write() -> None:
    saver = InMemorySaver()
    agent = parent(tasks("note a, ask b"), worker(Team()), saver=saver)
    run(agent)
    agent.invoke(Command(resume="1"), AT)
    before = [s for s in agent.get_state_history(AT) if s.next == ("model",)][-1]

    agent.invoke(None, before.config)
    result = agent.invoke(Command(resume="2"), AT)

    assert result["notes"] == ["parent", "a", "b 2"]


def returns(result: Callable[[dict[str, Any]], dict[str, Any]]) -> CompiledSubAgent:
    """Make a child that is no graph."""

    def answer(state: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [AIMessage("fine")], **result(state)}

    runnable = RunnableLambda(answer)
    return {"name": "general-purpose", "description": "works", "runnable": runnable}


@pytest.mark.parametrize(
    "result",
    [
        lambda state: {"notes": [*state["notes"], "new"], "last": "x"},
        lambda _: {"notes": ["new"], "last": "x"},
        lambda state: {**state, "messages": [AIMessage("fine")], "notes": [*state["notes"], "new"]},
    ],
    ids=["whole state", "update", "its input"],
)
def test_a_child_that_is_no_graph_brings_back_the_difference(
    result: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    got = run(parent(tasks("anything"), returns(result)), last="x")

    assert (got["notes"], got["last"]) == (["parent", "new"], "x")


def test_a_functional_graph_brings_back_the_difference() -> None:
    @entrypoint()
    def work(state: dict[str, Any]) -> dict[str, Any]:
        return {"messages": [AIMessage("fine")], "notes": [*state["notes"], "new"]}

    child: CompiledSubAgent = {"name": "general-purpose", "description": "works", "runnable": work}

    assert run(parent(tasks("anything"), child))["notes"] == ["parent", "new"]


class Wide(TypedDict, total=False):
    """The state of a graph with parallel nodes, and a key that its parent does not have."""

    messages: list[Any]
    notes: Annotated[list[str], operator.add]
    own: str


def test_parallel_nodes_write_in_the_order_of_their_graph() -> None:
    graph = StateGraph(Wide)
    late = threading.Event()

    def node(name: str) -> Any:  # noqa: ANN401
        def write(_: Wide) -> Any:  # noqa: ANN401
            if name == "a":
                assert late.wait(FOREVER_S)
            late.set()
            more: Command[Any] = Command(update={"notes": [name.upper()], "own": name})
            first: Command[Any] = Command(update={"notes": [name]})
            return [first] if name == "b" else [first, more]

        return write

    for name in "ba":
        graph.add_node(name, node(name))
        graph.add_edge(START, name)
    graph.add_node("end", lambda _: {"messages": [AIMessage("fine")]})
    graph.add_edge(["a", "b"], "end")
    child: Any = {"name": "general-purpose", "description": "works", "runnable": graph.compile()}

    result = run(parent(tasks("anything"), child))

    assert result["notes"] == ["parent", "a", "A", "b"]
    assert "own" not in result
