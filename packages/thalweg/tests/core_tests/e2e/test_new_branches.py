"""A state without a checkpoint pointer begins a new branch, regardless of the log before it.

So a thread that was deleted in its checkpointer is removed from every later request and from
`recall`, at once and for good, and also from a run that was in progress when another began.
"""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from core_tests.e2e.scripted import calls
from thalweg import ContextMiddleware
from thalweg.archive import Archive, ThreadKey, open_archive
from thalweg.archive.threads import history
from thalweg.testing import ScriptedModel

AT: RunnableConfig = {"configurable": {"thread_id": "t"}}
KEY = ThreadKey("local", "t")
Saver = BaseCheckpointSaver[Any]
Opening = Callable[[str], AbstractAsyncContextManager[Saver]]


@asynccontextmanager
async def memory(_: str) -> AsyncIterator[Saver]:
    yield InMemorySaver()


@asynccontextmanager
async def sqlite_file(address: str) -> AsyncIterator[Saver]:
    with SqliteSaver.from_conn_string(address) as saver:
        yield saver


@asynccontextmanager
async def async_sqlite(address: str) -> AsyncIterator[Saver]:
    async with AsyncSqliteSaver.from_conn_string(address) as saver:
        yield saver


@asynccontextmanager
async def postgres(address: str) -> AsyncIterator[Saver]:
    with PostgresSaver.from_conn_string(address) as saver:
        saver.setup()
        yield saver


@asynccontextmanager
async def async_postgres(address: str) -> AsyncIterator[Saver]:
    async with AsyncPostgresSaver.from_conn_string(address) as saver:
        await saver.setup()
        yield saver


@pytest.fixture(
    params=[memory, sqlite_file, async_sqlite, postgres, async_postgres],
    ids=lambda opening: opening.__name__,
)
def opening(request: pytest.FixtureRequest) -> Opening:
    """Return a function that opens a saver."""
    found: Opening = request.param
    return found


@pytest.fixture
def address(opening: Opening, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of a fresh database for it."""
    if opening in (postgres, async_postgres):
        url: str = request.getfixturevalue("postgres_url")
        return url
    return str(tmp_path / "checkpoints.db")


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    """Keep threads in a file."""
    with open_archive(tmp_path / "thalweg.db") as opened:
        yield opened


def words(messages: Sequence[BaseMessage]) -> list[str]:
    """List the user's words of a request."""
    return [message.text for message in messages if isinstance(message, HumanMessage)]


class Failing:
    """A model's rule that fails a set number of times, and notes each request."""

    def __init__(self, fails: int = 0) -> None:
        self.fails = fails
        self.requests: list[str] = []

    def __call__(self, messages: Sequence[BaseMessage]) -> str | AIMessage:
        """Answer a request."""
        self.requests.append("\n".join(str(message.content) for message in messages))
        if self.fails:
            self.fails -= 1
            raise ConnectionError
        asked = words(messages)[-1]
        if asked == "recall it":
            if messages[-1].type != "tool":
                return calls("recall", "c1", query="quagga")
            return f"found: {messages[-1].text}"
        return "heard " + ",".join(words(messages))


async def ask(agent: Any, saver: Saver, said: str) -> str:  # noqa: ANN401 (LangGraph's)
    """Send a message, and return the answer."""
    given = {"messages": [HumanMessage(said)]}
    if isinstance(saver, InMemorySaver | SqliteSaver | PostgresSaver):
        found = agent.invoke(given, AT)
    else:
        found = await agent.ainvoke(given, AT)
    return str(found["messages"][-1].text)


async def delete(saver: Saver) -> None:
    """Delete the thread as LangGraph does."""
    if isinstance(saver, InMemorySaver | SqliteSaver | PostgresSaver):
        saver.delete_thread("t")
    else:
        await saver.adelete_thread("t")


@pytest.mark.parametrize("is_rebuilt", [True, False])
@pytest.mark.parametrize("fails", [0, 1])
def test_a_deleted_thread_is_not_sent_again(
    opening: Opening, address: str, archive: Archive, fails: int, *, is_rebuilt: bool
) -> None:
    """Deleted right after a run that ended or failed, with the same agent or another."""

    async def deleted() -> None:
        async with opening(address) as saver:
            rule = Failing()

            def rebuilt() -> Any:  # noqa: ANN401 (LangGraph's)
                context = ContextMiddleware({"window": 100_000}, archive=archive, state=1)
                model = ScriptedModel(script=rule)
                return create_agent(model, middleware=[context], checkpointer=saver)

            agent = rebuilt()
            for said in ("quagga a", "quagga b", "quagga c"):
                await ask(agent, saver, said)
            if fails:
                rule.fails = fails
                with pytest.raises(ConnectionError):
                    await ask(agent, saver, "quagga d")
            await delete(saver)
            rule.requests.clear()
            for said, expected in (
                ("new", "heard new"),
                ("later", "heard new,later"),
                ("recall it", "found: No"),
            ):
                agent = rebuilt() if is_rebuilt else agent
                assert (await ask(agent, saver, said)).startswith(expected)
            assert "quagga " not in "".join(rule.requests)

    asyncio.run(deleted())
    shown = [one.message.text for one in history(archive, KEY)]
    assert shown[:2] == ["new", "heard new"]
    assert not any(text.startswith("quagga") for text in shown)
    logged = [message.text for message in archive.messages(KEY)]
    assert logged[0] == "quagga a", "the archive has it until it is deleted there"


def test_a_run_in_progress_is_another_branch_than_one_that_began_after_the_deletion(
    archive: Archive,
) -> None:
    """Neither is sent a word of the other, in either order of logging."""
    waits, goes_on = threading.Event(), threading.Event()
    requests: list[list[str]] = []

    @tool
    def wait(turn: int) -> str:
        """Wait for the other run."""
        if turn == 0:
            waits.set()
            assert goes_on.wait(30)
        return f"result of turn {turn}"

    def rule(messages: Sequence[BaseMessage]) -> str | AIMessage:
        requests.append([str(message.content) for message in messages])
        asked = words(messages)[-1]
        done = sum(message.type == "tool" for message in messages)
        if asked == "old":
            return calls("wait", f"old{done}", turn=done) if done < 3 else "old answer"
        if asked == "new" and done == 0:
            goes_on.set()
            old.join(30)
            return calls("wait", "new0", turn=7)
        return "heard " + ",".join(words(messages))

    saver = InMemorySaver()

    def agent() -> Any:  # noqa: ANN401 (LangGraph's)
        context = ContextMiddleware({"window": 100_000}, archive=archive)
        model = ScriptedModel(script=rule)
        return create_agent(model, [wait], middleware=[context], checkpointer=saver)

    given = {"messages": [HumanMessage("old")]}
    old = threading.Thread(target=agent().invoke, args=(given, AT))
    old.start()
    assert waits.wait(30)
    saver.delete_thread("t")
    agent().invoke({"messages": [HumanMessage("new")]}, AT)

    assert requests
    for request in requests:
        assert not {"old", "new"} <= set(request)
        assert not ("result of turn 7" in request and "result of turn 0" in request)


class ReadTogether(InMemorySaver):
    """Two threads read the state before either proceeds to write one."""

    def __init__(self) -> None:
        super().__init__()
        self._both = threading.Barrier(2)
        self._readers: set[int] = set()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `BaseCheckpointSaver`."""
        found = super().get_tuple(config)
        reader = threading.get_ident()
        if reader not in self._readers and len(self._readers) < 2:
            self._readers.add(reader)
            self._both.wait(30)
        return found


def test_two_runs_that_begin_a_thread_at_once_have_a_branch_each(archive: Archive) -> None:
    """As in the state, where the checkpoint of the last one counts; the log has both."""
    both = threading.Barrier(2)
    requests: list[list[str]] = []

    def rule(messages: Sequence[BaseMessage]) -> str:
        requests.append([str(message.content) for message in messages])
        if len(messages) == 1:
            both.wait(30)
        return f"answer to {messages[-1].text}"

    saver = ReadTogether()
    context = ContextMiddleware({"window": 100_000}, archive=archive)
    agent: Any = create_agent(ScriptedModel(script=rule), middleware=[context], checkpointer=saver)
    runs = [
        threading.Thread(target=agent.invoke, args=({"messages": [HumanMessage(said)]}, AT))
        for said in ("left", "right")
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    state = [message.text for message in agent.get_state(AT).values["messages"]]
    agent.invoke({"messages": [HumanMessage("next")]}, AT)

    assert sorted(requests[:2]) == [["left"], ["right"]]
    assert requests[2] == [*state, "next"]
    logged = {message.text for message in archive.messages(KEY)}
    assert logged >= {"left", "right", "answer to left", "answer to right"}


def test_a_run_that_failed_before_its_state_had_a_pointer_is_continued(archive: Archive) -> None:
    """The log has its message already: once, and in the branch."""
    rule = Failing(fails=2)
    saver = InMemorySaver()

    def agent() -> Any:  # noqa: ANN401 (LangGraph's)
        context = ContextMiddleware({"window": 100_000}, archive=archive)
        return create_agent(ScriptedModel(script=rule), middleware=[context], checkpointer=saver)

    with pytest.raises(ConnectionError):
        agent().invoke({"messages": [HumanMessage("first")]}, AT)
    with pytest.raises(ConnectionError):
        agent().invoke(None, AT)
    agent().invoke({"messages": [HumanMessage("second")]}, AT)

    logged = [message.text for message in archive.messages(KEY)]
    assert logged == ["first", "second", "heard first,second"]
    assert [one.message.text for one in history(archive, KEY)] == logged


def test_a_first_message_that_is_edited_and_sent_again_begins_a_branch(tmp_path: Path) -> None:
    """The run starts from the checkpoint before the first answer."""
    rule = Failing()
    with open_archive(tmp_path / "thalweg.db") as archive:
        connection = sqlite3.connect(tmp_path / "state.db", check_same_thread=False)
        context = ContextMiddleware({"window": 100_000}, archive=archive)
        agent: Any = create_agent(
            ScriptedModel(script=rule), middleware=[context], checkpointer=SqliteSaver(connection)
        )
        for said in ("first", "second"):
            agent.invoke({"messages": [HumanMessage(said)]}, AT)
        (*_, before) = agent.get_state_history(AT)
        agent.invoke({"messages": [HumanMessage("edited")]}, before.config)
        agent.invoke({"messages": [HumanMessage("then")]}, AT)
        connection.close()
        assert [one.message.text for one in history(archive, KEY)] == [
            "edited",
            "heard edited",
            "then",
            "heard edited,then",
        ]
