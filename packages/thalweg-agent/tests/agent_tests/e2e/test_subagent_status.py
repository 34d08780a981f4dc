"""What LangGraph's v3 stream reports of a subagent that raised, and of one that did not."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from thalweg.testing import ScriptedModel
from thalweg_agent import create_deep_agent


def _parent(messages: Sequence[BaseMessage]) -> str | AIMessage:
    if isinstance(messages[-1], ToolMessage):
        return "done"
    calls = [
        {"name": "task", "args": {"description": "go", "subagent_type": name}, "id": name}
        for name in ("broken", "working")
    ]
    return AIMessage("", tool_calls=calls)


def _raise(messages: Sequence[BaseMessage]) -> str:
    raise ConnectionError(len(messages))


@pytest.mark.filterwarnings("ignore:.*v3.*")
def test_a_subagent_that_raised_has_failed_and_its_parent_goes_on() -> None:
    """Of two that run at the same time, the other one has completed."""
    scripts = {"broken": _raise, "working": lambda _: "found it"}
    subagents: Any = [
        {
            "name": name,
            "description": name,
            "system_prompt": name,
            "model": ScriptedModel(script=script),
        }
        for name, script in scripts.items()
    ]
    agent = create_deep_agent(ScriptedModel(script=_parent), subagents=subagents)
    run = agent.stream_events({"messages": [HumanMessage("go")]}, version="v3")

    handles = []
    for handle in run.subagents:
        handles.append(handle)
        with suppress(RuntimeError):  # LangGraph's, from a stream of a subagent that failed
            for _ in handle.messages:
                pass

    assert {handle.name: handle.status for handle in handles} == {
        "broken": "failed",
        "working": "completed",
    }
    errors = {handle.name: handle.error for handle in handles}
    assert "ConnectionError" in str(errors["broken"])
    assert errors["working"] is None
    output = run.output
    assert output is not None
    results = [m.status for m in output["messages"] if isinstance(m, ToolMessage)]
    assert sorted(results) == ["error", "success"]
    assert output["messages"][-1].content == "done"
