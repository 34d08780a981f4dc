"""Anything that stops a subagent results in a report to its parent."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agent_tests.e2e.test_subagents import (
    AT,
    GO,
    agent_of,
    asked,
    batch,
    hands_out,
    look,
    report,
    task,
    told,
    worker,
)
from core_tests.e2e.scripted import Agent, RuledModel, calls, says
from thalweg_agent.middleware.subagents.middleware import (
    CompiledSubAgent,
    SubAgent,
    SubagentLimits,
    SubAgentMiddleware,
)

Ask = Callable[[Agent], dict[str, Any]]


def aasked(agent: Agent) -> dict[str, Any]:
    """Ask an agent on an event loop of its own."""
    return asyncio.run(agent.ainvoke(GO, AT))


def endless(messages: Sequence[BaseMessage]) -> AIMessage:
    """Look things up and never come to an end."""
    done = sum(1 for m in messages if m.type == "tool")
    answer = calls("look", f"c{done}", n=done)
    answer.content = f"looking at {done}"
    answer.usage_metadata = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}
    return answer


both = pytest.mark.parametrize("ask", [asked, aasked])


@both
@pytest.mark.parametrize(
    ("limits", "turns", "limit"),
    [({"turns": 3}, 3, "3 turns"), ({"tokens": 350}, 4, "350 tokens"), ({"turns": 1}, 1, "1 turn")],
)
def test_a_limit_ends_a_child_in_a_partial_report(
    ask: Ask, limits: dict[str, float], turns: int, limit: str
) -> None:
    """The report has its messages and actions so far, and states that this is not the end."""
    result = ask(agent_of(hands_out(task()), worker(endless, limits=limits)))

    got = report(result)
    assert got.status == "success"
    assert f"`worker` was stopped at its limit of {limit}" in got.text
    assert f"looking at {turns - 1}" in got.text
    assert f"look(n={turns - 1}) → ok: found {turns - 1}" in got.text
    assert (got.artifact["status"], got.artifact["turns"]) == ("partial", turns)
    assert got.artifact["tokens"] == 100 * turns
    assert result["tasks"]["t1"]["status"] == "partial"
    assert result["tasks"]["t1"]["report"] == f"stopped at {limit}: looking at {turns - 1}"
    assert result["messages"][-1].content == "done"


@both
def test_a_child_that_ends_at_its_limit_has_ended(ask: Ask) -> None:
    """The last turn it may take is its report."""
    said = says(calls("look", "c1", n=1), "fine")
    got = report(ask(agent_of(hands_out(task()), worker(said, limits={"turns": 2}))))

    assert (got.content, got.artifact["status"]) == ("fine", "completed")


@pytest.mark.parametrize(("wanted", "turns"), [(2, 2), (9, 4)])
def test_a_call_can_lower_the_turns_and_not_raise_them(wanted: int, turns: int) -> None:
    """The limits of a spec are its maker's."""
    spec = worker(endless, limits={"turns": 4})
    got = report(asked(agent_of(hands_out(task(max_turns=wanted)), spec)))

    assert got.artifact["turns"] == turns


def test_limits_of_the_middleware_go_where_a_spec_names_none() -> None:
    """They apply in addition to those the spec names."""
    spec = worker(endless, limits={"turns": 4})
    agent = agent_of(hands_out(task()), spec, limits={"turns": 2, "tokens": 300})

    assert report(asked(agent)).artifact["limit"] == "tokens"


def test_a_graph_that_is_made_already_has_limits_too() -> None:
    """They are read from its stream."""
    graph = create_agent(RuledModel(rule=endless), tools=[look])
    compiled: CompiledSubAgent = {
        "name": "worker",
        "description": "works",
        "runnable": graph,
        "limits": {"turns": 2},
    }
    got = report(asked(agent_of(hands_out(task()), compiled)))

    assert (got.artifact["turns"], got.artifact["status"]) == (2, "partial")


def test_a_childs_own_recursion_limit_ends_it_the_same_way() -> None:
    """LangGraph raises there; the parent reads a report."""
    graph = create_agent(RuledModel(rule=endless), tools=[look])
    compiled: CompiledSubAgent = {
        "name": "worker",
        "description": "works",
        "runnable": graph.with_config({"recursion_limit": 5}),
    }
    got = report(asked(agent_of(hands_out(task()), compiled)))

    assert got.artifact["status"] == "partial"
    assert "looking at 1" in got.text


def test_a_time_limit_cancels_what_an_async_child_has_at_work() -> None:
    """The tool, too."""
    ended: list[str] = []

    @tool
    async def rest() -> str:
        """Sleep."""
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return "rested"

    said = says(calls("look", "c1", n=1), calls("rest", "c2"), "never")
    spec = worker(said, tools=[look, rest], limits={"seconds": 0.5})
    events, result = atold(agent_of(hands_out(task()), spec))

    got = report(result)
    assert ended == ["cancelled"]
    assert got.artifact["status"] == result["tasks"]["t1"]["status"] == "timed_out"
    assert "its limit of 0.5 seconds" in got.text
    assert "look(n=1) → ok: found 1" in got.text
    assert "rest() → not ended" in got.text
    assert events[-1]["type"] == "task_timed_out"


def atold(agent: Agent) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Ask on an event loop; return the events on the way and the last state."""

    async def ask() -> tuple[list[dict[str, Any]], dict[str, Any]]:
        stream = agent.astream(GO, AT, stream_mode=["custom", "values"])
        came = [(kind, one) async for kind, one in stream]
        values: Any = [one for kind, one in came if kind == "values"]
        return [one for kind, one in came if kind == "custom"], values[-1]  # type: ignore[misc]

    return asyncio.run(ask())


@pytest.mark.parametrize("is_nested", [False, True])
def test_at_a_time_limit_a_sync_child_is_left_behind_and_takes_no_further_step(
    is_nested: bool,  # noqa: FBT001
) -> None:
    """Its parent continues at once; a thread cannot be stopped, but it and its own are asked to."""
    go_on, asked_again = threading.Event(), threading.Event()

    @tool
    def rest() -> str:
        """Sleep."""
        go_on.wait(30)
        return "rested"

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        if messages[-1].type == "tool":
            asked_again.set()
        return calls("rest", "c1")

    spec = worker(rule, tools=[rest])
    if is_nested:
        below = SubAgentMiddleware(backend=None, subagents=[spec])
        spec = worker(says(task("t2"), "never"), middleware=[below])
    spec["limits"] = {"seconds": 0.5}
    got = report(asked(agent_of(hands_out(task()), spec)))

    assert got.artifact["status"] == "timed_out"
    assert not go_on.is_set()
    go_on.set()
    assert not asked_again.wait(0.5)


def test_a_time_limit_holds_for_any_runnable() -> None:
    """It reports no steps, but the parent waits for it no longer than that."""

    async def slow(_: object) -> dict[str, Any]:
        await asyncio.sleep(60)
        return {"messages": []}

    compiled: CompiledSubAgent = {
        "name": "worker",
        "description": "works",
        "runnable": RunnableLambda(slow),
        "limits": {"seconds": 0.2},
    }
    got = report(aasked(agent_of(hands_out(task()), compiled)))

    assert "It had said nothing and done nothing yet." in got.text


def test_a_timeout_of_the_childs_own_is_its_failure() -> None:
    """It is not ours."""

    async def fails(_: object) -> dict[str, Any]:
        raise TimeoutError

    compiled: CompiledSubAgent = {
        "name": "worker",
        "description": "works",
        "runnable": RunnableLambda(fails),
    }
    got = report(aasked(agent_of(hands_out(task()), compiled)))

    assert got.artifact["status"] == "failed"


def nested(depth: int | None) -> Agent:
    """Make an agent whose subagents hand the task on, one to the next, without an end."""

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        if messages[-1].type == "tool":
            return AIMessage(f"below: {messages[-1].text}")
        return task("t")

    limits = None if depth is None else SubagentLimits(depth=depth)
    spec: SubAgent = {"name": "worker", "description": "works"}
    inner: list[Any] = []
    tasks = SubAgentMiddleware(
        backend=None, subagents=[spec], limits=limits, create=lambda _: inner[0]
    )
    inner.append(create_agent(RuledModel(rule=rule), middleware=[tasks]))
    return create_agent(RuledModel(rule=rule), middleware=[tasks], checkpointer=InMemorySaver())


@pytest.mark.parametrize(("depth", "levels"), [(1, 2), (2, 3), (None, 4)])
def test_subagents_of_subagents_end_at_a_depth(depth: int | None, levels: int) -> None:
    """The deepest one is instructed to do it itself."""
    said = asked(nested(depth))["messages"][-1].text

    assert said.count("below:") == levels
    assert "at that depth. Do this task yourself" in said


def test_tokens_of_a_childs_children_are_its_own() -> None:
    """Handing work on is no way around a limit."""

    def inner(messages: Sequence[BaseMessage]) -> AIMessage:
        return AIMessage(f"fine after {len(messages)}", usage_metadata=USED)

    def outer(messages: Sequence[BaseMessage]) -> AIMessage:
        number = sum(1 for m in messages if m.type == "tool")
        return task(f"t{number}", subagent_type="inner")

    below = SubAgentMiddleware(backend=None, subagents=[worker(inner, name="inner")])
    spec = worker(outer, middleware=[below], limits={"tokens": 250})
    got = report(asked(agent_of(hands_out(task()), spec)))

    assert (got.artifact["limit"], got.artifact["tokens"]) == ("tokens", 300)


USED: Any = {"input_tokens": 90, "output_tokens": 10, "total_tokens": 100}


def test_who_cancels_the_parent_cancels_its_children_and_their_tools() -> None:
    """The next time the agent is asked, its ledger states it."""
    started, ended = asyncio.Event(), list[str]()

    @tool
    async def rest(n: int) -> str:
        """Sleep."""
        started.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append(f"cancelled {n}")
            raise
        return "rested"

    spec = worker(lambda messages: calls("rest", "c1", n=int(messages[-1].text)), tools=[rest])
    parent = hands_out(batch(task("t1", description="1"), task("t2", description="2")))
    agent = agent_of(parent, spec)

    async def run() -> dict[str, Any]:
        running = asyncio.create_task(agent.ainvoke(GO, AT))
        await started.wait()
        await asyncio.sleep(0.2)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        standing = (await agent.aget_state(AT)).values["tasks"]
        assert {t["status"] for t in standing.values()} == {"running"}
        return await agent.ainvoke({"messages": [("user", "what became of it?")]}, AT)

    result = asyncio.run(run())

    assert sorted(ended) == ["cancelled 1", "cancelled 2"]
    assert {t["status"] for t in result["tasks"].values()} == {"cancelled"}
    assert all(t["ended_at"] for t in result["tasks"].values())


def test_every_step_is_told_as_it_happens() -> None:
    """In plain values, on the parent's custom stream."""
    said = says(calls("look", "c1", n=1), "fine")
    events, _ = atold(agent_of(hands_out(task()), worker(said)))

    for event in events:
        event.pop("seconds", None)
        assert event.pop("thread").startswith("t/~/tools:")
    same, limit = {"task_id": "t1", "subagent": "worker"}, {"turn_limit": 100}
    assert events == [
        {"type": "task_started", **same, "resumed": False},
        {"type": "task_running", **same, "tool": "look", "turn": 1, **limit, "tokens": 0},
        {"type": "task_running", **same, "tool": "look", "turn": 2, **limit, "tokens": 0},
        {"type": "task_completed", **same, "status": "completed", "turn": 2, **limit, "tokens": 0},
    ]


def test_children_of_one_message_work_at_the_same_time() -> None:
    """Async in one loop; sync in threads, as many as the run may have."""
    inside, most, lock = 0, 0, threading.Lock()

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        deadline = time.monotonic() + 10
        while most < 12 and time.monotonic() < deadline:
            time.sleep(0.01)
        with lock:
            inside -= 1
        return AIMessage(f"fine: {told(messages)}")

    many = batch(*(task(f"t{n}") for n in range(12)))
    agent = agent_of(hands_out(many), worker(rule))
    config: Any = {**AT, "max_concurrency": 12}
    result = agent.invoke(GO, config)

    assert most == 12
    assert len(result["tasks"]) == 12
