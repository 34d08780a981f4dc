"""The same calls, made to the tool of Deep Agents and to ours."""

import asyncio
import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt
from pydantic import BaseModel, ValidationError

from core_tests.e2e.scripted import RuledModel, calls, says
from thalweg_agent.middleware.subagents import middleware as ours

theirs = pytest.importorskip("deepagents.middleware.subagents")
SIDES = (theirs, ours)
pytestmark = pytest.mark.filterwarnings("ignore:The feature `forked subagents` is in beta")
GO: Any = {"messages": [("user", "go")]}


class Finding(BaseModel):
    """A structured answer."""

    what: str


@dataclasses.dataclass
class Told:
    """The same as a dataclass."""

    what: str


def middleware(side: Any, result: Any, **more: Any) -> Any:  # noqa: ANN401
    """Make the middleware of one side around a runnable that returns this."""
    spec = {
        "name": "worker",
        "description": "works",
        "runnable": RunnableLambda(result if callable(result) else lambda _: result),
    }
    return side.SubAgentMiddleware(backend=None, subagents=[spec | more])


def called(made: Any, state: dict[str, Any], **args: object) -> Any:  # noqa: ANN401
    """Call the tool as LangGraph does; return its text and its changes of the state."""
    runtime = ToolRuntime(
        state=state,
        context=None,
        config={},
        stream_writer=lambda _: None,
        tool_call_id="t1",
        store=None,
    )
    args = {"description": "do it", "subagent_type": "worker", **args}
    given = made.tools[0].func(**args, runtime=runtime)
    if isinstance(given, str):
        return given
    update = getattr(given, "update", None)
    if not isinstance(update, dict):
        return given.content
    rest = {k: v for k, v in update.items() if k not in {"messages", "tasks"}}
    return update["messages"][0].content, rest


words = st.text("ab \n", max_size=6)
said = st.lists(st.one_of(words.map(AIMessage), words.map(HumanMessage)), max_size=5)
values = st.one_of(st.none(), st.integers(0, 2), st.lists(st.integers(0, 2), max_size=2))
keys = st.sampled_from(["team", "log", "todos", "skills_metadata", "structured_response"])


@settings(max_examples=60)
@given(said, st.dictionaries(keys, values), st.dictionaries(keys, values))
def test_what_comes_back_of_a_child_is_the_same(
    messages: list[Any], before: dict[str, Any], after: dict[str, Any]
) -> None:
    """Answer and state; but where theirs is empty, ours is an account."""
    result = {**before, **after, "messages": messages}
    state = {**before, "messages": [HumanMessage("go")]}

    (text, update), (our_text, our_update) = [
        called(middleware(side, result), state) for side in SIDES
    ]

    assert our_update == update
    assert our_text == text or (not text and "completed without an answer" in our_text)


@pytest.mark.parametrize("structured", [Finding(what="x"), Told("x"), {"what": [1]}, [1], 0, ""])
def test_a_structured_response_is_written_the_same(structured: object) -> None:
    """Byte for byte."""
    result = {"messages": [AIMessage("words")], "structured_response": structured}

    assert len({called(middleware(side, result), {})[0] for side in SIDES}) == 1


@settings(max_examples=40)
@given(st.dictionaries(st.sampled_from(["team", "todos", "own", "structured_response"]), values))
@pytest.mark.parametrize("mode", ["isolated", "fork"])
def test_a_child_is_given_the_same_state(mode: str, state: dict[str, Any]) -> None:
    """Its task (ours has its own words around that of a fork), and the keys that are shared."""
    seen: list[dict[str, Any]] = []

    def run(given: dict[str, Any]) -> dict[str, Any]:
        seen.append(given)
        return {"messages": [AIMessage("fine")]}

    asks = AIMessage("", tool_calls=[{"name": "task", "id": "t1", "args": {}}])
    full = {**state, "messages": [HumanMessage("go"), AIMessage("ok"), HumanMessage("on"), asks]}
    for side in SIDES:
        called(middleware(side, run, mode=mode), full)

    peer, mine = seen
    assert {k: v for k, v in mine.items() if k != "messages"} == {
        k: v for k, v in peer.items() if k != "messages"
    }
    assert mine["messages"][:-1] == peer["messages"][:-1]
    for inputs in seen:
        assert inputs["messages"][-1].text.endswith("do it")


def test_an_unknown_subagent_is_told_in_the_same_words() -> None:
    """Users test for them."""
    result: Any = {"messages": []}
    told = [called(middleware(side, result), {}, subagent_type="nobody") for side in SIDES]

    assert told[0] == told[1]


@pytest.mark.parametrize(
    "specs",
    [
        [],
        [{"name": "a", "description": "a"}],
        [{"name": "a", "description": "a", "model": "openai:x"}],
        [{"name": "a", "description": "a", "runnable": RunnableLambda(str), "mode": "x"}],
        [{"name": "a", "description": "a", "runnable": RunnableLambda(str)}] * 2,
        [{"name": "a", "description": "a", "mode": "fork", "skills": ["/s"]}],
    ],
)
def test_what_they_refuse_at_construction_we_refuse_in_their_words(specs: Any) -> None:  # noqa: ANN401
    """A `ValueError` on both sides; ours adds what to do."""
    with pytest.raises(ValueError, match=r"subagent|SubAgent") as peer:
        theirs.SubAgentMiddleware(backend=None, subagents=specs)
    with pytest.raises(ValueError, match=r"subagent|SubAgent") as mine:
        ours.SubAgentMiddleware(backend=None, subagents=specs)

    their_words = str(peer.value).partition(";")[0].rstrip(".")
    assert their_words in str(mine.value)


def test_public_names_and_arguments_of_theirs_are_there() -> None:
    """Code that changes the import keeps working."""
    for name in ("SubAgent", "CompiledSubAgent"):
        assert set(getattr(theirs, name).__annotations__) <= set(
            getattr(ours, name).__annotations__
        )
    assert set(theirs.TaskToolSchema.model_fields) <= set(ours.TaskToolSchema.model_fields)
    for name in (
        "TASK_TOOL_DESCRIPTION",
        "DEFAULT_SUBAGENT_PROMPT",
        "DEFAULT_GENERAL_PURPOSE_DESCRIPTION",
    ):
        assert isinstance(getattr(ours, name), str)
    assert "{available_agents}" in ours.TASK_TOOL_DESCRIPTION
    assert set(ours.GENERAL_PURPOSE_SUBAGENT) == set(theirs.GENERAL_PURPOSE_SUBAGENT)
    assert ours.GENERAL_PURPOSE_SUBAGENT["name"] == theirs.GENERAL_PURPOSE_SUBAGENT["name"]
    same = ours.SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY, theirs.SUBAGENT_RESPONSE_FORMAT_CONFIG_KEY
    assert same[0] == same[1]


@pytest.mark.parametrize("side", SIDES)
def test_an_invented_argument_is_refused_on_both_sides(side: Any) -> None:  # noqa: ANN401
    """With its name."""
    with pytest.raises(ValidationError, match="wish"):
        side.TaskToolSchema.model_validate(
            {"description": "d", "subagent_type": "w", "wish": "x", "runtime": object()}
        )


def test_an_interrupt_passes_through_both() -> None:
    """It is LangGraph's."""

    def asks(_: object) -> None:
        raise GraphInterrupt((Interrupt(value="?"),))

    for side in SIDES:
        with pytest.raises(GraphInterrupt):
            called(middleware(side, asks), {})


@pytest.mark.parametrize("is_async", [True, False])
def test_a_whole_run_says_the_same_on_both_sides(is_async: bool) -> None:  # noqa: FBT001
    """Two children at once, made from specs."""

    def run(side: Any) -> list[tuple[str, Any]]:  # noqa: ANN401
        spec = {
            "name": "worker",
            "description": "works",
            "model": RuledModel(rule=says("fine")),
            "tools": [],
        }
        two = [
            calls("task", f"t{n}", description=f"d{n}", subagent_type="worker").tool_calls[0]
            for n in range(2)
        ]
        tasks = side.SubAgentMiddleware(backend=None, subagents=[spec])
        model = RuledModel(rule=says(AIMessage("", tool_calls=two), "done"))
        agent: Any = create_agent(model, middleware=[tasks], checkpointer=InMemorySaver())
        at = {"configurable": {"thread_id": "t"}}
        result = asyncio.run(agent.ainvoke(GO, at)) if is_async else agent.invoke(GO, at)
        return [(m.type, m.content) for m in result["messages"]]

    assert run(ours) == run(theirs)
