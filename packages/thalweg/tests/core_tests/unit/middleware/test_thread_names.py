"""Whose thread a run continues: by name, by owner, and by what it is handed."""

import copy
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

from core_tests.archives import archive_in_memory
from core_tests.e2e.scripted import RuledModel, agent_with, says
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.turn.threads import read_pointer_turn, thread_name, write_pointer
from thalweg.engine.settings import ContextPolicy


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """Keep threads in a file."""
    with open_archive(tmp_path / "thalweg.db") as opened:
        yield opened


def answering() -> RuledModel:
    """Make a model that counts its answers."""
    return RuledModel(rule=says(*(f"answer {n}" for n in range(40))))


def at(thread: object, **more: object) -> RunnableConfig:
    """Name a thread."""
    return {"configurable": {"thread_id": thread, **more}}


def asked(model: RuledModel, call: int = -1) -> list[str]:
    """List what a model was sent."""
    return [message.text for message in model.requests[call]]


@pytest.mark.parametrize("trigger", [None, ("messages", 6)])
def test_a_caller_may_send_its_whole_history_every_time(
    archive: Archive, trigger: tuple[str, int] | None
) -> None:
    """As many chat windows do: nothing is there twice, and the state remains small."""
    plain, whole = answering(), answering()
    policy = ContextPolicy(trigger=trigger, keep=("messages", 2), summarize=False)  # type: ignore[arg-type]
    news = ContextMiddleware(policy, archive=archive_in_memory())
    one = agent_with(plain, news, checkpointer=InMemorySaver())
    kept = ContextMiddleware(policy, archive=archive, state="run")
    other = agent_with(whole, kept, checkpointer=InMemorySaver())
    history: list[AnyMessage] = []
    for n in range(8):
        question = HumanMessage(f"question {n} {'of many words ' * 300}", id=f"h{n}")
        one.invoke({"messages": [question]}, at("t"))
        history.append(question)
        answer = other.invoke({"messages": history}, at("t"))["messages"]
        history.append(answer[-1])
        assert [message.text for message in answer] == [question.text, f"answer {n}"]

    log = [message.text for message in archive.messages(ThreadKey("local", "t"))]
    assert log == [m.text for m in history]
    said = [[m.text for m in r if "thread-record" not in m.text] for r in plain.requests]
    assert [[m.text for m in r if "thread-record" not in m.text] for r in whole.requests] == said
    assert (len(said[-1]) < len(log) - 1) == (trigger is not None)


def test_runs_that_nobody_named_do_not_meet_by_the_id_of_a_message(archive: Archive) -> None:
    """The words distinguish them, and no name that a caller passes leads there."""
    model = answering()
    agent = agent_with(model, ContextMiddleware(archive=archive))
    agent.invoke({"messages": [HumanMessage("Ann: my salary is 90210", id="1")]})
    agent.invoke({"messages": [HumanMessage("Bob: hello", id="1")]})
    agent.invoke({"messages": []})
    agent.invoke({"messages": []})

    assert asked(model, 1) == ["Bob: hello"]
    names = archive.threads("local")
    assert [archive.length(ThreadKey("local", name)) for name in names[:2]] == [2, 2]
    for name in names:
        agent.invoke({"messages": [HumanMessage("let me in")]}, at(name))
        assert asked(model) == ["let me in"]


def test_zero_is_the_name_of_a_thread(archive: Archive) -> None:
    """Like any other number."""
    model = answering()
    agent = agent_with(model, ContextMiddleware(archive=archive), checkpointer=InMemorySaver())
    for text in ("one", "two"):
        agent.invoke({"messages": [HumanMessage(text)]}, at(0))

    assert archive.threads("local") == ["0"]
    assert asked(model) == ["one", "answer 0", "two"]


def test_no_thread_id_names_the_thread_of_a_subagent() -> None:
    """Regardless of its content."""
    state: dict[str, Any] = {"messages": [HumanMessage("hi", id="1")]}
    inside = [
        thread_name(at("t", checkpoint_ns="tools:1-2|model:3"), state),
        thread_name(at("t", checkpoint_ns="agent|model:3"), state),
        thread_name(at("t", checkpoint_ns="agent:1-2|model:3"), state),
        thread_name({}, state),
    ]
    spelled = [thread_name(at(name), state) for name in inside]
    plain = [thread_name(at(f"t/{name}"), state) for name in ("agent", "~~/agent", "~")]

    assert len({*inside, *spelled, *plain}) == len([*inside, *spelled, *plain])
    assert thread_name(at("user/42"), state) == "user/42"


def test_another_owner_does_not_go_on_with_a_thread(
    archive: Archive, caplog: pytest.LogCaptureFixture
) -> None:
    """A state that another owner wrote contributes what it holds itself, and a warning."""
    model = answering()
    middleware = ContextMiddleware(
        {"pricing": {"tariff": "anthropic"}},
        archive=archive,
        owner=lambda config: str(config["configurable"]["user"]),
    )
    agent = agent_with(model, middleware, checkpointer=InMemorySaver())
    for n in range(4):
        agent.invoke({"messages": [HumanMessage(f"ann {n}")]}, at("t", user="ann"))
    with caplog.at_level(logging.WARNING, "thalweg.threads"):
        agent.invoke({"messages": [HumanMessage("bob")]}, at("t", user="bob"))
        assert _warnings(caplog) == 1
        agent.invoke({"messages": [HumanMessage("bob again")]}, at("t", user="bob"))

    assert _warnings(caplog) == 1
    before = [words for n in range(4) for words in (f"ann {n}", f"answer {n}")]
    assert asked(model, 4) == [*before, "bob"]
    assert asked(model, 5) == [*before, "bob", "answer 4", "bob again"]


def test_a_copied_checkpoint_does_not_name_a_turn_of_the_copy(
    archive: Archive, caplog: pytest.LogCaptureFixture
) -> None:
    """Even where the copy's own journal has a turn of that number."""
    model = answering()
    saver = InMemorySaver()
    agent = agent_with(model, ContextMiddleware(archive=archive), checkpointer=saver)
    for n in range(3):
        for thread in ("t", "copy"):
            agent.invoke({"messages": [HumanMessage(f"{thread} {n}")]}, at(thread))
    saver.storage["copy"] = copy.deepcopy(saver.storage["t"])
    for (thread, *rest), value in list(saver.blobs.items()):
        if thread == "t":
            saver.blobs["copy", *rest] = value  # type: ignore[index]
    with caplog.at_level(logging.WARNING, "thalweg.threads"):
        agent.invoke({"messages": [HumanMessage("go on")]}, at("copy"))

    said = ["t 0", "answer 0", "t 1", "answer 2", "t 2", "answer 4"]
    assert asked(model) == [*said, "go on"]
    assert "belongs to another thread" in caplog.text


def test_a_mark_is_read_by_its_own_thread_alone() -> None:
    """And what is no mark is none."""
    key = ThreadKey("ada", "t")
    mark = write_pointer(key, 7)
    assert read_pointer_turn(mark, key) == 7
    others = [ThreadKey("ada", "u"), ThreadKey("bob", "t"), ThreadKey("adat", "")]
    assert [read_pointer_turn(mark, other) for other in others] == [None] * 3
    assert [read_pointer_turn(odd, key) for odd in (7, None, "", f"{mark}x", "7")] == [None] * 5


def test_an_agent_that_is_a_node_goes_on_with_its_thread(archive: Archive) -> None:
    """Its graph hands it all messages with every run: none is logged again, folds hold."""
    model = answering()
    policy = ContextPolicy(trigger=("messages", 6), keep=("messages", 2), summarize=False)
    agent = agent_with(model, ContextMiddleware(policy, archive=archive))
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_edge(START, "agent")
    parent = graph.compile(checkpointer=InMemorySaver())
    for n in range(9):
        question = f"question {n} {'of many words ' * 300}"
        out = parent.invoke({"messages": [HumanMessage(question)]}, at("t"))

    (name,) = archive.threads("local")
    assert archive.length(ThreadKey("local", name)) == len(out["messages"]) == 18
    assert len(model.requests[-1]) < 8
    assert asked(model)[-1].startswith("question 8")


def test_nodes_that_run_at_once_keep_apart(archive: Archive) -> None:
    """Though they are one node, handed the same first message."""
    model = RuledModel(rule=lambda messages: AIMessage(f"did {messages[-1].text}"))
    agent = agent_with(model, ContextMiddleware(archive=archive))
    graph = StateGraph(MessagesState)
    graph.add_node("worker", agent)
    graph.add_conditional_edges(
        START,
        lambda state: [
            Send("worker", {"messages": [*state["messages"], HumanMessage(f"task {n}")]})
            for n in range(4)
        ],
        ["worker"],
    )
    parent = graph.compile(checkpointer=InMemorySaver())
    parent.invoke({"messages": [HumanMessage("plan", id="p")]}, at("t"))

    sent = sorted(asked(model, n) for n in range(4))
    assert sent == [["plan", f"task {n}"] for n in range(4)]


def _warnings(caplog: pytest.LogCaptureFixture) -> int:
    """Count what was logged of threads; an assumed window is logged, too."""
    return [record.name for record in caplog.records].count("thalweg.threads")
