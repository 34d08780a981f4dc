"""An application over PostgreSQL: everything of it is in the database."""

import asyncio
import random
from math import inf
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from psycopg_pool import AsyncConnectionPool

from core_tests.postgres import Server
from server_tests.e2e.talkers import settings
from server_tests.e2e.test_app import answer, check_laws, say
from thalweg.errors import ConfigError, ThreadExistsError
from thalweg_memory import Memory
from thalweg_server.api.graph_runs import GraphRun
from thalweg_server.api.threads import NewThread, Rewind
from thalweg_server.app import open_app
from thalweg_server.checkpoints import postgres as checkpoints
from thalweg_server.runs.postgres_connections import pooled

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_thread_goes_on_from_another_home_on_the_same_server(
    tmp_path: Path, postgres_url: str
) -> None:
    given = settings(storage={"url": postgres_url}, memory={"injection_enabled": False})
    async with open_app(given, home=tmp_path / "one") as app:
        ada, bob = app.tenant("ada"), app.tenant("bob")
        check_laws(await say(ada, "t1", "delegate"))
        await say(ada, "t1", "write it down")
        await ada.memory.ask(Memory.remember, "User prefers tea to coffee")
        assert answer(await say(bob, "t1", "hello")) == "You said: hello. Before it: 0 requests."
        assert (await app.health()).status == "ok"
        with pytest.raises(ThreadExistsError):
            await ada.threads.create(NewThread(id="t1"))
    async with open_app(given, home=tmp_path / "other") as app:
        ada = app.tenant("ada")
        assert (await ada.threads.state("t1")).files == ("/a.txt",)
        # One of the messages before it names the task that was delegated.
        assert answer(await say(ada, "t1", "third")) == "You said: third. Before it: 3 requests."
        turns = (await ada.threads.turns("t1")).items
        calls = [one.turn for one in turns if one.turn]
        await ada.threads.rewind("t1", Rewind(turn=calls[-1]))
        assert answer(await say(ada, "t1", "fourth")) == "You said: fourth. Before it: 4 requests."
        assert [one.id for one in (await ada.threads.list(limit=1)).items] == ["t1"]
        assert (await ada.usage.owner()).total.calls >= 7
        await ada.threads.delete("t1")
        assert (await ada.threads.list()).items == ()
        assert len((await app.tenant("bob").threads.list()).items) == 1
    assert not list((tmp_path / "other").rglob("*.db"))


LETTERS = random.Random(7).choices([*map(chr, range(0x20000, 0x2A6D0))], k=128)  # noqa: S311 (of a test)


@pytest.mark.parametrize(
    "thread", ["claude-code:a/b'\"%\\\\c", "".join(LETTERS)], ids=["odd", "long"]
)
async def test_any_id_is_a_key_of_every_table(
    tmp_path: Path, postgres_url: str, thread: str
) -> None:
    """The long one has 512 bytes that cannot be compressed; an index of PostgreSQL has a bound."""
    given = settings(storage={"url": postgres_url}, memory={"injection_enabled": False})
    async with open_app(given, home=tmp_path) as app:
        ada = app.tenant("ada")
        await say(ada, thread, "write it down")
        assert answer(await say(ada, thread, "on")) == "You said: on. Before it: 1 requests."
        state = await ada.threads.state(thread)
        assert (state.thread.id, state.files) == (thread, ("/a.txt",))
        with psycopg.connect(postgres_url) as connection:
            found = connection.execute(
                "SELECT (SELECT count(*) FROM checkpoints),"
                " (SELECT count(*) FROM checkpoint_writes),"
                " (SELECT count(DISTINCT channel) = count(*) FROM checkpoint_blobs),"
                " (SELECT checkpoint -> 'channel_values' -> 'messages' FROM checkpoints)"
            ).fetchone()
        assert found == (1, 0, True, True), "its last checkpoint alone, marked as a snapshot"
        assert (await ada.usage.thread(thread)).total.calls >= 2
        await ada.threads.delete(thread)
        assert (await ada.threads.list()).items == ()


async def test_a_run_goes_on_when_the_server_broke_every_connection(
    tmp_path: Path, postgres_url: str
) -> None:
    given = settings(storage={"url": postgres_url})
    async with open_app(given, home=tmp_path) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "first")
        with psycopg.connect(postgres_url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        events = await say(ada, "t1", "second")
        assert answer(events) == "You said: second. Before it: 1 requests."
        assert (await app.health()).status == "ok"


async def test_a_run_is_rolled_back_over_one_connection(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many at a time as there are connections would else wait for each other forever."""
    monkeypatch.setattr(checkpoints, "MOST_CONNECTIONS", 1)
    given = settings(storage={"url": postgres_url}, memory={"injection_enabled": False})
    async with asyncio.timeout(60), open_app(given, home=tmp_path) as app:
        ada = app.tenant("ada")
        ended = []
        for message in ("one", "two"):
            new = GraphRun(graph="agent", input={"messages": message})
            run = await ada.graph_runs.start("t1", new)
            ended.append(await ada.graph_runs.wait(run))
        assert [run.status for run in ended] == ["completed", "completed"]
        await ada.graph_runs.roll_back("t1", {ended[1].key.run})
        values = (await ada.graph_threads.snapshot("t1")).values
        texts = [one.text for one in values["messages"] if one.type == "human"]
        assert texts == ["one"]


async def test_a_state_may_hold_what_json_lacks(tmp_path: Path, postgres_url: str) -> None:
    """A text with NUL or half a character, an infinite number: as with SQLite."""
    agents = [{"name": "odd", "graph": "server_tests.gateway.own_graphs:odd"}]
    text = "a\0b\0 caf?"
    for storage in ({}, {"url": postgres_url}):
        async with open_app(settings(storage=storage, agents=agents), home=tmp_path) as app:
            graph_runs, threads = app.tenant("ada").graph_runs, app.tenant("ada").graph_threads
            for _ in range(2):
                run = await graph_runs.start("t1", GraphRun(graph="odd", input={"text": "a\0b"}))
                assert (await graph_runs.wait(run)).status == "completed"
            newest, *earlier = await threads.history("t1", limit=10)
            assert newest.values == {"text": text, "score": -inf, "steps": 2 * len(text)}
            assert [one.values.get("text") for one in earlier if "steps" in one.values][-1] == text
            await threads.update("t1", {"text": "\0"}, node="_count")
            assert (await threads.snapshot("t1")).values == {**newest.values, "text": "\0"}


async def test_an_id_with_nul_is_refused_or_finds_nothing(
    tmp_path: Path, postgres_url: str
) -> None:
    """A run with one fails, and is not retried."""
    given = settings(storage={"url": postgres_url})
    async with open_app(given, home=tmp_path) as app:
        ada = app.tenant("ada")
        await ada.graph_threads.create("t1", {})
        reads = (
            ada.graph_threads.snapshot("t1", "a\0"),
            ada.graph_threads.history("t1", limit=1, before="a\0"),
            ada.graph_threads.history("t1", limit=1, metadata={"a": "\0"}),
            ada.graph_threads.update("t1", None, checkpoint="a\0"),
        )
        for read in reads:
            with pytest.raises(ConfigError, match=r"PostgreSQL cannot store.*NUL characters"):
                await read
        for new in (
            GraphRun(graph="agent", input={"messages": "hi"}, checkpoint="a\0"),
            GraphRun(graph="agent", command={"goto": "a\0"}),
        ):
            run = await ada.graph_runs.wait(await ada.graph_runs.start("t1", new))
            assert (run.status, run.attempt) == ("failed", 1)
            assert "NUL characters" in (run.error or "")


async def test_a_pool_that_the_server_refuses_reports_the_reason(postgres_url: str) -> None:
    refused = make_conninfo(postgres_url, dbname="dropped")
    async with AsyncConnectionPool(refused, min_size=1, open=False, timeout=0.5) as pool:
        with pytest.raises(psycopg.OperationalError, match="dropped"):
            async with asyncio.timeout(30), pooled(pool):
                pytest.fail("the database is not there")


async def test_those_who_wait_for_a_connection_open_one_of_their_own_in_all(
    own_postgres: Server,
) -> None:
    """A server's places are few: 300 waiting calls that each tried one took them all."""
    entered = 0

    async def enter() -> None:
        nonlocal entered
        async with pooled(pool):
            entered += 1

    url = own_postgres.url
    async with AsyncConnectionPool(url, min_size=1, max_size=1, open=False, timeout=0.2) as pool:
        taken = await pool.getconn()
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            for _ in range(300):
                group.create_task(enter())
            await asyncio.sleep(0.5)
            assert entered == 0
            await pool.putconn(taken)
    assert entered == 300
