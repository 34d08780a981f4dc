"""Subagents and threads: a thread of their own, approvals inside, forks, compactions, restarts."""

import asyncio
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
from pydantic import Field

from agent_tests.e2e.test_subagents import (
    AT,
    GO,
    Kept,
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
from core_tests.e2e.test_new_branches import Opening, Saver, address, opening
from thalweg.archive import ThreadKey, open_archive
from thalweg.archive.threads.thread_history import history
from thalweg.context.middleware import ContextMiddleware
from thalweg.engine.settings import ContextPolicy
from thalweg_agent import create_deep_agent
from thalweg_agent.middleware.subagents.middleware import SubAgent, SubAgentMiddleware

__all__ = ["address", "opening"]  # fixtures


def test_a_child_has_a_thread_of_its_own_in_the_archive_of_its_parent() -> None:
    """One middleware serves both; neither thread holds a message of the other."""
    context = ContextMiddleware(archive=":memory:")
    spec = worker(says(calls("look", "c1", n=1), "fine"), middleware=[context])
    result = asked(agent_of(hands_out(task()), spec, middleware=[context]))

    thread = report(result).artifact["thread"]
    assert thread == result["tasks"]["t1"]["thread"]
    archive = context.archive
    child = [one.message.text for one in history(archive, ThreadKey("local", thread))]
    parent = [one.message.text for one in history(archive, ThreadKey("local", "t"))]
    assert child == ["do it", "", "found 1", "fine"]
    assert parent == ["go", "", "fine", "done"]


def test_the_whole_of_a_long_report_is_recalled_by_the_parent() -> None:
    """The engine shows a part with a handle; no file is made."""
    long = "\n".join(f"line {n} of many" for n in range(20_000))
    context = ContextMiddleware(ContextPolicy(window=16_000), archive=":memory:")

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        if messages[-1].type == "human":
            return task()
        if handle := re.search(r'recall\(handle="(\w+)"\)', messages[-1].text):
            return calls("recall", "r1", handle=handle[1], lines=[15_000, 15_001])
        return AIMessage(messages[-1].text)

    kept = Kept()
    tasks = SubAgentMiddleware(backend=kept, subagents=[worker(says(long))])
    stack: list[Any] = [tasks, context]
    agent = create_agent(RuledModel(rule=rule), middleware=stack, checkpointer=InMemorySaver())

    assert "line 14999 of many" in agent.invoke(GO, AT)["messages"][-1].text
    assert not kept.files


WORDS = "more words " * 100


@tool
def deploy(where: str) -> str:
    """Deploy."""
    return f"deployed to {where}"


@contextmanager
def saver(kind: str, place: Path) -> Iterator[BaseCheckpointSaver[Any]]:
    """Open a checkpointer."""
    if kind == "memory":
        yield InMemorySaver()
        return
    connection = sqlite3.connect(place / "c.db", check_same_thread=False)
    try:
        yield SqliteSaver(connection)
    finally:
        connection.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@pytest.mark.parametrize(
    ("decision", "outcome"),
    [
        ({"type": "approve"}, "deployed to prod"),
        ({"type": "reject", "message": "not today"}, "not today"),
    ],
)
def test_a_person_is_asked_inside_a_child_and_the_child_goes_on(
    kind: str, decision: dict[str, str], outcome: str, tmp_path: Path
) -> None:
    """It resumes where it paused: no turn is taken twice, and its sibling is not run again."""
    context = ContextMiddleware(archive=":memory:")
    turns: list[str] = []

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        turns.append(told(messages))
        if told(messages) == "quick":
            return AIMessage("quick is done")
        results = [m.text for m in messages if m.type == "tool"]
        steps = [calls("look", "c1", n=1), calls("deploy", "c2", where="prod")]
        return steps[len(results)] if len(results) < 2 else AIMessage(results[-1])

    person = HumanInTheLoopMiddleware(interrupt_on={"deploy": True})
    spec = worker(rule, tools=[look, deploy], middleware=[person, context])
    two = batch(task("t1", description="deploy"), task("t2", description="quick"))
    stack: list[Any] = [SubAgentMiddleware(backend=None, subagents=[spec]), context]
    with saver(kind, tmp_path) as kept:
        agent: Any = create_agent(hands_out(two), middleware=stack, checkpointer=kept)
        first = asked(agent)
        (interrupt,) = first["__interrupt__"]
        assert interrupt.value["action_requests"][0]["args"] == {"where": "prod"}
        assert first["tasks"]["t1"]["status"] == "running"
        stream = agent.stream(
            Command(resume={"decisions": [decision]}), AT, stream_mode=["custom", "values"]
        )
        came: list[Any] = list(stream)
    result = came[-1][1]

    assert outcome in report(result, "t1").text
    assert report(result, "t2").content == "quick is done"
    assert turns.count("quick") == 1
    assert turns.count("deploy") == 3
    assert report(result, "t1").artifact["turns"] == 3
    assert [task["status"] for task in result["tasks"].values()] == ["completed", "completed"]
    (started,) = [e for kind, e in came if kind == "custom" and e["type"] == "task_started"]
    assert (started["task_id"], started["resumed"]) == ("t1", True)


def forks(parent: RuledModel, child: RuledModel, *context: ContextMiddleware) -> Agent:
    """Make an agent whose worker continues its conversation."""
    spec = worker(says(""), mode="fork", model=child, middleware=[*context])
    return agent_of(parent, spec, middleware=context)


def test_a_fork_continues_what_its_parents_model_was_sent() -> None:
    """Its request begins as the parent's did; only the task is new."""
    parent, child = hands_out(task(description="now the hard part")), RuledModel(rule=says("fine"))
    got = report(asked(forks(parent, child)))

    (before, *_), (request,) = parent.requests, child.requests
    sent = [m for m in request if m.text]
    assert [m.text for m in sent[:-1]] == [m.text for m in before] == ["go"]
    assert sent[-1].text.endswith("Your task:]\n\nnow the hard part")
    assert not any(isinstance(m, AIMessage) for m in request)
    assert got.content == "fine"


def test_a_fork_continues_the_whole_of_a_long_thread_and_not_what_the_state_has_left() -> None:
    """With a context engine the state holds the newest run alone."""
    context = ContextMiddleware(archive=":memory:", state="run")
    parent = RuledModel(rule=says("ok 1", "ok 2", task(description="hard"), "done"))
    child = RuledModel(rule=says("fine"))
    agent = forks(parent, child, context)
    for words in ("first " + "word " * 100, "second " + "word " * 100, "third"):
        result = agent.invoke({"messages": [("user", words)]}, AT)

    (request,) = child.requests
    texts = [m.text.split(" ")[0] for m in request if m.type != "system"]
    assert texts[:5] == ["first", "ok", "second", "ok", "third"]
    assert report(result).content == "fine"
    assert report(result).artifact["turns"] == 1


def test_a_fork_never_continues_another_threads_conversation() -> None:
    """Some models number their calls per answer: two threads make a call with one id."""
    child = RuledModel(rule=says("fine", "fine"))
    spec = worker(says(""), mode="fork", model=child)
    approval = HumanInTheLoopMiddleware(interrupt_on={"task": True})
    parent = RuledModel(rule=says(task(), task(), "done", "done"))
    agent = agent_of(parent, spec, middleware=[approval])
    threads: list[Any] = [{"configurable": {"thread_id": name}} for name in ("ada", "bob")]
    for config in threads:
        words = f"I am {config['configurable']['thread_id']}"
        agent.invoke({"messages": [("user", words)]}, config)
    for config in threads:
        agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)

    assert [told(request) for request in child.requests] == ["I am ada", "I am bob"]


def test_what_a_model_was_sent_before_a_fork_is_in_no_stream() -> None:
    """A gateway stores each chunk: with what was sent, a run's journal grew by it per fork."""
    child = RuledModel(rule=says("fine"))
    agent = forks(hands_out(task()), child, ContextMiddleware(archive=":memory:"))
    words = "a heron " * 100
    given: Any = {"messages": [("user", words)]}
    streamed: list[Any] = list(agent.stream(given, AT, stream_mode=["values", "updates"]))

    shown = {"values": 1, "updates": 0}  # a state has the user's message
    assert {(mode, str(chunk).count(words)) for mode, chunk in streamed} == set(shown.items())
    assert not any("thalweg_sent" in str(chunk) for _, chunk in streamed)
    assert told(child.requests[0]).startswith("a heron")


def test_a_fork_that_says_nothing_does_not_repeat_its_parents_words() -> None:
    """Its answer is only its own text."""
    parent = RuledModel(rule=says("parent's words", task(), "done"))
    agent = forks(parent, RuledModel(rule=says("")))
    asked(agent)

    assert "completed without an answer" in report(asked(agent)).text


def test_a_fork_cannot_fork() -> None:
    """It has the tool, so that its requests begin as its parent's do; the tool refuses."""
    child = RuledModel(rule=says(task("t9"), "did it myself"))
    got = report(asked(forks(hands_out(task()), child)))

    refused = child.requests[1][-1]
    assert "cannot delegate. Do this task yourself" in refused.text
    assert got.content == "did it myself"


def test_the_ledger_and_the_engines_record_keep_tasks_through_compactions() -> None:
    """Delegated tasks and their results remain available when their messages are folded away."""
    context = ContextMiddleware(ContextPolicy(window=8_000, summarize=False), archive=":memory:")
    number = 0

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        nonlocal number
        if messages[-1].type == "tool" and number >= 60:
            return AIMessage("all done")
        number += 1
        told = {"description": f"survey part {number}", "subagent_type": "worker"}
        return calls("task", f"t{number}", **told)

    parent = RuledModel(rule=rule)
    child = worker(lambda m: AIMessage(f"On {told(m)}:\n{WORDS}\nFound."))
    result = asked(agent_of(parent, child, middleware=[context]))

    assert [t["status"] for t in result["tasks"].values()] == ["completed"] * 60
    assert result["tasks"]["t1"]["report"] == "On survey part 1:"
    (record,) = [m.text for m in parent.requests[-1] if "survey part 40" in m.text]
    assert "task(survey part 40, subagent_type=worker) → On survey part 40:" in record
    assert result["tasks"]["t40"]["report"] == "On survey part 40:"
    assert not parent.problems


def test_async_children_share_the_archive_with_their_parent() -> None:
    """Each has its own thread, in any order of arrival."""
    context = ContextMiddleware(archive=":memory:")

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        results = [m.text for m in messages if m.type == "tool"]
        if len(results) < 2:
            return calls("look", f"c{len(results)}", n=len(results))
        return AIMessage(f"report on {told(messages)}")

    many = batch(*(task(f"t{n}", description=f"task {n}") for n in range(30)))
    agent = agent_of(hands_out(many), worker(rule, middleware=[context]), middleware=[context])
    result = asyncio.run(agent.ainvoke(GO, AT))

    for n in range(30):
        got = report(result, f"t{n}")
        assert got.content == f"report on task {n}"
        said = history(context.archive, ThreadKey("local", got.artifact["thread"]))
        assert said[0].message.text == f"task {n}"
        assert len(said) == 6


def test_threads_of_subagents_are_deleted_by_number_and_their_reports_stay(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """With the stored texts of the deleted; the ledger and the log name what was done."""
    caplog.set_level("INFO", "thalweg.subagents")
    long = "a stored text of the child " * 200
    rule = says(*(step for n in range(3) for step in (task(f"t{n}"), f"done {n}")))
    spec: SubAgent = {"name": "worker", "description": "works", "system_prompt": "Work."}
    child = {**spec, "model": RuledModel(rule=lambda m: AIMessage(f"fine: {told(m)} {long}"))}
    agent = create_deep_agent(
        RuledModel(rule=rule),
        subagents=[child],  # type: ignore[list-item]  # a SubAgent with a model
        checkpointer=InMemorySaver(),
        archive=tmp_path / "a.db",
        subagent_retention={"threads": 1},
    )
    states = [agent.invoke(GO, AT)["tasks"] for _ in range(3)]

    with open_archive(tmp_path / "a.db") as archive:
        threads = archive.threads("local")
        assert [one["thread"] for one in states[-1].values() if "thread" in one] == threads[1:]
        assert len(threads) == 2
        parent = [m.message.text for m in history(archive, ThreadKey("local", "t"))]
        assert sum(text.startswith("fine: do it") for text in parent) == 3
    assert ["pruned_at" in states[2][f"t{n}"] for n in range(3)] == [True, True, False]
    assert "thread t: deleted the threads of 1 subagents" in caplog.text


class OtherSaver(BaseCheckpointSaver[Any]):
    """A checkpointer of another class than LangGraph's."""

    def __init__(self) -> None:
        super().__init__()
        inner = InMemorySaver()
        self.get_tuple = inner.get_tuple  # type: ignore[method-assign]
        self.put = inner.put  # type: ignore[method-assign]
        self.put_writes = inner.put_writes  # type: ignore[method-assign]
        self.list = inner.list  # type: ignore[method-assign]
        self.get_next_version = inner.get_next_version  # type: ignore[method-assign]


def three_delegations(saver: Any, archive: Path) -> Any:  # noqa: ANN401 (LangGraph's)
    """Return an agent that delegates once a run, to a child that calls a tool, and keeps one."""
    spec: SubAgent = {"name": "worker", "description": "works", "system_prompt": "Work."}
    found = RuledModel(
        rule=lambda m: AIMessage("fine") if m[-1].type == "tool" else calls("look", "c", n=1)
    )
    child: Any = {**spec, "model": found, "tools": [look]}

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        runs = sum(m.type == "human" for m in messages)
        return AIMessage("done") if messages[-1].type == "tool" else task(f"t{runs}")

    return create_deep_agent(
        RuledModel(rule=rule),
        subagents=[child],
        checkpointer=saver,
        archive=archive,
        subagent_retention={"threads": 1},
    )


def namespaces(saver: Saver, thread: str) -> set[str]:
    """Return the namespaces that have checkpoints of a thread."""
    config: Any = {"configurable": {"thread_id": thread}}
    return {found.config["configurable"]["checkpoint_ns"] for found in saver.list(config)}


@pytest.mark.parametrize("in_thread", [False, True])
def test_checkpoints_of_pruned_subagents_are_deleted(
    opening: Opening, address: str, tmp_path: Path, *, in_thread: bool
) -> None:
    """In each checkpointer of LangGraph; those of the parent and of other threads stay."""

    async def kept() -> tuple[Any, set[str], set[str]]:
        async with opening(address) as saver:
            agent = three_delegations(saver, tmp_path / "a.db")
            for name in ("t", "u", "t", "t"):
                at: Any = {"configurable": {"thread_id": name}}
                if in_thread or isinstance(saver, SqliteSaver | PostgresSaver):
                    state = await asyncio.to_thread(agent.invoke, GO, at)
                else:
                    state = await agent.ainvoke(GO, at)
            of_thread = await asyncio.to_thread(namespaces, saver, "t")
            return state["tasks"], of_thread, await asyncio.to_thread(namespaces, saver, "u")

    tasks, of_thread, of_other = asyncio.run(kept())
    (left,) = [task["thread"] for task in tasks.values() if "thread" in task]
    assert of_thread == {"", left.removeprefix("t/~/")}
    assert len(of_other) == 2


def test_a_checkpointer_that_cannot_delete_a_namespace_is_named(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Its checkpoints remain until the parent's thread is deleted."""
    agent = three_delegations(saver := OtherSaver(), tmp_path / "a.db")
    for _ in range(2):
        agent.invoke(GO, AT)

    assert len(namespaces(saver, "t")) == 3
    assert "not deleted: OtherSaver: checkpoints of subagents" in caplog.text


def test_a_subagent_that_waits_for_a_person_keeps_its_thread(tmp_path: Path) -> None:
    """Its task runs still, however many ended after it began."""
    person = HumanInTheLoopMiddleware(interrupt_on={"deploy": True})

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        if told(messages) == "quick" or messages[-1].type == "tool":
            return AIMessage("fine")
        return calls("deploy", "c1", where="prod")

    spec = worker(rule, tools=[deploy], middleware=[person], system_prompt="Work.")
    two = batch(task("t1", description="deploy"), task("t2", description="quick"))
    agent: Any = create_deep_agent(
        RuledModel(rule=says(two, "done", task("t3", description="quick"), "done")),
        subagents=[spec],
        checkpointer=InMemorySaver(),
        archive=tmp_path / "a.db",
        subagent_retention={"threads": 1},
    )
    agent.invoke(GO, AT)
    with open_archive(tmp_path / "a.db") as archive:
        assert len(archive.threads("local")) == 3
    approve: Any = Command(resume={"decisions": [{"type": "approve"}]})
    tasks = agent.invoke(approve, AT)["tasks"]
    assert [one["status"] for one in tasks.values()] == ["completed", "completed"]
    assert sum("thread" in one for one in tasks.values()) == 1


class Offered(RuledModel):
    """Keeps the names of the tools that it is offered."""

    tools: list[str] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **kwargs: Any) -> RuledModel:  # noqa: ANN401, ARG002
        """See `BaseChatModel.bind_tools`."""
        self.tools = [one.name for one in tools]
        return self


def test_a_fork_of_a_deep_agent_is_offered_its_parents_tools_in_their_order() -> None:
    """Else a provider's cache would not know its requests."""
    parent = Offered(rule=says("hello", task(), "done"))
    child = Offered(rule=says(task("t9"), "did it myself"))
    spec: SubAgent = {"name": "worker", "description": "works", "mode": "fork", "model": child}
    agent = create_deep_agent(
        parent, subagents=[spec], checkpointer=InMemorySaver(), archive=":memory:"
    )
    agent.invoke(GO, AT)

    result = agent.invoke(GO, AT)

    assert report(result).content == "did it myself"
    assert child.tools == parent.tools
    assert "task" in child.tools
    texts = [m.text for m in child.requests[0] if m.type != "system"]
    assert texts[:3] == ["go", "hello", "go"]
