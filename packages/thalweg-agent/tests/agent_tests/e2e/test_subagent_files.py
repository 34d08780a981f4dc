"""Subagents that work on the files of one run."""

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from agent_tests.e2e.test_subagents import AT, GO, batch, hands_out, report, task, told, worker
from core_tests.e2e.scripted import Agent, RuledModel, calls, says
from thalweg_agent.backends.concurrency.shared import shared
from thalweg_agent.backends.concurrency.state_channel import FilesystemState
from thalweg_agent.backends.state import StateBackend
from thalweg_agent.middleware.subagents.middleware import SubAgent, SubAgentMiddleware

BACKEND = StateBackend()


class Files(AgentMiddleware[Any, Any, Any]):
    """Keeps files in the state."""

    state_schema = FilesystemState


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return shared(BACKEND).write(file_path, content).error or "written"


@tool
def edit_file(file_path: str, old: str, new: str) -> str:
    """Edit a file."""
    return shared(BACKEND).edit(file_path, old, new).error or "edited"


@tool
def delete(file_path: str) -> str:
    """Delete a file."""
    return shared(BACKEND).delete(file_path).error or "deleted"


TOOLS = [write_file, edit_file, delete]


def agent_with_files(parent: RuledModel, spec: SubAgent) -> Agent:
    """Make an agent whose state keeps files; its subagents work on them, too."""
    spec = {**spec, "tools": TOOLS, "middleware": [Files()]}
    stack: list[Any] = [Files(), SubAgentMiddleware(backend=BACKEND, subagents=[spec])]
    return create_agent(parent, tools=TOOLS, middleware=stack, checkpointer=InMemorySaver())


def by_task(**steps: AIMessage) -> Any:  # noqa: ANN401 (a rule)
    """Make one call, by the task; then report."""

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        if isinstance(messages[-1], ToolMessage):
            return AIMessage(f"{told(messages)}: {messages[-1].text}")
        return steps[told(messages)]

    return rule


def contents(result: dict[str, Any]) -> dict[str, str]:
    """Read the files of a state."""
    return {path: file["content"] for path, file in result["files"].items()}


def test_parallel_children_and_their_parent_keep_each_others_changes() -> None:
    """Different files, in one batch with an edit of the parent's own."""
    child = by_task(
        one=calls("edit_file", "c1", file_path="/one", old="old", new="new"),
        two=calls("write_file", "c2", file_path="/two", content="two"),
        three=calls("delete", "c3", file_path="/gone"),
    )
    first = batch(
        calls("write_file", "w1", file_path="/one", content="old"),
        calls("write_file", "w2", file_path="/gone", content="x"),
    )
    own = calls("write_file", "w3", file_path="/own", content="own")
    work = [task(f"t-{name}", description=name) for name in ("one", "two", "three")]
    agent = agent_with_files(hands_out(first, batch(own, *work)), worker(child))

    result = agent.invoke(GO, AT)

    assert contents(result) == {"/one": "new", "/two": "two", "/own": "own"}
    assert report(result, "t-one").text == "one: edited\n\n[Files changed: /one]"
    assert report(result, "t-three").artifact["files"] == ["/gone"]


@pytest.mark.parametrize("limits", [{"turns": 1}, {"turns": 5}])
def test_a_child_that_was_stopped_or_failed_keeps_its_files(limits: dict[str, float]) -> None:
    """Its changes are kept, and its report states so."""

    def rule(messages: Sequence[BaseMessage]) -> AIMessage:
        if not isinstance(messages[-1], ToolMessage):
            return calls("write_file", "c1", file_path="/kept", content="kept")
        msg = "no"
        raise RuntimeError(msg)

    agent = agent_with_files(hands_out(task()), worker(rule, limits=limits))

    result = agent.invoke(GO, AT)

    assert contents(result) == {"/kept": "kept"}
    assert "[Files changed: /kept]" in report(result).text


def test_a_file_that_its_parent_had_is_there_for_a_child_and_costs_no_update() -> None:
    """What a child only had comes back as nothing."""
    first = calls("write_file", "w1", file_path="/a", content="a")
    agent = agent_with_files(hands_out(first, task()), worker(says("looked")))

    updates: Any = list(agent.stream(GO, AT, stream_mode="updates"))

    (update,) = [u["tools"] for u in updates if "tools" in u and "tasks" in u["tools"]]
    assert "files" not in update
