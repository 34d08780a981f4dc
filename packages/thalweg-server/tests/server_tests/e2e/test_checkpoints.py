"""LangGraph's checkpoints on a real server, isolated by owner."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypedDict

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

from core_tests.postgres import Served
from thalweg.database.migrations import rights
from thalweg.errors import ConfigError
from thalweg_server.checkpoints.postgres import TABLES, OwnedCheckpoints, Pool, set_up_checkpoints


class State(TypedDict):
    """What the graph below counts."""

    count: int


def one_more(state: State) -> State:
    """Count."""
    return {"count": state["count"] + 1}


def config_of(thread: str) -> RunnableConfig:
    """Name a thread."""
    return {"configurable": {"thread_id": thread}}


async def run(saver: OwnedCheckpoints, thread: str) -> int:
    """Run a graph on a thread, from where it was."""
    graph = StateGraph(State)
    graph.add_node("one_more", one_more)
    graph.add_edge(START, "one_more")
    graph.add_edge("one_more", END)
    compiled = graph.compile(checkpointer=saver)
    before = (await compiled.aget_state(config_of(thread))).values.get("count", 0)
    done = await compiled.ainvoke({"count": before}, config_of(thread))
    return int(done["count"])


@pytest.fixture
def set_up(served: Served) -> Served:
    """Return a database that has LangGraph's tables, too."""
    assert set_up_checkpoints(served.owner)
    with psycopg.connect(served.owner, autocommit=True) as owner:
        name = psycopg.conninfo.conninfo_to_dict(served.url)["user"]
        for statement in rights.grant_statements(owner, "here", str(name)):
            owner.execute(statement.encode())
    return served


@asynccontextmanager
async def pool_of(url: str) -> AsyncIterator[Pool]:
    """Open some connections."""
    pool: Pool = AsyncConnectionPool(
        url,
        connection_class=AsyncConnection[DictRow],
        kwargs={"autocommit": True, "prepare_threshold": None, "row_factory": dict_row},
        min_size=1,
        max_size=4,
        open=False,
    )
    async with pool:
        yield pool


def test_a_thread_goes_on_where_it_was_and_owners_do_not_meet(set_up: Served) -> None:
    """Many at once, on the same connections."""

    async def all_of_them() -> None:
        async with pool_of(set_up.url) as pool:
            savers = {tag: OwnedCheckpoints(pool, tag) for tag in ("ada", "adam", "bob")}
            for expected in (1, 2, 3):
                counts = await asyncio.gather(
                    *(run(saver, f"{tag}:t{n}") for tag, saver in savers.items() for n in range(3))
                )
                assert counts == [expected] * 9
            for tag, saver in savers.items():
                listed = [found async for found in saver.alist(None)]
                threads = {found.config["configurable"]["thread_id"] for found in listed}
                assert threads == {f"{tag}:t{n}" for n in range(3)}
            await savers["ada"].adelete_thread("ada:t0")
            assert await savers["ada"].aget_tuple(config_of("ada:t0")) is None
            await savers["ada"].aprune(["ada:t1"], strategy="delete")
            assert await savers["ada"].aget_tuple(config_of("ada:t1")) is None
            assert await run(savers["adam"], "adam:t0") == 4

    asyncio.run(all_of_them())


def test_anothers_thread_is_neither_read_nor_written_nor_deleted(set_up: Served) -> None:
    """Even when it is asked for by its name."""

    async def try_it() -> None:
        async with pool_of(set_up.url) as pool:
            ada, eve = OwnedCheckpoints(pool, "ada"), OwnedCheckpoints(pool, "eve")
            await run(ada, "ada:t")
            assert await eve.aget_tuple(config_of("ada:t")) is None
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await run(eve, "ada:t")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await run(eve, "without a tag")
            await eve.adelete_thread("ada:t")
            await eve.aprune(["ada:t"], strategy="delete")
            assert await run(ada, "ada:t") == 2

    asyncio.run(try_it())


def test_without_being_told_whose_nothing_is_there(set_up: Served) -> None:
    """Nor with a tag that others begin with, nor for LangGraph's own saver."""

    async def fill() -> None:
        async with pool_of(set_up.url) as pool:
            await run(OwnedCheckpoints(pool, "ada"), "ada:t")

    asyncio.run(fill())
    for url in (set_up.url, set_up.owner):
        with psycopg.connect(url, row_factory=dict_row, autocommit=True) as raw:
            assert list(PostgresSaver(raw).list(None)) == []
            for prefix in ("", "a", "ad", "ada", "ada:t", "bob:", ":"):
                raw.execute("SELECT set_config('thalweg.checkpoint_prefix', %s, false)", (prefix,))
                for table in TABLES:
                    assert raw.execute(f"TABLE {table}".encode()).fetchall() == []
                    assert raw.execute(f"DELETE FROM {table}".encode()).rowcount == 0  # noqa: S608
            raw.execute("SELECT set_config('thalweg.checkpoint_prefix', 'ada:', false)")
            for table in TABLES:
                assert raw.execute(f"TABLE {table}".encode()).fetchall() != []


def test_many_may_set_up_at_once(plain_postgres_url: str) -> None:
    """LangGraph's own way to make tables is for one at a time."""
    done: list[bool] = []
    threads = [
        threading.Thread(target=lambda: done.append(set_up_checkpoints(plain_postgres_url)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True] * 4


def test_threads_of_another_application_are_left_to_it(postgres_url: str) -> None:
    """Another application's threads have no tag: with isolation it would no longer see them."""
    with psycopg.connect(postgres_url, autocommit=True, row_factory=dict_row) as raw:
        PostgresSaver(raw).setup()
        raw.execute(
            "INSERT INTO checkpoints (thread_id, checkpoint_id, checkpoint) VALUES ('x', 'y', '{}')"
        )
    assert not set_up_checkpoints(postgres_url)
    with psycopg.connect(postgres_url) as raw:
        assert not any(rights.walled_tables(raw).values())


def test_a_tag_cannot_be_taken_for_a_thread() -> None:
    """The colon parts them."""

    async def try_it() -> None:
        pool: Pool = AsyncConnectionPool(open=False)
        for tag in ("", "ada:", "a:b"):
            with pytest.raises(ConfigError):
                OwnedCheckpoints(pool, tag)

    asyncio.run(try_it())


def test_old_checkpoints_are_deleted_in_portions(
    set_up: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one thread, without those of another one and of a subgraph; no value remains."""

    async def main() -> None:
        async with pool_of(set_up.url) as pool:
            saver = OwnedCheckpoints(pool, "ada")
            for thread in ("ada:t1", "ada:t1", "ada:t2"):
                await run(saver, thread)
            newest = await saver.aget_tuple(config_of("ada:t1"))
            assert newest is not None
            before = [one.config async for one in saver.alist(config_of("ada:t1"))]
            answers = [await saver.adelete_before("ada:t1", newest.checkpoint["id"])]
            kept = [one.config async for one in saver.alist(config_of("ada:t1"))]
            assert kept == [before[0], *before[3:]]  # each with its ancestors
            answers += [
                await saver.adelete_before("ada:t1", newest.checkpoint["id"]) for _ in range(4)
            ]
            left = [
                len([one async for one in saver.alist(config_of(f"ada:{n}"))]) for n in ("t1", "t2")
            ]
            async with pool.connection() as connection:
                await connection.execute(
                    "SELECT set_config('thalweg.checkpoint_prefix', 'ada:', false)"
                )
                text = "SELECT count(*) AS n FROM checkpoint_blobs WHERE thread_id = 'ada:t1'"
                blobs = await (await connection.execute(text)).fetchone()
                assert blobs is not None
            assert answers[0] is True
            assert answers[-1] is False
            assert left == [1, 3]
            assert blobs["n"] <= len(newest.checkpoint["channel_versions"])
            assert await run(saver, "ada:t1") == 3

    monkeypatch.setattr("thalweg_server.checkpoints.postgres.MOST_DELETED", 2)
    asyncio.run(main())
