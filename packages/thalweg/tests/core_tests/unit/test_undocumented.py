"""Every undocumented member of a dependency that is used does what it is used for.

Where a test fails, the message names the installed version and the newest one that worked.
"""

import asyncio
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables.config import ensure_config
from langchain_openai import ChatOpenAI
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.config import get_config
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from thalweg.engine import undocumented
from thalweg.engine.undocumented import CHECKED_VERSIONS


class Files(TypedDict, total=False):
    """The state of a small graph."""

    name: str
    sent: str


class Called(BaseCallbackHandler):
    """Counts calls of a model."""

    calls = 0

    def on_chat_model_start(self, *_: object, **__: object) -> None:
        """Count one."""
        self.calls += 1


def worked(package: str) -> str:
    return f"{package} {version(package)} is installed; {CHECKED_VERSIONS[package]} worked"


def test_a_step_reads_and_writes_channels_and_reaches_its_loop() -> None:
    seen: list[Mapping[str, Any]] = []

    def node(state: Files) -> Files:
        del state
        configurable = get_config()["configurable"]
        seen.append(
            {
                "read": configurable[undocumented.READ_KEY]("name", False),  # noqa: FBT003 (LangGraph's signature)
                "saver": configurable[undocumented.SAVER_KEY],
                "task": configurable[undocumented.TASK_KEY],
                "resuming": configurable.get(undocumented.RESUMING_KEY),
                "replay": configurable.get(undocumented.REPLAY_KEY),
                "tasks": [*undocumented.loop_of(configurable).tasks],
                "writes": undocumented.loop_of(configurable).checkpoint_pending_writes,
            }
        )
        configurable[undocumented.SEND_KEY]([("sent", "by the key")])
        interrupt("wait")
        return {}

    graph = StateGraph(Files).add_node("node", node).add_edge(START, "node").add_edge("node", END)
    app = graph.compile(checkpointer=(saver := InMemorySaver()))
    config: Any = {"configurable": {"thread_id": "t"}}
    app.invoke({"name": "given"}, config)
    ended = app.invoke(Command(resume="go"), config)

    first, resumed = seen
    assert (first["read"], ended["sent"]) == ("given", "by the key"), worked("langgraph")
    assert first["saver"] is saver, worked("langgraph")
    assert first["task"] in first["tasks"], worked("langgraph")
    assert not first["resuming"], worked("langgraph")
    assert resumed["resuming"], worked("langgraph")
    assert not first["replay"], worked("langgraph")
    assert resumed["writes"], worked("langgraph")


def test_a_snapshot_is_the_whole_value_of_a_delta_channel() -> None:
    def joined(old: list[str], writes: Sequence[list[str]]) -> list[str]:
        return [*old, *(text for write in writes for text in write)]

    serde = JsonPlusSerializer()
    stored = serde.loads_typed(serde.dumps_typed(undocumented.DELTA_SNAPSHOT(["a", "b"])))
    channel = DeltaChannel(joined, list[str]).from_checkpoint(stored)
    assert isinstance(stored, undocumented.DELTA_SNAPSHOT), worked("langgraph")
    assert channel.get() == ["a", "b"], worked("langgraph")


def test_a_model_called_inside_inherits_the_config() -> None:
    called = Called()
    with undocumented.child_config(ensure_config({"callbacks": [called]})):
        FakeListChatModel(responses=["a"]).invoke("hi")
        asyncio.run(FakeListChatModel(responses=["a"]).ainvoke("hi"))
    FakeListChatModel(responses=["a"]).invoke("hi")

    assert called.calls == 2, worked("langchain-core")


def test_a_model_reports_its_provider_and_its_name() -> None:
    model: dict[str, Any] = {"model": "claude-sonnet-4-6", "api_key": "k"}
    params = undocumented.trace_params(ChatAnthropic(**model))

    assert params["ls_provider"] == "anthropic", worked("langchain-core")
    assert params["ls_model_name"] == "claude-sonnet-4-6", worked("langchain-core")
    assert undocumented.trace_params(object()) == {}


@pytest.mark.parametrize("tools", [[], [{"type": "web_search"}]])
def test_openai_decides_its_endpoint_by_the_request(tools: list[dict[str, str]]) -> None:
    model = ChatOpenAI(model="gpt-4.1", api_key="k")  # type: ignore[arg-type]  # a plain text will do

    found = undocumented.uses_responses_api(model, {"tools": tools})
    assert found == bool(tools), worked("langchain-openai")
    assert not undocumented.uses_responses_api(object(), {})


def test_no_other_file_names_an_undocumented_member() -> None:
    """Calls through a name that begins with `_` are ruff's to find (SLF001); these are not."""
    source = Path(undocumented.__file__).parent
    names = ("._internal", "var_child_runnable_config", "_DeltaSnapshot")
    found = [
        f"{path.relative_to(source)}: {name}"
        for path in sorted(source.rglob("*.py"))
        if path.name != "undocumented.py"
        for name in names
        if name in path.read_text(encoding="utf-8")
    ]
    assert found == []
