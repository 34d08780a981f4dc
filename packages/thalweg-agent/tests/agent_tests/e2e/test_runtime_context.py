"""The context passed to a run with its messages is for tools and middleware, not for the model."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from langchain.agents.middleware import ModelRequest, dynamic_prompt
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore

from core_tests.archives import archive_in_memory
from core_tests.e2e.scripted import RuledModel, calls, says
from thalweg.archive import ThreadKey
from thalweg.archive.threads.thread_history import turns
from thalweg_agent import create_deep_agent

AT: RunnableConfig = {"configurable": {"thread_id": "t"}}
SECRET = "sk-f00d-secret"  # noqa: S105 (none)


@dataclass(frozen=True)
class Visitor:
    """Who asks."""

    name: str
    token: str
    is_expert: bool = False


ANN = Visitor("Ann", SECRET)
Run = Callable[[Any, Any], dict[str, Any]]


def in_sync(agent: Any, given: Any, who: Visitor = ANN) -> dict[str, Any]:  # noqa: ANN401
    """Run an agent for a user."""
    result: dict[str, Any] = agent.invoke(given, AT, context=who)
    return result


def in_async(agent: Any, given: Any, who: Visitor = ANN) -> dict[str, Any]:  # noqa: ANN401
    """Run an agent for a user on an event loop."""
    result: dict[str, Any] = asyncio.run(agent.ainvoke(given, AT, context=who))
    return result


both_worlds = pytest.mark.parametrize("run", [in_sync, in_async])


@tool
def whoami(runtime: ToolRuntime[Visitor, Any]) -> str:
    """Return who asks."""
    return f"for {runtime.context.name}"


@tool
def remember(what: str, runtime: ToolRuntime[Visitor, Any]) -> str:
    """Keep something."""
    assert runtime.store is not None
    runtime.store.put((runtime.context.name,), "kept", {"what": what})
    return f"kept among {len(runtime.state['messages'])} messages"


def say(text: str) -> dict[str, Any]:
    """Make a request."""
    return {"messages": [HumanMessage(text)]}


def sent(model: RuledModel) -> str:
    """Write all that a model was ever sent."""
    return "\n".join(repr(message) for request in model.requests for message in request)


@both_worlds
def test_tools_have_the_context_the_store_and_the_state(run: Run) -> None:
    """They are as passed to the run; the model gets the results of the tools, and nothing else."""
    turn = [calls("whoami", "c1"), calls("remember", "c2", what="herons")]
    model = RuledModel(rule=says(*turn, "Done."))
    store = InMemoryStore()
    agent = create_deep_agent(
        model, [whoami, remember], context_schema=Visitor, store=store, archive=":memory:"
    )
    messages = run(agent, say("Who am I?"))["messages"]

    assert [m.text for m in messages if isinstance(m, ToolMessage)] == [
        "for Ann",
        "kept among 4 messages",
    ]
    kept = store.get(("Ann",), "kept")
    assert kept is not None
    assert kept.value == {"what": "herons"}
    assert SECRET not in sent(model)


def delegating(messages: Sequence[BaseMessage]) -> AIMessage:
    """Hand a task out, which asks who it is for."""
    asked = next(m.text for m in messages if m.type == "human")
    told = [m.text for m in messages if isinstance(m, ToolMessage)]
    if told:
        return AIMessage(told[-1])
    if asked == "child":
        return calls("whoami", "w")
    return calls("task", "t", description="child")


@both_worlds
def test_subagents_have_the_context_of_the_run(run: Run) -> None:
    """Their tools and their prompts know who asks; two runs of one agent do not mix."""

    @dynamic_prompt
    def polite(request: ModelRequest[Visitor]) -> str:
        return f"Call them {request.runtime.context.name}."

    model = RuledModel(rule=delegating)
    spec: Any = {
        "name": "guide",
        "description": "Guides.",
        "system_prompt": "Guide.",
        "middleware": [polite],
    }
    rule = model.rule
    model.rule = lambda m: _to("guide", rule(m))
    agent = create_deep_agent(
        model, [whoami], subagents=[spec], context_schema=Visitor, archive=":memory:"
    )

    assert run(agent, say("Who?"))["messages"][-1].text.startswith("for Ann")
    child = [r for r in model.requests if any(m.text == "child" for m in r)]
    assert all("Call them Ann." in r[0].text for r in child)
    bob = agent.invoke(
        say("Who?"), {"configurable": {"thread_id": "b"}}, context=Visitor("Bob", "x")
    )
    assert bob["messages"][-1].text.startswith("for Bob")
    assert SECRET not in sent(model)


def _to(name: str, answer: AIMessage) -> AIMessage:
    for call in answer.tool_calls:
        if call["name"] == "task":
            call["args"]["subagent_type"] = name
    return answer


@both_worlds
def test_a_dynamic_prompt_says_what_it_takes_from_the_context(run: Run) -> None:
    """And only that; it may change from run to run in one thread."""

    @dynamic_prompt
    def by_skill(request: ModelRequest[Visitor]) -> str:
        depth: Literal["in depth", "simply"] = (
            "in depth" if request.runtime.context.is_expert else "simply"
        )
        return f"Explain {depth}."

    model = RuledModel(rule=says("So.", "And so."))
    agent = create_deep_agent(
        model,
        middleware=[by_skill],
        context_schema=Visitor,
        checkpointer=InMemorySaver(),
        archive=":memory:",
    )
    run(agent, say("Explain."))
    agent.invoke(say("Again."), AT, context=Visitor("Ann", SECRET, is_expert=True))

    systems = [request[0].text for request in model.requests]
    assert [("simply" in text, "in depth" in text) for text in systems] == [
        (True, False),
        (False, True),
    ]
    assert SECRET not in sent(model)


def test_nothing_of_the_context_gets_into_requests_archive_or_journal() -> None:
    """Over compactions, subagents, files and todos: searched in all that was sent and kept."""
    secret_only = Visitor("Ann", SECRET)
    archive = archive_in_memory()
    steps = [
        calls("write_todos", "c0", todos=[{"content": "look", "status": "pending"}]),
        calls("write_file", "c1", file_path="/a.txt", content="lines " * 900),
        calls("read_file", "c2", file_path="/a.txt"),
        calls("task", "c3", description="child"),
        calls("compact_conversation", "c4"),
        calls("recall", "c5", query="lines"),
    ]

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        if any(m.text == "child" for m in messages if m.type == "human"):
            return delegating(messages)
        newest = max(k for k, m in enumerate(messages) if m.text.startswith("Go on"))
        number = int(messages[newest].text.split()[-1])
        is_done = any(m.type == "tool" for m in messages[newest:])
        # A copy: the state would take the same message for the one of the first round.
        step = steps[number % len(steps)].model_copy(update={"id": None})
        return AIMessage("ok") if is_done else step

    model = RuledModel(rule=rule)
    agent = create_deep_agent(
        model,
        [whoami],
        context_schema=Visitor,
        checkpointer=InMemorySaver(),
        archive=archive,
        context={"window": 16_000, "max_output": 500, "trigger": ["tokens", 6_000]},
    )
    for number in range(12):
        agent.invoke(say(f"Go on {number}"), AT, context=secret_only)

    key = ThreadKey("local", "t")
    pages = [turn.page for turn in turns(archive, key)]
    assert any(page.edits for page in pages)
    assert SECRET not in sent(model)
    assert SECRET not in repr(pages)
    assert SECRET not in repr(archive.messages(key))
    assert "'Ann'" not in sent(model)


def test_a_tool_that_tells_is_heard() -> None:
    """The search above would find it: what a tool returns from the context is sent."""

    @tool
    def blab(runtime: ToolRuntime[Visitor, Any]) -> str:
        """Return everything."""
        return runtime.context.token

    model = RuledModel(rule=says(calls("blab", "c1"), "Oh."))
    agent = create_deep_agent(model, [blab], context_schema=Visitor, archive=":memory:")
    in_sync(agent, say("Tell."))

    assert SECRET in sent(model)
