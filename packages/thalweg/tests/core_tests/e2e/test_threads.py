"""Threads of real agents: LangGraph checkpoints, rewinds, interrupts, streams and failures."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, StreamMode

from core_tests.e2e.scripted import Agent, RuledModel, StreamingModel, agent_with, calls, says
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.archive.threads.journal import read_page
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.turn.threads import read_pointer_turn
from thalweg.engine import ContextPolicy, Pricing
from thalweg.engine.entries import Message
from thalweg.errors import LostThreadError

Saver = BaseCheckpointSaver[Any]


@pytest.fixture(params=["memory", "sqlite"])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Saver]:
    """Keep checkpoints in memory and in a file."""
    if request.param == "memory":
        yield InMemorySaver()
        return
    connection = sqlite3.connect(tmp_path / "checkpoints.db", check_same_thread=False)
    yield SqliteSaver(connection)
    connection.close()


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """Keep threads in a file."""
    with open_archive(tmp_path / "thalweg.db") as opened:
        yield opened


def at(thread: str = "t") -> RunnableConfig:
    """Name a thread."""
    return {"configurable": {"thread_id": thread}}


def key(thread: str = "t") -> ThreadKey:
    """Name it to the archive."""
    return ThreadKey("local", thread)


def user(text: str) -> dict[str, Any]:
    """Make a user's message."""
    return {"messages": [HumanMessage(text)]}


def line_of(archive: Archive, agent: Agent, thread: str = "t") -> list[str]:
    """Read the messages of a thread, as its newest checkpoint and the archive have it."""
    marked = agent.get_state(at(thread)).values["thalweg_turn"]
    mark = read_pointer_turn(marked, key(thread), archive.identity)
    assert mark is not None
    log = archive.messages(key(thread))
    return [_said(log[position]) for position in read_page(archive, key(thread), mark).line]


def _said(message: Message) -> str:
    return message.text or "+".join(f"{call.name}!" for call in message.calls)


def texts(messages: list[BaseMessage]) -> list[str]:
    """List the texts of messages."""
    return [message.text for message in messages]


def lookup(n: int = 1) -> str:
    """Look something up."""
    return f"found {n}"


def test_a_thread_that_began_without_the_middleware_is_picked_up(
    archive: Archive, saver: Saver
) -> None:
    """The whole conversation is logged with the first call."""
    model = RuledModel(rule=says("one", "two", "three"))
    agent_with(model, None, checkpointer=saver).invoke(user("first"), at())

    agent = agent_with(model, ContextMiddleware(archive=archive), checkpointer=saver)
    agent.invoke(user("second"), at())
    agent.invoke(user("third"), at())

    assert line_of(archive, agent) == ["first", "one", "second", "two", "third", "three"]
    assert texts(model.requests[-1]) == ["first", "one", "second", "two", "third"]
    assert texts(agent.get_state(at()).values["messages"]) == line_of(archive, agent)


def test_a_message_removed_from_the_state_leaves_the_thread(archive: Archive, saver: Saver) -> None:
    """The log keeps it."""
    model = RuledModel(rule=says("one", "a secret", "three"))
    agent = agent_with(model, ContextMiddleware(archive=archive), checkpointer=saver)
    agent.invoke(user("first"), at())
    agent.invoke(user("second"), at())
    last = agent.get_state(at()).values["messages"][-1]
    agent.update_state(at(), {"messages": [RemoveMessage(id=last.id)]})
    agent.invoke(user("third"), at())

    assert line_of(archive, agent) == ["first", "one", "second", "third", "three"]
    assert "a secret" not in texts(model.requests[-1])
    assert "a secret" in [message.text for message in archive.messages(key())]


def places(agent: Agent) -> dict[str, RunnableConfig]:
    """Find the checkpoints by the message they end with, the newest of each."""
    found: dict[str, RunnableConfig] = {}
    for snapshot in agent.get_state_history(at()):
        messages = snapshot.values.get("messages") or [None]
        if messages[-1] is not None and not snapshot.next:
            found.setdefault(messages[-1].text, snapshot.config)
    return found


def test_a_thread_goes_on_from_an_older_checkpoint(archive: Archive, saver: Saver) -> None:
    """What came after it is dropped, at once and for good."""
    model = RuledModel(rule=says("one", "two", "three", "other two", "other three"))
    agent = agent_with(model, ContextMiddleware(archive=archive), checkpointer=saver)
    for text in ("first", "second", "third"):
        agent.invoke(user(text), at())
    agent.invoke(user("other second"), places(agent)["one"])
    agent.invoke(user("other third"), at())

    assert texts(model.requests[3]) == ["first", "one", "other second"]
    assert line_of(archive, agent) == [
        "first",
        "one",
        "other second",
        "other two",
        "other third",
        "other three",
    ]


def test_a_thread_is_forked_by_writing_to_an_older_checkpoint(
    archive: Archive, saver: Saver
) -> None:
    """Right after the last run, and without naming the checkpoint again."""
    model = RuledModel(rule=says("one", "two", "three", "other two"))
    agent = agent_with(model, ContextMiddleware(archive=archive), checkpointer=saver)
    for text in ("first", "second", "third"):
        agent.invoke(user(text), at())
    agent.update_state(places(agent)["one"], {"messages": [HumanMessage("by hand")]})
    agent.invoke(user("other second"), at())

    assert line_of(archive, agent) == ["first", "one", "by hand", "other second", "other two"]


def test_the_last_answer_is_made_again(archive: Archive, saver: Saver) -> None:
    """From the checkpoint before it, as a chat's button does."""
    model = RuledModel(rule=says("one", "two", "better two", "three"))
    agent = agent_with(model, ContextMiddleware(archive=archive), checkpointer=saver)
    agent.invoke(user("first"), at())
    agent.invoke(user("second"), at())
    before = next(s for s in agent.get_state_history(at()) if s.next == ("model",))
    agent.invoke(None, before.config)
    agent.invoke(user("third"), at())

    assert line_of(archive, agent) == ["first", "one", "second", "better two", "third", "three"]


def test_a_tool_call_is_edited_by_a_person_before_it_runs(archive: Archive, saver: Saver) -> None:
    """The call is kept as the model wrote it; its result states what ran instead."""
    model = RuledModel(rule=says(calls("lookup", "c1", n=1), "done", "three"))
    review = HumanInTheLoopMiddleware(interrupt_on={"lookup": True})
    agent = agent_with(
        model,
        ContextMiddleware(archive=archive),
        review,
        tools=[StructuredTool.from_function(lookup)],
        checkpointer=saver,
    )
    agent.invoke(user("first"), at())
    assert agent.get_state(at()).next
    edited = {"type": "edit", "edited_action": {"name": "lookup", "args": {"n": 7}}}
    agent.invoke(Command(resume={"decisions": [edited]}), at())
    agent.invoke(user("second"), at())

    first, call, result, *rest = line_of(archive, agent)
    assert [first, call, *rest] == ["first", "lookup!", "done", "second", "three"]
    assert result.endswith("found 7")
    assert model.problems == []


def test_an_interrupted_run_is_left_for_an_older_checkpoint(archive: Archive, saver: Saver) -> None:
    """A call that no one approved is not in the new branch."""
    model = RuledModel(
        rule=says("one", calls("lookup", "c1"), "asked", calls("lookup", "c2"), "other")
    )
    review = HumanInTheLoopMiddleware(interrupt_on={"lookup": True})
    agent = agent_with(
        model,
        ContextMiddleware(archive=archive),
        review,
        tools=[StructuredTool.from_function(lookup)],
        checkpointer=saver,
    )
    agent.invoke(user("first"), at())
    agent.invoke(user("second"), at())
    agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), at())
    agent.invoke(user("third"), at())
    agent.update_state(places(agent)["one"], {"messages": [HumanMessage("by hand")]})
    agent.invoke(user("fourth"), at())

    assert line_of(archive, agent) == ["first", "one", "by hand", "fourth", "other"]


def test_a_run_goes_on_where_a_tool_failed(archive: Archive, saver: Saver) -> None:
    """The run was asked again, and the tool too."""
    failing = [True]

    def flaky() -> str:
        """Fail once."""
        if failing.pop() if failing else False:
            problem = "no"
            raise RuntimeError(problem)
        return "worked"

    model = RuledModel(rule=says(calls("flaky", "c1"), "done"))
    agent = agent_with(
        model,
        ContextMiddleware(archive=archive),
        tools=[StructuredTool.from_function(flaky)],
        checkpointer=saver,
    )
    with pytest.raises(RuntimeError):
        agent.invoke(user("first"), at())
    agent.invoke(None, at())

    assert line_of(archive, agent) == ["first", "flaky!", "worked", "done"]


def test_a_user_goes_on_although_a_tool_failed(archive: Archive, saver: Saver) -> None:
    """The call that has no result gets a placeholder in the request, and none in the log."""

    def broken() -> str:
        """Fail."""
        problem = "no"
        raise RuntimeError(problem)

    model = RuledModel(rule=says(calls("broken", "c1"), "well"))
    agent = agent_with(
        model,
        ContextMiddleware(archive=archive),
        tools=[StructuredTool.from_function(broken)],
        checkpointer=saver,
    )
    with pytest.raises(RuntimeError):
        agent.invoke(user("first"), at())
    agent.invoke(user("second"), at())

    assert line_of(archive, agent) == ["first", "broken!", "second", "well"]
    assert model.problems == []


@pytest.mark.parametrize("again", ["ask again", None])
def test_a_model_that_failed_is_asked_again(
    archive: Archive, saver: Saver, again: str | None
) -> None:
    """The messages from before it failed are in the thread once."""
    model = RuledModel(rule=says("one", RuntimeError("overloaded"), "two"))
    agent = agent_with(model, ContextMiddleware(archive=archive), checkpointer=saver)
    agent.invoke(user("first"), at())
    with pytest.raises(RuntimeError):
        agent.invoke(user("second"), at())
    agent.invoke(user(again) if again else None, at())

    asked = [again] if again else []
    assert line_of(archive, agent) == ["first", "one", "second", *asked, "two"]
    assert len(archive.messages(key())) == 4 + len(asked)


def test_a_run_that_failed_after_a_rewind_is_still_rewound(archive: Archive, saver: Saver) -> None:
    """What the rewind dropped does not come back with the next attempt."""
    model = RuledModel(rule=says("one", "two", RuntimeError("overloaded"), "three"))
    agent = agent_with(model, ContextMiddleware(archive=archive), checkpointer=saver)
    agent.invoke(user("first"), at())
    agent.invoke(user("second"), at())
    with pytest.raises(RuntimeError):
        agent.invoke(user("other"), places(agent)["one"])
    agent.invoke(user("again"), at())

    assert line_of(archive, agent) == ["first", "one", "other", "again", "three"]


@pytest.mark.parametrize("where", ["model", "tool"])
def test_a_cancelled_run_is_gone_on_from(archive: Archive, where: str) -> None:
    """Whether it waited for the model or for a tool."""
    begun = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.sleep(60 if where == "tool" else 0)
        return "waited"

    class Slow(RuledModel):
        async def _agenerate(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401
            if where == "model" and not begun.is_set():
                begun.set()
                await asyncio.sleep(60)
            return await super()._agenerate(*given, **named)

    model = Slow(rule=says(*([calls("wait", "c1")] if where == "tool" else []), "done"))
    agent = agent_with(
        model,
        ContextMiddleware(archive=archive),
        tools=[StructuredTool.from_function(coroutine=wait, name="wait", description="Wait.")],
        checkpointer=InMemorySaver(),
    )

    async def cancel_and_go_on() -> None:
        run = asyncio.create_task(agent.ainvoke(user("first"), at()))
        await begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await agent.ainvoke(user("second"), at())

    asyncio.run(cancel_and_go_on())

    called = ["wait!"] if where == "tool" else []
    assert line_of(archive, agent) == ["first", *called, "second", "done"]
    assert model.problems == []


def test_messages_that_are_passed_on_by_hand_are_one_thread(archive: Archive) -> None:
    """It has no name: its first message identifies it, and nothing is removed from the state."""
    model = RuledModel(rule=says("one", "two", "three"))
    agent = agent_with(model, ContextMiddleware(archive=archive))
    messages: list[BaseMessage] = []
    for text in ("first", "second", "third"):
        messages = agent.invoke({"messages": [*messages, HumanMessage(text)]})["messages"]

    (thread,) = archive.threads("local")
    said = [m.text for m in archive.messages(ThreadKey("local", thread))]
    assert said == texts(messages) == ["first", "one", "second", "two", "third", "three"]


def test_a_named_thread_without_checkpoints_gives_all_messages_back(archive: Archive) -> None:
    """No one else could return them."""
    model = RuledModel(rule=says("one", "two", "three"))
    agent = agent_with(model, ContextMiddleware(archive=archive, state=1))
    messages: list[BaseMessage] = []
    for text in ("first", "second", "third"):
        messages = agent.invoke({"messages": [*messages, HumanMessage(text)]}, at())["messages"]

    assert texts(messages) == ["first", "one", "second", "two", "third", "three"]
    assert texts(model.requests[-1]) == texts(messages)[:-1]
    assert [m.text for m in archive.messages(key())] == texts(messages)


MODES: list[StreamMode] = ["messages", "updates", "values", "custom"]
PRICED = ContextPolicy(pricing=Pricing(tariff="anthropic"))
FOLDS = ContextPolicy(background=False, window=4_000, trigger=("tokens", 400), keep=("tokens", 100))


def test_decisions_are_seen_in_the_custom_stream_alone(archive: Archive, saver: Saver) -> None:
    """The tokens of the answer are the only ones streamed."""
    model = StreamingModel(rule=says(*(f"answer {n} " + "and more " * 60 for n in range(12))))
    agent = agent_with(
        model, ContextMiddleware(FOLDS, archive=archive, summarizer=model), checkpointer=saver
    )
    seen: dict[str, list[Any]] = {"messages": [], "updates": [], "values": [], "custom": []}
    for n in range(8):
        for mode, piece in agent.stream(user(f"question {n}"), at(), stream_mode=MODES):
            seen[str(mode)].append(piece)

    assert any(event["type"] == "thalweg.context" for event in seen["custom"])
    answers = [message.text for message in archive.messages(key()) if message.role == "assistant"]
    chunks = [chunk for chunk, _ in seen["messages"] if isinstance(chunk, AIMessage)]
    assert "".join(chunk.text for chunk in chunks) == "".join(answers).replace(" ", "")
    assert len(answers) == 8


def test_a_subagent_has_a_thread_of_its_own(archive: Archive, saver: Saver) -> None:
    """Its words are not its parent's."""
    inner_model = RuledModel(rule=says("inner answer"))
    context = ContextMiddleware(archive=archive)
    inner = agent_with(inner_model, context)

    def delegate(task: str) -> str:
        """Delegate a task."""
        return str(inner.invoke(user(task))["messages"][-1].text)

    model = RuledModel(rule=says(calls("delegate", "c1", task="inner task"), "outer answer"))
    agent = agent_with(
        model, context, tools=[StructuredTool.from_function(delegate)], checkpointer=saver
    )
    agent.invoke(user("first"), at())

    assert line_of(archive, agent) == ["first", "delegate!", "inner answer", "outer answer"]
    own, other = sorted(archive.threads("local"), key=len)
    assert own == "t"
    assert other.startswith("t/")
    inside = [m.text for m in archive.messages(ThreadKey("local", other))]
    assert inside == ["inner task", "inner answer"]


def test_two_threads_run_at_once_in_one_process(archive: Archive, saver: Saver) -> None:
    """Neither sees the other's words."""

    def echo(messages: Any) -> AIMessage:  # noqa: ANN401
        return AIMessage(f"heard {messages[-1].text}")

    model = RuledModel(rule=echo)
    agent = agent_with(model, ContextMiddleware(archive=archive), checkpointer=saver)

    def talk(thread: str) -> None:
        for n in range(10):
            agent.invoke(user(f"{thread} {n}"), at(thread))

    talkers = [threading.Thread(target=talk, args=(thread,)) for thread in ("left", "right")]
    for talker in talkers:
        talker.start()
    for talker in talkers:
        talker.join()

    for thread in ("left", "right"):
        said = [text for n in range(10) for text in (f"{thread} {n}", f"heard {thread} {n}")]
        assert line_of(archive, agent, thread) == said


def test_an_archive_that_was_deleted_goes_on_with_the_whole_state(
    archive: Archive, saver: Saver
) -> None:
    """Nothing had been removed from the state: nothing is missing."""
    model = RuledModel(rule=says("one", "two", "three", "four"))
    agent = agent_with(model, ContextMiddleware(PRICED, archive=archive), checkpointer=saver)
    agent.invoke(user("first"), at())
    agent.invoke(user("second"), at())
    archive.delete(key())
    agent = agent_with(model, ContextMiddleware(PRICED, archive=archive), checkpointer=saver)
    agent.invoke(user("third"), at())
    agent.invoke(user("fourth"), at())

    whole = ["first", "one", "second", "two", "third", "three", "fourth", "four"]
    assert line_of(archive, agent) == whole


def test_a_state_whose_older_messages_are_lost_is_an_error_that_says_what_to_do(
    tmp_path: Path, saver: Saver
) -> None:
    """No shorter thread is sent in silence; a person may decide for it."""
    model = RuledModel(rule=says("one", "two", "three", "four"))
    with open_archive(tmp_path / "thalweg.db") as archive:
        run_only = ContextMiddleware(PRICED, archive=archive, state="run")
        agent = agent_with(model, run_only, checkpointer=saver)
        agent.invoke(user("first"), at())
        agent.invoke(user("second"), at())
        assert texts(agent.get_state(at()).values["messages"]) == ["second", "two"]
        archive.delete(key())

        agent = agent_with(model, ContextMiddleware(PRICED, archive=archive), checkpointer=saver)
        with pytest.raises(
            LostThreadError, match="2 older messages are in another archive"
        ) as error:
            agent.invoke(user("third"), at())
        assert "update_state(config, {" in str(error.value)
        assert len(model.requests) == 2

        agent.update_state(at(), {"thalweg_turn": ""}, as_node="model")
        agent.invoke(user("fourth"), at())
        assert texts(model.requests[-1]) == ["second", "two", "third", "fourth"]


def test_sync_and_async_are_twins(tmp_path: Path) -> None:
    """The same run writes the same log and the same journal."""
    found = []
    for name in ("sync", "async"):
        model = RuledModel(
            rule=says(calls("lookup", "c1"), *(f"{n} " + "and more " * 90 for n in range(9)))
        )
        with open_archive(tmp_path / f"{name}.db", secret=b"x") as archive:
            agent = agent_with(
                model,
                ContextMiddleware(FOLDS, archive=archive),
                tools=[StructuredTool.from_function(lookup)],
                checkpointer=InMemorySaver(),
            )
            for n in range(6):
                said = {"messages": [HumanMessage(f"question {n}", id=f"u{n}")]}
                if name == "sync":
                    agent.invoke(said, at())
                else:
                    asyncio.run(agent.ainvoke(said, at()))
            pages = [read_page(archive, key(), n) for n in range(len(archive.turns(key())))]
            found.append(
                (
                    [(m.role, m.parts, m.answers) for m in archive.messages(key())],
                    [(p.kind, p.parent, p.base, p.line, p.held, p.edits) for p in pages],
                    [[(type(m), m.content) for m in request] for request in model.requests],
                )
            )
    assert found[0] == found[1]
