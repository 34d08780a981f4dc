"""Where no archive is named, it is in the database of the checkpointer, and lives and dies with it.

Each kind of saver that LangGraph has for SQLite and PostgreSQL, made as its documentation does.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiosqlite
import psycopg
import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from tests.postgres import as_role
from thalweg import ContextMiddleware
from thalweg.archive import Logged, ThreadKey, TurnRow, open_archive
from thalweg.archive.blobs import unpack
from thalweg.archive.sqlite import SqliteArchive
from thalweg.archive.threads.journal import TurnRecord, page_to_json
from thalweg.engine.entries import Message, Text
from thalweg.middleware.arguments import KeptState
from thalweg.middleware.turn import session_pool
from thalweg.middleware.turn.deleted_threads import CHECKPOINTS, erase_deleted
from thalweg.middleware.turn.thread_names import INSIDE
from thalweg.testing.model import ScriptedModel

AT: RunnableConfig = {"configurable": {"thread_id": "t"}}
KEY = ThreadKey("local", "t")
MARKER = "quagga 4711"
HOME = Path(".thalweg")
SETTINGS: dict[str, Any] = {"autocommit": True, "row_factory": dict_row, "prepare_threshold": 0}
Saver = BaseCheckpointSaver[Any]
Opening = Callable[[str], AbstractAsyncContextManager[Saver]]


@asynccontextmanager
async def sqlite_file(address: str) -> AsyncIterator[Saver]:
    with SqliteSaver.from_conn_string(address) as saver:
        yield saver


@asynccontextmanager
async def sqlite_connection(address: str) -> AsyncIterator[Saver]:
    connection = sqlite3.connect(address, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    yield SqliteSaver(connection)
    connection.close()


@asynccontextmanager
async def async_sqlite(address: str) -> AsyncIterator[Saver]:
    async with aiosqlite.connect(address) as connection:
        yield AsyncSqliteSaver(connection)


@asynccontextmanager
async def postgres(address: str) -> AsyncIterator[Saver]:
    with PostgresSaver.from_conn_string(address) as saver:
        saver.setup()
        yield saver


@asynccontextmanager
async def postgres_pool(address: str) -> AsyncIterator[Saver]:
    made: Any = ConnectionPool(address, kwargs=SETTINGS, min_size=1, max_size=1)
    with made as pool:
        saver = PostgresSaver(pool)
        saver.setup()
        yield saver


@asynccontextmanager
async def async_postgres(address: str) -> AsyncIterator[Saver]:
    async with AsyncPostgresSaver.from_conn_string(address) as saver:
        await saver.setup()
        yield saver


@asynccontextmanager
async def async_postgres_pool(address: str) -> AsyncIterator[Saver]:
    pool: Any = AsyncConnectionPool(address, kwargs=SETTINGS, min_size=1, max_size=1, open=False)
    async with pool:
        saver = AsyncPostgresSaver(pool)
        await saver.setup()
        yield saver


OF_FILES: list[Opening] = [sqlite_file, sqlite_connection, async_sqlite]
OF_SERVERS: list[Opening] = [postgres, postgres_pool, async_postgres, async_postgres_pool]


@pytest.fixture(params=[*OF_FILES, *OF_SERVERS], ids=lambda opening: opening.__name__)
def opening(request: pytest.FixtureRequest) -> Opening:
    """Give the way to make a saver."""
    found: Opening = request.param
    return found


@pytest.fixture
def address(
    opening: Opening,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> str:
    """Give a fresh database for it, and no other place for an archive."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("THALWEG_HOME", raising=False)
    if opening in OF_FILES:
        return str(tmp_path / "checkpoints.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


def heard_model(heard: list[list[str]]) -> ScriptedModel:
    """Make a model that notes what the user's words are in each request."""

    def script(messages: Sequence[BaseMessage]) -> str:
        heard.append([str(m.content) for m in messages if isinstance(m, HumanMessage)])
        return f"heard {len(heard[-1])}"

    return ScriptedModel(script=script)


async def ask(
    saver: Saver, *said: str, state: KeptState = 2, thread: str = "t"
) -> tuple[list[str], int]:
    """Make an agent, and say things; give what the model heard last, and the state's length."""
    at: RunnableConfig = {"configurable": {"thread_id": thread}}
    heard: list[list[str]] = []
    with ContextMiddleware({"window": 100_000}, state=state) as context:
        agent: Any = create_agent(heard_model(heard), middleware=[context], checkpointer=saver)
        for text in said:
            await asyncio.sleep(0)
            given = {"messages": [HumanMessage(text, id=f"id-{text}")]}
            if isinstance(saver, SqliteSaver | PostgresSaver):
                agent.invoke(given, at)
            else:
                await agent.ainvoke(given, at)
        values = (
            agent.get_state(at)
            if isinstance(saver, SqliteSaver | PostgresSaver)
            else await agent.aget_state(at)
        ).values
    return heard[-1], len(values["messages"])


async def delete_thread(saver: Saver) -> None:
    """Delete a thread as LangGraph does."""
    if isinstance(saver, SqliteSaver | PostgresSaver):
        saver.delete_thread("t")
    else:
        await saver.adelete_thread("t")


def test_messages_leave_the_state_for_the_savers_own_database(
    opening: Opening, address: str
) -> None:
    """And are in the thread after a restart: saver, agent and archive are opened again."""

    async def restarted() -> None:
        asked: list[str] = []
        for said in (("a", "b", "c"), ("d",), ("e", "f")):
            asked += said
            async with opening(address) as saver:
                heard, kept = await ask(saver, *said)
            assert heard == asked
            assert kept == 2

    asyncio.run(restarted())
    with open_archive(address) as archive:
        assert [m.text for m in archive.messages(KEY) if m.role == "user"] == [*"abcdef"]
    assert not HOME.exists()


def test_what_is_deleted_in_the_checkpointer_is_deleted_in_the_archive(
    opening: Opening, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the thread's id is used again, none of the old messages is left."""
    monkeypatch.setattr(session_pool, "SETTLING_S", 0)

    async def deleted() -> None:
        async with opening(address) as saver:
            await ask(saver, "a secret", "b")
            await delete_thread(saver)
            heard, _ = await ask(saver, "new")
            assert heard == ["new"]

    asyncio.run(deleted())
    with open_archive(address) as archive:
        assert [m.text for m in archive.messages(KEY)] == ["new", "heard 1"]


@pytest.mark.parametrize("opening", OF_FILES, indirect=True)
def test_the_bytes_of_a_deleted_thread_go_with_the_next_run_of_any_thread(
    opening: Opening, address: str
) -> None:
    """Its log, its subagents' and its large texts; another thread with a similar name stays."""
    inside = ThreadKey("local", f"t{INSIDE}tools:1")
    similar = ThreadKey("local", "t2")

    async def deleted() -> None:
        async with opening(address) as saver:
            await ask(saver, f"the {MARKER}", f"large {MARKER} {'x ' * 2_000}")
            with open_archive(address) as archive:
                for key in (inside, similar):
                    archive.append(key, [Logged(Message("user", (Text("said"),)))])
            await delete_thread(saver)
            await ask(saver, "other", thread="other")

    asyncio.run(deleted())
    with open_archive(address) as archive:
        assert archive.threads("local") == ["t2", "other"]
    with closing(sqlite3.connect(address)) as connection:
        stored = [row for (row,) in connection.execute("SELECT body FROM archive_log")]
        blobs = connection.execute("SELECT data, packed FROM archive_blob")
        stored += [unpack(data, packed=packed) for data, packed in blobs]
    assert stored
    assert not any(MARKER in text for text in stored)


@pytest.mark.parametrize("opening", [sqlite_file], indirect=True)
@pytest.mark.parametrize(
    "deed",
    [
        "DROP TABLE checkpoints",
        "DELETE FROM checkpoints WHERE checkpoint_id < (SELECT max(checkpoint_id) FROM writes)",
        "DELETE FROM writes",
    ],
)
def test_rows_that_are_missing_for_another_reason_delete_nothing(
    opening: Opening, address: str, deed: str
) -> None:
    """A table made anew, old checkpoints that were thinned out, another table."""

    async def changed() -> None:
        async with opening(address) as saver:
            await ask(saver, "a", "b")
        with closing(sqlite3.connect(address)) as connection:
            connection.execute(deed)
            connection.commit()
        async with opening(address) as saver:
            await ask(saver, "other", thread="other")

    asyncio.run(changed())
    with open_archive(address) as archive:
        assert archive.threads("local") == ["t", "other"]
        assert [m.text for m in archive.messages(KEY)] == ["a", "heard 1", "b", "heard 2"]


@pytest.mark.parametrize("opening", [sqlite_file], indirect=True)
def test_a_thread_that_goes_on_after_its_deletion_stays(opening: Opening, address: str) -> None:
    """Also one with a run under way; its record is dropped, so that no later run erases it."""

    async def deleted() -> None:
        async with opening(address) as saver:
            await ask(saver, "a")
            await delete_thread(saver)
            await ask(saver, "b")
            await ask(saver, "other", thread="other")

    asyncio.run(deleted())
    with SqliteArchive(address) as archive:
        assert archive.messages(KEY)[-2].text == "b"
        assert archive.deletions(CHECKPOINTS) == {}
        archive.add_turn(KEY, _turn_under_way(), length=archive.length(KEY))
        with closing(sqlite3.connect(address)) as connection:
            connection.execute("DELETE FROM checkpoints WHERE thread_id = 't'")
            connection.commit()
        erase_deleted(archive)
        assert archive.length(KEY)
        assert archive.deletions(CHECKPOINTS) == {"t": True}


def _turn_under_way() -> TurnRow:
    return TurnRow(page_to_json(TurnRecord(kind="call", at=time.time(), length=0)))


@pytest.mark.parametrize("opening", [sqlite_file], indirect=True)
def test_a_run_that_failed_deletes_nothing(opening: Opening, address: str) -> None:
    """Its state has no mark either, but its messages are those of the log."""

    async def failed() -> None:
        heard: list[list[str]] = []
        model = heard_model(heard)

        def fail(messages: Sequence[BaseMessage]) -> str:
            raise ConnectionError(len(messages))

        async with opening(address) as saver:
            for one in (ScriptedModel(script=fail), model):
                with ContextMiddleware({"window": 100_000}) as context:
                    agent: Any = create_agent(one, middleware=[context], checkpointer=saver)
                    given = {"messages": [HumanMessage("a", id="a")]}
                    if one is model:
                        agent.invoke(None, AT)
                        continue
                    with pytest.raises(ConnectionError):
                        agent.invoke(given, AT)
                    turns = context.archive.turn_count(KEY)
            assert heard == [["a"]]
            with open_archive(address) as archive:
                assert archive.turn_count(KEY) > turns

    asyncio.run(failed())


def test_a_saver_in_memory_has_its_archive_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A SQLite saver without a file, too; and so nothing leaves its state."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("THALWEG_HOME", raising=False)

    async def in_memory() -> None:
        for open_saver in OF_FILES:
            async with open_saver(":memory:") as saver:
                assert await ask(saver, "a", "b", "c") == (["a", "b", "c"], 6)

    asyncio.run(in_memory())
    assert not HOME.exists()


@pytest.mark.parametrize("opening", [postgres], indirect=True)
def test_tables_of_another_application_are_left_alone(
    opening: Opening, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    """One with a name of ours: the archive is in a file, and nothing leaves the state."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE runs (id int)")

    async def asked() -> None:
        async with opening(address) as saver:
            assert await ask(saver, "a", "b", "c") == (["a", "b", "c"], 6)

    with caplog.at_level(logging.WARNING, "thalweg.threads"):
        asyncio.run(asked())
    assert [record.getMessage().count("a table 'runs'") for record in caplog.records] == [1]
    assert HOME.exists()
    with psycopg.connect(address) as connection:
        tables = connection.execute("SELECT 1 FROM pg_class WHERE relname = 'archive_log'")
        assert tables.fetchone() is None


@pytest.mark.parametrize("opening", OF_SERVERS, indirect=True, ids=lambda o: o.__name__)
def test_a_password_of_the_saver_is_the_archives(
    opening: Opening, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is in no address that a connection shows."""
    role = f"holder_{urlsplit(address).path[-12:]}"
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'p w/%&?'".encode())
        admin.execute(f"GRANT ALL ON SCHEMA public TO {role}".encode())
    given: list[str] = []
    connect = psycopg.connect

    def noted(conninfo: str = "", **settings: Any) -> Any:  # noqa: ANN401 (psycopg's)
        given.append(str(psycopg.conninfo.conninfo_to_dict(conninfo).get("password")))
        return connect(conninfo, **settings)

    async def asked() -> None:
        url = as_role(address, f"{role}:p%20w%2F%25%26%3F")
        async with opening(url) as saver:
            monkeypatch.setattr(psycopg, "connect", noted)
            await ask(saver, "a")

    try:
        asyncio.run(asked())
    finally:
        monkeypatch.undo()
        with psycopg.connect(address, autocommit=True) as admin:
            admin.execute(f"DROP OWNED BY {role}".encode())
            admin.execute(f"DROP ROLE {role}".encode())
    assert given
    assert set(given) == {"p w/%&?"}
