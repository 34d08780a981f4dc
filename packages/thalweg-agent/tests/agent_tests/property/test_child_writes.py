"""A parent's state after any tree of tasks equals that after the same writes of its own."""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langchain.agents import AgentState, create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Overwrite, interrupt

from thalweg.testing import ScriptedModel
from thalweg_agent.middleware.subagents.middleware import SubAgentMiddleware
from thalweg_agent.subagents.parent_step import LaterValue

DEPTH = 3
AT: Any = {"configurable": {"thread_id": "t"}}


def merge(left: dict[str, int], right: dict[str, int | None]) -> dict[str, int]:
    """Merge two dictionaries; `None` deletes a key."""
    return {key: value for key, value in {**left, **right}.items() if value is not None}


def larger(left: int, right: int) -> int:
    """Return the larger number."""
    return max(left, right)


def chain(left: int, right: int) -> int:
    """Return a number that depends on all writes and their order, as a checksum does."""
    return (3 * left + right) % 10_007


REDUCERS: dict[str, Any] = {
    "items": operator.add,
    "text": operator.add,
    "total": operator.add,
    "most": larger,
    "kinds": operator.or_,
    "table": merge,
    "chain": chain,
}


class State(AgentState[Any]):
    """One key for each kind of reducer, and one without."""

    items: NotRequired[Annotated[list[int], operator.add]]
    text: NotRequired[Annotated[str, operator.add]]
    total: NotRequired[Annotated[int, operator.add]]
    most: NotRequired[Annotated[int, larger]]
    kinds: NotRequired[Annotated[set[int], operator.or_]]
    table: NotRequired[Annotated[dict[str, Any], merge]]
    chain: NotRequired[Annotated[int, chain]]
    last: NotRequired[Annotated[int, LaterValue]]


BEGIN: dict[str, Any] = {
    "items": [0],
    "text": "begin",
    "total": 1,
    "most": 2,
    "kinds": {1},
    "table": {"a": 1, "b": 2},
    "chain": 1,
    "last": 0,
}


@dataclass(frozen=True)
class Update:
    """A call of a tool that writes one key."""

    key: str
    value: Any
    waits: bool = False
    """Whether a person is asked first."""
    replaces: bool = False


@dataclass(frozen=True)
class Task:
    """A call of `task`."""

    program: "Program"


@dataclass(frozen=True)
class Program:
    """The steps of an agent: each a list of parallel calls."""

    steps: Sequence[Sequence[Update | Task]] = field(default=())

    def at(self, path: str) -> "Program":
        """Return the program of a task by its path."""
        program = self
        for place in path.split("/")[1:]:
            step, call = map(int, place.split("."))
            found = program.steps[step][call]
            assert isinstance(found, Task)
            program = found.program
        return program


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "items": st.lists(st.integers(0, 9), min_size=1, max_size=2),
    "text": st.text("xyz", min_size=1, max_size=2),
    "total": st.integers(-5, 5),
    "most": st.integers(0, 9),
    "kinds": st.sets(st.integers(0, 5), min_size=1, max_size=2),
    "table": st.dictionaries(st.sampled_from("abc"), st.none() | st.integers(0, 5), min_size=1),
    "chain": st.integers(0, 9),
    "last": st.integers(0, 99),
}
updates = st.sampled_from(["chain", "chain", *VALUES]).flatmap(
    lambda key: st.builds(Update, st.just(key), VALUES[key], st.booleans())
)
replacements = st.builds(
    Update, st.just("items"), VALUES["items"], st.booleans(), st.just(value=True)
)


def programs(depth: int) -> st.SearchStrategy[Program]:
    """Generate programs of agents, whose tasks are nested to a depth."""
    calls: st.SearchStrategy[Any] = updates
    if depth:
        calls = st.builds(Task, programs(depth - 1)) | updates
    step = st.lists(calls, min_size=2, max_size=3)
    alone = calls.map(lambda call: [call]) | replacements.map(lambda call: [call])
    return st.builds(Program, st.lists(step | alone, min_size=1, max_size=3))


def writes(program: Program) -> Iterator[Update]:
    """Return all writes of a program in the order of its calls."""
    for step in program.steps:
        for call in step:
            if isinstance(call, Update):
                yield call
            else:
                yield from writes(call.program)


def has_parallel_replacement(program: Program) -> bool:
    """Return whether a task that replaces a value runs next to another call."""
    return any(
        isinstance(call, Task)
        and (
            has_parallel_replacement(call.program)
            or (len(step) > 1 and any(each.replaces for each in writes(call.program)))
        )
        for step in program.steps
        for call in step
    )


def expected(program: Program) -> dict[str, Any]:
    """Return the state after all writes, made one after the other."""
    state = dict(BEGIN)
    for each in writes(program):
        if each.replaces or each.key not in REDUCERS:
            state[each.key] = each.value
        else:
            state[each.key] = REDUCERS[each.key](state[each.key], each.value)
    return state


@tool
def write(path: str, runtime: ToolRuntime[Any, Any]) -> Command[Any]:
    """Write a key."""
    call: Update = runtime.context[path]
    if call.waits:
        interrupt(path)
    value = Overwrite(call.value) if call.replaces else call.value
    done = ToolMessage("written", tool_call_id=runtime.tool_call_id)
    return Command(update={call.key: value, "messages": [done]})


def agent(
    program: Program, checkpointer: InMemorySaver | None = None, depth: int = DEPTH
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Make an agent that follows a program, with subagents that follow its parts."""

    def answer(messages: Sequence[BaseMessage]) -> AIMessage | str:
        path = next(m.text for m in messages if m.type == "human")
        steps = program.at(path).steps
        number = sum(m.type == "ai" for m in messages)
        if number == len(steps):
            return "done"
        calls: list[Any] = []
        for place, call in enumerate(steps[number]):
            uid = f"{path}/{number}.{place}"
            is_task = isinstance(call, Task)
            args = {"description": uid, "subagent_type": "worker"} if is_task else {"path": uid}
            calls.append({"name": "task" if is_task else "write", "args": args, "id": uid})
        return AIMessage("", tool_calls=calls)

    middleware = []
    if depth:
        worker: Any = {"name": "worker", "description": "works"}
        worker["runnable"] = agent(program, depth=depth - 1)
        middleware = [SubAgentMiddleware(backend=None, subagents=[worker])]
    return create_agent(
        ScriptedModel(script=answer),
        tools=[write],
        middleware=middleware,
        state_schema=State,
        checkpointer=checkpointer,
    )


def calls_of(program: Program, path: str = "root") -> dict[str, Update]:
    """Return the calls that write, by their path."""
    found: dict[str, Update] = {}
    for number, step in enumerate(program.steps):
        for place, call in enumerate(step):
            uid = f"{path}/{number}.{place}"
            if isinstance(call, Task):
                found |= calls_of(call.program, uid)
            else:
                found[uid] = call
    return found


INTERRUPTED = Program(
    [
        [
            Task(Program([[Update("chain", 1)], [Update("chain", 2, waits=True)]])),
            Task(Program([[Update("chain", 3)]])),
        ]
    ]
)
"""A child that waits between two writes, next to another that writes the same key."""


@example(INTERRUPTED)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs(DEPTH).filter(lambda program: not has_parallel_replacement(program)))
def test_a_tree_of_tasks_leaves_the_state_that_its_writes_alone_leave(program: Program) -> None:
    saver, context = InMemorySaver(), calls_of(program)
    given_: Any = {"messages": [("user", "root")], **BEGIN}
    result = agent(program, saver).invoke(given_, AT, context=context)
    while waiting := result.get("__interrupt__"):
        # Another process resumes it: nothing of the first one is left.
        resume: Any = Command(resume={each.id: "go" for each in waiting})
        result = agent(program, saver).invoke(resume, AT, context=context)

    assert {key: result[key] for key in BEGIN} == expected(program)
