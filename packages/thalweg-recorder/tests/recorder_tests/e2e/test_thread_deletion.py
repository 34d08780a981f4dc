"""One call deletes a thread in its checkpointer and in the archive, bytes included."""

import asyncio
import json
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from psycopg import sql

from core_tests.e2e.scripted import calls
from core_tests.e2e.test_new_branches import (
    AT,
    KEY,
    Opening,
    Saver,
    address,
    archive,
    async_postgres,
    async_sqlite,
    opening,
    postgres,
    sqlite_file,
)
from recorder_tests.e2e.test_cli import here
from thalweg import ContextMiddleware, adelete_thread, delete_thread
from thalweg.archive import Archive, Logged, ThreadKey, open_archive
from thalweg.archive.base import SUBAGENT_SEPARATOR
from thalweg.archive.threads import history
from thalweg.engine.entries import Message, Text
from thalweg.errors import DeletedThreadError, StorageError
from thalweg.testing import ScriptedModel

__all__ = ["address", "archive", "opening"]  # fixtures
WORD = "swordfish"
BLOCKING = (InMemorySaver, SqliteSaver, PostgresSaver)


def script(messages: Sequence[BaseMessage]) -> str:
    """Answer with the user's words."""
    return f"heard {messages[-1].text}"


async def ask(saver: Saver, archive: Archive, thread: str, *said: str) -> None:
    """Send messages in a thread."""
    context = ContextMiddleware({"window": 20_000}, archive=archive, state=2)
    agent: Any = create_agent(
        ScriptedModel(script=script), middleware=[context], checkpointer=saver
    )
    for text in said:
        given, at = {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}}
        if isinstance(saver, BLOCKING):
            agent.invoke(given, at)
        else:
            await agent.ainvoke(given, at)
    archive.search(ThreadKey("local", thread), WORD)  # indexes it


def holding(folder: Path) -> list[str]:
    """Name the files of a folder that hold the word."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return sorted(path.name for path in found if WORD.encode() in path.read_bytes().lower())


def rows_with_word(url: str) -> list[str]:
    """Name the tables that have the word in any row."""
    found = []
    with psycopg.connect(url) as connection:
        tables = connection.execute("SELECT relname FROM pg_class WHERE relkind = 'r'").fetchall()
        for (name,) in tables:
            if name.startswith(("checkpoint", "archive")):
                table = sql.Identifier(name)
                query = sql.SQL("SELECT 1 FROM {} t WHERE t::text LIKE %s OR t::text LIKE %s")
                like = (f"%{WORD}%", f"%{WORD.encode().hex()}%")
                if connection.execute(query.format(table), like).fetchone():
                    found.append(name)
    return found


def test_no_byte_of_a_deleted_thread_is_left(
    opening: Opening, address: str, archive: Archive, tmp_path: Path
) -> None:
    """Logs, subagents' logs, large texts, index and checkpoints have no byte; others are kept."""
    inside, similar = (ThreadKey("local", name) for name in (f"t{SUBAGENT_SEPARATOR}tools:1", "t2"))
    large = f"{WORD} " + "and so on " * 3_000

    async def deleted() -> None:
        async with opening(address) as saver:
            await ask(saver, archive, "t", f"the {WORD}", large, "a", "b")
            await ask(saver, archive, "other", "marlin")
            archive.append(inside, [Logged(Message("user", (Text(f"inner {WORD}"),)))])
            archive.append(similar, [Logged(Message("user", (Text("said"),)))])
            before = holding(tmp_path)
            assert "thalweg.db" in "".join(before)
            for expected in ({"t", inside.thread}, set[str]()):
                if isinstance(saver, BLOCKING):
                    done = delete_thread("t", checkpointer=saver, archive=archive)
                else:
                    done = await adelete_thread("t", checkpointer=saver, archive=archive)
                assert {*done.threads} == expected
            is_server = opening in (postgres, async_postgres)
            assert len(done.left) == 1 + is_server
            assert archive.threads("local") == ["other", "t2"]
            assert holding(tmp_path) == []
            if is_server:
                assert rows_with_word(address) == []
            await ask(saver, archive, "other", "again")
            await ask(saver, archive, "t", "new")

    asyncio.run(deleted())
    assert [one.message.text for one in history(archive, KEY)] == ["new", "heard new"]
    other = [one.message.text for one in history(archive, ThreadKey("local", "other"))]
    assert other == ["marlin", "heard marlin", "again", "heard again"]


def test_an_async_saver_is_called_from_another_thread(tmp_path: Path, archive: Archive) -> None:
    """The blocking function, as LangGraph's own methods of such a saver."""

    async def deleted() -> None:
        async with async_sqlite(str(tmp_path / "state.db")) as saver:
            await ask(saver, archive, "t", f"the {WORD}")
            done = await asyncio.to_thread(delete_thread, "t", checkpointer=saver, archive=archive)
            assert done.threads == ("t",)
            assert holding(tmp_path) == []

    asyncio.run(deleted())


@pytest.mark.parametrize("fails", ["archive", "checkpointer"])
def test_a_deletion_that_was_interrupted_is_repeated(
    fails: str, tmp_path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first part nothing old is sent; after the second call nothing remains."""
    saver = SqliteSaver(sqlite3.connect(tmp_path / "state.db", check_same_thread=False))
    asyncio.run(ask(saver, archive, "t", f"the {WORD}"))

    def broken(*_: object) -> None:
        raise StorageError("disk", "it failed", "try again")

    with monkeypatch.context() as patch:
        target = type(archive) if fails == "archive" else SqliteSaver
        patch.setattr(target, "delete" if fails == "archive" else "delete_thread", broken)
        with pytest.raises(StorageError):
            delete_thread("t", checkpointer=saver, archive=archive)
    assert archive.threads("local") == ["t"]
    assert (saver.get_tuple(AT) is None) == (fails == "archive")
    done = delete_thread("t", checkpointer=saver, archive=archive)
    assert done.threads == ("t",)
    assert holding(tmp_path) == []
    assert saver.get_tuple(AT) is None
    saver.conn.close()


class Blocked:
    """A run that waits in its tool or in its model, in a thread of its own."""

    def __init__(self, saver: Saver, archive: Archive, where: str) -> None:
        self.waits, self.goes_on = threading.Event(), threading.Event()
        self.error: BaseException | None = None

        @tool
        def look() -> str:
            """Look something up."""
            if where == "tool":
                self._wait()
            return f"found {WORD}"

        def rule(messages: Sequence[BaseMessage]) -> str | AIMessage:
            if messages[-1].type != "tool":
                return calls("look", "c1")
            if where == "model":
                self._wait()
            return f"answer {WORD}"

        context = ContextMiddleware({"window": 20_000}, archive=archive)
        self.agent: Any = create_agent(
            ScriptedModel(script=rule), [look], middleware=[context], checkpointer=saver
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self.waits.wait(60)

    def _wait(self) -> None:
        self.waits.set()
        assert self.goes_on.wait(60)

    def _run(self) -> None:
        try:
            given = {"messages": [HumanMessage(f"the {WORD}")]}
            self.agent.invoke(given, AT, durability="sync")
        except BaseException as error:  # noqa: BLE001 (looked at by the test)
            self.error = error

    def finish(self) -> None:
        """Let the run go on to its end."""
        self.goes_on.set()
        self._thread.join(60)


def stored_texts(saver: BaseCheckpointSaver[Any]) -> str:
    """Return all that a saver in memory holds of the thread."""
    return "".join(str(one.checkpoint) + str(one.pending_writes) for one in saver.list(AT))


@pytest.mark.parametrize("begins_again", [False, True])
@pytest.mark.parametrize("where", ["tool", "model"])
def test_a_run_in_progress_does_not_bring_the_thread_back(
    where: str, archive: Archive, *, begins_again: bool
) -> None:
    """It ends with an error; a thread that began again under the same id is not touched."""
    saver = InMemorySaver()
    run = Blocked(saver, archive, where)
    delete_thread("t", checkpointer=saver, archive=archive)
    if begins_again:
        asyncio.run(ask(saver, archive, "t", "new"))
    run.finish()

    assert isinstance(run.error, DeletedThreadError)
    assert "'t' was deleted while this run was in progress" in str(run.error)
    assert WORD not in stored_texts(saver)
    logged = [message.text for message in archive.messages(KEY)]
    assert logged == (["new", "heard new"] if begins_again else [])
    asyncio.run(ask(saver, archive, "t", "next"))
    shown = [one.message.text for one in history(archive, KEY)]
    assert shown == [*logged, "next", "heard next"]


def test_an_archive_that_is_deleted_alone_goes_on_from_the_state(archive: Archive) -> None:
    """The thread rested: no run is kept from what its state has."""
    saver = InMemorySaver()
    asyncio.run(ask(saver, archive, "t", "first"))
    archive.delete(KEY)
    asyncio.run(ask(saver, archive, "t", "second"))
    logged = [message.text for message in archive.messages(KEY)]
    assert logged == ["first", "heard first", "second", "heard second"]


def test_the_command_deletes_on_both_sides(tmp_path: Path, archive: Archive) -> None:
    """Also what only one of both still has; a thread that neither has is an error."""
    state, place = tmp_path / "state.db", tmp_path / "thalweg.db"
    with closing(sqlite3.connect(state, check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        for _ in range(2):
            asyncio.run(ask(saver, archive, "t", f"the {WORD}"))
            archive.delete(KEY)
        command = ("thread", "delete", "t", "--yes", "--archive", str(place), "--checkpoints")
        assert here(*command, str(state)).returncode == 0
        assert saver.get_tuple(AT) is None
        assert holding(tmp_path) == []
        refused = here(*command, str(state))
        assert (refused.returncode, "no thread 't'" in refused.stderr) == (2, True)
        for wrong, problem in (
            (tmp_path / "none.db", "there is no such file"),
            (place, "no checkpoints of LangGraph"),
        ):
            refused = here(*command, str(wrong))
            assert (refused.returncode, problem in refused.stderr) == (2, True)


def test_an_owner_is_forgotten_on_both_sides(tmp_path: Path, archive: Archive) -> None:
    """Without the checkpointer's address the ids are printed, which nothing knows afterwards."""
    state, place = tmp_path / "state.db", tmp_path / "thalweg.db"
    names = "t", "a/~b"
    command = ("db", "forget", "local", "--url", str(place))

    async def filled() -> None:
        async with sqlite_file(str(state)) as saver:
            for name in names:
                await ask(saver, archive, name, f"the {WORD}")

    asyncio.run(filled())
    for options in (("--dry-run",), ("--dry-run", "--json")):
        shown = " ".join(here(*command, *options).stdout.split())
        assert "not deleted without --checkpoints" in shown
        assert "of 2 threads: a/~b, t" in shown
    assert json.loads(here(*command, "--dry-run", "--json").stdout)["threads"] == ["a/~b", "t"]
    wrong = here(*command, "--yes", "--checkpoints", str(tmp_path / "no.db"))
    assert wrong.returncode == 2
    assert len(archive.threads("local")) == 2
    done = here(*command, "--yes", "--checkpoints", str(state)).stdout
    assert "Left: checkpoints" not in done
    assert "Left: copies outside of the database" in done
    assert archive.threads("local") == []
    assert holding(tmp_path) == []
    again = here(*command, "--yes").stdout
    assert "Left: checkpoints in a checkpointer of your own" in again


def test_postgres_keeps_what_a_plain_vacuum_frees(postgres_url: str) -> None:
    """The command says so for archive and checkpoints, and reaches both."""
    with open_archive(postgres_url) as archive:

        async def filled() -> None:
            async with postgres(postgres_url) as saver:
                await ask(saver, archive, "t", f"the {WORD}")

        asyncio.run(filled())
        assert rows_with_word(postgres_url) != []
        command = ("db", "forget", "local", "--yes", "--url", postgres_url)
        done = " ".join(here(*command, "--checkpoints", postgres_url).stdout.split())
    for kind in ("PostgreSQL archive: ", "PostgresSaver: "):
        assert f"Left: {kind}" in done
    assert done.count("until VACUUM FULL rewrites them (VACUUM alone does not overwrite)") >= 2
    assert rows_with_word(postgres_url) == []
