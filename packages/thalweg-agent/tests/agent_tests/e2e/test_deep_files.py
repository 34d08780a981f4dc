"""`create_deep_agent`: its own file tools and tasks keep what agents do side by side."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import ToolCall, tool_call
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from agent_tests.e2e.family import Family, Plan, contents, data, do, family_tools, task
from thalweg.testing import ScriptedModel
from thalweg_agent.graph import create_deep_agent

CONFIG: Any = {"configurable": {"thread_id": "t"}}
NAMES = {"write": "write_file", "edit": "edit_file", "read": "read_file", "delete": "delete"}
LINES = "first\nsecond\nthird\nfourth\n"


class DeepFamily(Family):
    """The agents of a plan, as `create_deep_agent` makes them."""

    def _script(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        said = super()._script(messages)
        if isinstance(said, str):
            return said
        return AIMessage("", tool_calls=[_as_theirs(call) for call in said.tool_calls])

    def _agent(
        self, checkpointer: BaseCheckpointSaver[Any] | None
    ) -> CompiledStateGraph[Any, Any, Any, Any]:
        tools = [one for one in family_tools(self) if one.name in {"ask", "pass_gate", "open_gate"}]
        model = ScriptedModel(script=self._script)
        return create_deep_agent(model, tools, checkpointer=checkpointer, archive=":memory:")


def _as_theirs(call: ToolCall) -> ToolCall:
    args = dict(call["args"])
    if call["name"] == "task":
        given = {"description": args["who"], "subagent_type": "general-purpose"}
        return tool_call(name="task", args=given, id=call["id"])
    if call["name"] not in NAMES:
        return call
    args["file_path"] = args.pop("path")
    if "old" in args:
        args |= {"old_string": args.pop("old"), "new_string": args.pop("new")}
    return tool_call(name=NAMES[call["name"]], args=args, id=call["id"])


def edit(old: str, new: str) -> ToolCall:
    """Plan an edit."""
    return do("edit", path="/a", old=old, new=new)


def test_a_conflict_is_told_to_both_by_the_agent_s_own_tools() -> None:
    """The second by the error of its call, the first with its next result."""
    plans: dict[str, Plan] = {
        "main": [[task("one"), task("two")]],
        "one": [
            [do("pass_gate", name="two has read")],
            [do("write", path="/a", content="of one")],
            [do("open_gate", name="one wrote")],
            [do("pass_gate", name="two tried")],
        ],
        "two": [
            [do("read", path="/a")],
            [do("open_gate", name="two has read")],
            [do("pass_gate", name="one wrote")],
            [do("write", path="/a", content="of two")],
            [do("open_gate", name="two tried")],
        ],
    }
    family = DeepFamily(plans)
    result = family.run({"/a": data(LINES)})

    assert contents(result) == {"/a": "of one"}
    assert "subagent 'general-purpose' (one) changed it" in family.results["two"][3]
    assert "subagent 'general-purpose' (two) tried" in family.results["one"][3]


def test_subagents_that_asked_go_on_in_another_process_with_every_edit(tmp_path: Path) -> None:
    """Edits of one file, before and after the question, and an edit of their parent are kept."""
    plans: dict[str, Plan] = {
        "main": [[edit("first", "1st"), task("one"), task("two")]],
        "one": [[edit("second", "2nd")], [do("ask", question="?")], [edit("third", "3rd")]],
        "two": [[do("ask", question="?")], [edit("fourth", "4th")]],
    }
    path = str(tmp_path / "checkpoints.db")
    with SqliteSaver.from_conn_string(path) as saver:
        asked = DeepFamily(plans, checkpointer=saver).run({"/a": data(LINES)}, CONFIG)
    with SqliteSaver.from_conn_string(path) as saver:
        yes: Command[Any] = Command(resume={one.id: "yes" for one in asked["__interrupt__"]})
        result = DeepFamily(plans, checkpointer=saver).run(None, CONFIG, yes)

    assert contents(result) == {"/a": "1st\n2nd\n3rd\n4th\n"}


@pytest.mark.slow
def test_a_hundred_subagents_of_a_deep_agent_lose_no_edit() -> None:
    """Each edits its place of one file."""
    names = [f"n{k:03}" for k in range(100)]
    plans: dict[str, Plan] = {name: [[edit(f"<{name}>", f"({name})")]] for name in names}
    plans["main"] = [[task(name) for name in names]]
    family = DeepFamily(plans, is_async=True)
    given = {"/a": data("".join(f"<{name}>" for name in names))}
    result = asyncio.run(family.arun(given))

    assert contents(result) == {"/a": "".join(f"({name})" for name in names)}
    assert len(family.results["main"]) == 100
