"""The promises of LangGraph's state hold with the middleware, too: plain `create_agent` and ours.

Each row is a scenario that runs twice, with the same script of questions: once with no middleware,
once with `ContextMiddleware` in its default settings. Both must send the model the same words of
the user and result in the same messages in the state.
"""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite

from thalweg import ContextMiddleware
from thalweg.context.arguments import KeptState
from thalweg.testing import ScriptedModel
from thalweg_agent import create_deep_agent

BETWEEN = "[the assistant was asked to go on]"
"""Placed between two answers whose question was removed: providers require one there."""
Agent = CompiledStateGraph[Any, Any, Any, Any]
CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}


@tool
def look(topic: str) -> str:
    """Look something up."""
    return f"{topic}: " + "a fact of no weight " * 3_000


@dataclass
class World:
    """One side of the table: how an agent is made, what its model received, what its state has."""

    make_agent: Callable[["World", BaseCheckpointSaver[Any]], Agent]
    folder: Path
    heard: list[list[str]] = field(default_factory=list)
    """The user's words in each request."""
    shown: list[list[str]] = field(default_factory=list)
    """The messages of the state after each run."""
    closing: ExitStack = field(default_factory=ExitStack)

    def model(self) -> ScriptedModel:
        """Make the model: it records its input, and looks up what it is asked to look up."""
        return ScriptedModel(script=self._answer)

    def _answer(self, messages: Sequence[BaseMessage]) -> str | AIMessage:
        asked = [str(m.content) for m in messages if isinstance(m, HumanMessage)]
        asked = [text for text in asked if text != BETWEEN]
        self.heard.append(asked)
        results = sum(isinstance(m, ToolMessage) for m in messages)
        if asked and asked[-1].startswith("look ") and results < int(asked[-1].split()[1]):
            call = {"name": "look", "args": {"topic": f"t{results}"}, "id": f"look{results}"}
            return AIMessage("", tool_calls=[call])
        return f"heard {','.join(asked)}"

    def agent(self, saver: BaseCheckpointSaver[Any]) -> Agent:
        """Make an agent."""
        return self.make_agent(self, saver)

    def sqlite(self) -> SqliteSaver:
        """Open a saver in a file; each time a new connection."""
        path = self.folder / "checkpoints.db"
        connection = sqlite3.connect(path, check_same_thread=False)
        self.closing.enter_context(closing(connection))
        return SqliteSaver(connection)

    def ask(self, agent: Agent, text: str, config: RunnableConfig = CONFIG) -> None:
        """Send a message, and record what the state shows then."""
        agent.invoke({"messages": [HumanMessage(text, id=f"id-{text}")]}, config)
        self.show(agent)

    def show(self, agent: Agent, config: RunnableConfig = CONFIG) -> None:
        """Note what the state shows."""
        messages = agent.get_state(config).values.get("messages", [])
        self.shown.append([str(m.content)[:40] for m in messages])


def _plain(world: World, saver: BaseCheckpointSaver[Any]) -> Agent:
    return create_agent(world.model(), [look], checkpointer=saver)


def _ours(world: World, saver: BaseCheckpointSaver[Any]) -> Agent:
    middleware: list[AgentMiddleware[Any, Any, Any]] = [ContextMiddleware()]
    return create_agent(world.model(), [look], middleware=middleware, checkpointer=saver)


def _deep(world: World, saver: BaseCheckpointSaver[Any]) -> Agent:
    return create_deep_agent(world.model(), [look], checkpointer=saver)


def rebuilt_per_request(world: World) -> None:
    saver = InMemorySaver()
    for text in "abc":
        world.ask(world.agent(saver), text)


def rebuilt_over_a_file(world: World) -> None:
    for text in "abc":
        world.ask(world.agent(world.sqlite()), text)


def archive_folder_gone(world: World) -> None:
    for text in "abc":
        world.ask(world.agent(world.sqlite()), text)
        shutil.rmtree(world.folder / ".thalweg", ignore_errors=True)


def two_replicas_in_turn(world: World) -> None:
    saver = InMemorySaver()
    agents = [world.agent(saver), world.agent(saver)]
    for n, text in enumerate("abcdef"):
        world.ask(agents[n % 2], text)


def thread_deleted(world: World) -> None:
    saver = InMemorySaver()
    agent = world.agent(saver)
    for text in "abc":
        world.ask(agent, text)
    saver.delete_thread("t")
    world.ask(agent, "new")
    world.ask(agent, "newer")


def cleared(world: World) -> None:
    agent = world.agent(InMemorySaver())
    for text in "abc":
        world.ask(agent, text)
    agent.update_state(CONFIG, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]})
    world.ask(agent, "fresh")
    world.ask(agent, "fresher")


def overwritten(world: World) -> None:
    agent = world.agent(InMemorySaver())
    for text in "abc":
        world.ask(agent, text)
    agent.update_state(CONFIG, {"messages": Overwrite([HumanMessage("only this", id="only")])})
    world.ask(agent, "x")


def overwritten_by_the_newest(world: World) -> None:
    agent = world.agent(InMemorySaver())
    for text in "abcd":
        world.ask(agent, text)
    newest = agent.get_state(CONFIG).values["messages"][-4:]
    agent.update_state(CONFIG, {"messages": Overwrite(newest)})
    world.ask(agent, "x")


def removed(world: World) -> None:
    agent = world.agent(InMemorySaver())
    for text in "abcd":
        world.ask(agent, text)
    agent.update_state(CONFIG, {"messages": [RemoveMessage(id="id-b")]})
    world.ask(agent, "x")
    world.ask(agent, "y")


def removed_in_the_run(world: World) -> None:
    agent = world.agent(InMemorySaver())
    for text in "abcd":
        world.ask(agent, text)
    said = [RemoveMessage(id="id-b"), HumanMessage("x", id="x")]
    agent.invoke({"messages": said}, CONFIG)
    world.show(agent)


def edited_in_place(world: World) -> None:
    agent = world.agent(InMemorySaver())
    for text in "abcd":
        world.ask(agent, text)
    agent.update_state(CONFIG, {"messages": [HumanMessage("B edited", id="id-b")]})
    world.ask(agent, "x")
    world.ask(agent, "y")


def edited_and_regenerated(world: World) -> None:
    agent = world.agent(InMemorySaver())
    for text in "abcd":
        world.ask(agent, text)
    history = list(agent.get_state_history(CONFIG))
    before = next(
        s for s in reversed(history) if any(m.id == "id-c" for m in s.values.get("messages", ()))
    )
    fork = agent.update_state(
        before.config, {"messages": [HumanMessage("C edited", id="id-c")]}, as_node="__start__"
    )
    agent.invoke(None, fork)
    world.show(agent)
    world.ask(agent, "x")


def forked(world: World) -> None:
    agent = world.agent(InMemorySaver())
    for text in "abc":
        world.ask(agent, text)
    states = agent.get_state_history(CONFIG)
    after_a = next(s for s in states if not s.next and len(s.values["messages"]) == 2)
    world.ask(agent, "b2", after_a.config)
    world.ask(agent, "c2")


def replayed(world: World) -> None:
    agent = world.agent(InMemorySaver())
    for text in "abc":
        world.ask(agent, text)
    states = agent.get_state_history(CONFIG)
    at_b = next(s for s in states if s.next and len(s.values["messages"]) == 3)
    agent.invoke(None, at_b.config)
    world.show(agent)
    world.ask(agent, "d")


def copied_to_another_thread(world: World) -> None:
    agent = world.agent(InMemorySaver())
    for text in "abc":
        world.ask(agent, text)
    values = agent.get_state(CONFIG).values
    other: RunnableConfig = {"configurable": {"thread_id": "u"}}
    agent.update_state(other, values)
    agent.invoke({"messages": [HumanMessage("d", id="d")]}, other)
    world.show(agent, other)


def trimmed_by_other_middleware(world: World) -> None:
    agent = world.agent(InMemorySaver())
    for text in "abcd":
        world.ask(agent, text)
        messages = agent.get_state(CONFIG).values["messages"]
        gone = [RemoveMessage(id=m.id) for m in messages[:-2]]
        agent.update_state(CONFIG, {"messages": gone})


SCENARIOS = [
    rebuilt_per_request,
    rebuilt_over_a_file,
    archive_folder_gone,
    two_replicas_in_turn,
    thread_deleted,
    cleared,
    overwritten,
    overwritten_by_the_newest,
    removed,
    removed_in_the_run,
    edited_in_place,
    edited_and_regenerated,
    forked,
    replayed,
    copied_to_another_thread,
    trimmed_by_other_middleware,
]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THALWEG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)


def _played(
    scenario: Callable[[World], None],
    make_agent: Callable[[World, BaseCheckpointSaver[Any]], Agent],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> World:
    folder.mkdir()
    monkeypatch.chdir(folder)
    world = World(make_agent, folder)
    with world.closing:
        scenario(world)
    return world


@pytest.mark.parametrize("make_agent", [_ours, _deep])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_ours_hears_and_shows_what_plain_does(
    scenario: Callable[[World], None],
    make_agent: Callable[[World, BaseCheckpointSaver[Any]], Agent],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same words reach the model, the same messages remain in the state."""
    plain = _played(scenario, _plain, tmp_path / "plain", monkeypatch)
    ours = _played(scenario, make_agent, tmp_path / "ours", monkeypatch)

    assert ours.heard == plain.heard
    assert ours.shown == plain.shown


Stream = tuple[list[Any], list[int]]


def _streamed(agent: Agent, said: str, config: RunnableConfig = CONFIG) -> Stream:
    """Run, and return the updates and the number of messages in each of the values."""
    given = {"messages": [HumanMessage(said)]}
    updates: list[Any] = []
    lengths: list[int] = []
    for mode, part in agent.stream(given, config, stream_mode=["updates", "values"]):
        if mode == "updates":
            updates += cast("dict[str, Any]", part).values()
        else:
            lengths.append(len(cast("dict[str, Any]", part)["messages"]))
    return updates, lengths


@pytest.mark.parametrize("make_agent", [_ours, _deep])
def test_streams_are_what_langchain_documents(
    make_agent: Callable[[World, BaseCheckpointSaver[Any]], Agent], tmp_path: Path
) -> None:
    """Each update is a dict, and the values lose no message, over twelve large results."""
    world = World(make_agent, tmp_path)
    agent = world.agent(world.sqlite())
    with world.closing:
        for said in ("look 12", "and now?", "look 14"):
            updates, lengths = _streamed(agent, said)
            assert all(update is None or isinstance(update, dict) for update in updates)
            assert lengths == sorted(lengths)
        shown = agent.get_state(CONFIG).values["messages"]
    assert shown[0].content == "look 12"
    assert len(shown) == (2 + 2 * 12) + 2 + (2 + 2 * 2)


@pytest.mark.parametrize("keeps", [400, "run"])
def test_the_loop_over_updates_of_langchain_s_documentation_reads_every_step(
    keeps: KeptState, tmp_path: Path
) -> None:
    """Each step ends with a message, the last one with the answer; tokens are streamed once."""

    def streamed(middleware: Sequence[AgentMiddleware[Any, Any, Any]]) -> Any:  # noqa: ANN401
        model = World(_plain, tmp_path).model()
        agent = create_agent(model, [look], middleware=middleware, checkpointer=InMemorySaver())
        steps: list[tuple[str, str]] = []
        tokens: list[str] = []
        for said in ("look 2", "and now?"):
            given: Any = {"messages": [HumanMessage(said)]}
            for mode, chunk in agent.stream(given, CONFIG, stream_mode=["updates", "messages"]):
                if mode == "messages":
                    tokens.append(cast("tuple[BaseMessage, Any]", chunk)[0].text)
                    continue
                for step, data in cast("dict[str, Any]", chunk).items():
                    steps.append((step, data["messages"][-1].content_blocks[0]["type"]))
        return steps, tokens

    steps, tokens = streamed([ContextMiddleware(archive=tmp_path / "a.db", state=keeps)])
    plain_steps, plain_tokens = streamed([])

    end = ("ContextMiddleware.after_agent", "text")
    assert steps == [*plain_steps[:-1], end, plain_steps[-1], end]
    assert tokens == plain_tokens


@pytest.mark.parametrize(("keeps", "left"), [(4, 6), ("run", 2)])
def test_what_leaves_a_state_leaves_it_at_the_end_of_a_run_in_an_update_of_its_own(
    keeps: KeptState, left: int, tmp_path: Path
) -> None:
    """They are removed only if an archive is named; without one every message is kept."""
    named = tmp_path / "threads.db"

    def agent_with(archive: Path | None) -> Agent:
        world = World(_plain, tmp_path)
        middleware = ContextMiddleware(archive=archive, state=keeps)
        model = world.model()
        return create_agent(model, middleware=[middleware], checkpointer=InMemorySaver())

    for archive in (named, None):
        agent = agent_with(archive)
        for n in range(8):
            updates, lengths = _streamed(agent, f"question {n}")
            assert all(isinstance(update, dict) for update in updates)
            assert lengths[:-1] == sorted(lengths[:-1])
        shown = agent.get_state(CONFIG).values["messages"]
        assert len(shown) <= left if archive else len(shown) == 16
        assert shown[0].type == "human"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of LangGraph, at ag-ui-langgraph
def test_ag_ui_shows_the_whole_conversation(tmp_path: Path) -> None:
    """The messages of each snapshot, which a browser draws in place of what it had."""
    ag_ui = pytest.importorskip("ag_ui_langgraph", reason="ag-ui-langgraph is not installed")
    core = pytest.importorskip("ag_ui.core", reason="ag-ui-langgraph is not installed")

    async def snapshots(make_agent: Callable[[World, BaseCheckpointSaver[Any]], Agent]) -> Any:  # noqa: ANN401
        graph = make_agent(World(make_agent, tmp_path), saver)
        agent = ag_ui.LangGraphAgent(name="t", graph=graph)
        shown: list[int] = []
        said: list[Any] = []
        for n in range(4):
            said.append(core.UserMessage(id=f"u{n}", role="user", content=f"question {n}"))
            given = core.RunAgentInput(
                thread_id="t",
                run_id=f"r{n}",
                messages=said,
                state={},
                tools=[],
                context=[],
                forwarded_props={},
            )
            async for event in agent.run(given):
                if event.type == core.EventType.MESSAGES_SNAPSHOT:
                    said = list(event.messages)
            shown.append(len(said))
        return shown

    found = []
    for make_agent in (_plain, _ours):
        saver = InMemorySaver()
        found.append(asyncio.run(snapshots(make_agent)))
    assert found[0] == found[1] == [2, 4, 6, 8]
