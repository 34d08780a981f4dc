"""Where the log of a thread is if no archive was passed, and what happens when it is lost there."""

import logging
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from thalweg.archive import ThreadKey
from thalweg.archive.threads import history
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.turn import threads
from thalweg.testing import ScriptedModel

ONE = {"configurable": {"thread_id": "1"}}
FILE = Path(".thalweg/thalweg.db")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("THALWEG_HOME", raising=False)


def agent(saver: Any = None, middleware: ContextMiddleware | None = None) -> Any:  # noqa: ANN401 (LangGraph's)
    """Make an agent that answers with the number of messages it was sent."""

    def script(messages: Sequence[BaseMessage]) -> str:
        return f"{len(messages)} messages"

    ours = middleware or ContextMiddleware()
    return create_agent(ScriptedModel(script=script), middleware=[ours], checkpointer=saver)


def answer(to: Any, config: Any = None, said: str = "hi") -> str:  # noqa: ANN401 (LangGraph's)
    """Send a message, and read the answer."""
    return str(to.invoke({"messages": [HumanMessage(said)]}, config)["messages"][-1].text)


def test_a_thread_whose_state_is_in_memory_is_not_another_of_the_same_name() -> None:
    """A script that is run twice, or two agents in one process, with the id of every tutorial."""
    first, second = agent(InMemorySaver()), agent(InMemorySaver())
    assert [answer(first, ONE), answer(first, ONE)] == ["1 messages", "3 messages"]
    assert answer(second, ONE) == "1 messages"
    assert answer(agent()) == answer(agent()) == "1 messages"
    assert not FILE.exists()


def test_a_thread_whose_state_is_in_a_file_has_its_log_in_the_default_file() -> None:
    """Opened again, nothing is missing; the checkpointer's file gets no table of ours."""
    for expected in ("1 messages", "3 messages"):
        with closing(sqlite3.connect("checkpoints.db", check_same_thread=False)) as connection:
            ours = ContextMiddleware()
            assert answer(agent(SqliteSaver(connection), ours), ONE) == expected
            assert len(history(ours.archive, ThreadKey("local", "1"))) == int(expected[0]) + 1
            ours.close()
            listed = connection.execute("SELECT name FROM sqlite_master")
            assert {
                name for (name, *_) in listed if "thalweg" in name or "archive" in name
            } == set()
    assert FILE.exists()


def another_kind() -> BaseCheckpointSaver[Any]:
    """Make a saver that is neither LangGraph's in memory nor one for a database."""

    class Wrapped(BaseCheckpointSaver[Any]):
        """Hands everything to another saver."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = InMemorySaver()

        def get_tuple(self, *given: Any) -> Any:  # noqa: ANN401 (LangGraph's)
            return self.inner.get_tuple(*given)

        def list(self, *given: Any, **named: Any) -> Any:  # noqa: ANN401
            return self.inner.list(*given, **named)

        def put(self, *given: Any) -> Any:  # noqa: ANN401
            return self.inner.put(*given)

        def put_writes(self, *given: Any) -> None:  # noqa: ANN401
            self.inner.put_writes(*given)

        def get_next_version(self, *given: Any) -> Any:  # noqa: ANN401
            return self.inner.get_next_version(*given)

    return Wrapped()


def test_a_saver_of_another_kind_has_its_log_in_the_default_file() -> None:
    """Its state lasts, for all that can be seen."""
    saver = another_kind()
    assert [answer(agent(saver), ONE), answer(agent(saver), ONE)] == ["1 messages", "3 messages"]
    assert FILE.exists()


def test_nothing_leaves_the_state_unless_an_archive_was_passed() -> None:
    """The default file may be on a disk that the next deployment has not."""
    saver = another_kind()
    for archive, kept in ((None, 12), ("named.db", 2)):
        config = {"configurable": {"thread_id": str(archive)}}
        to = agent(saver, ContextMiddleware(archive=archive, state=1))
        for number in range(6):
            answer(to, config, f"question {number}")
        assert len(to.get_state(config).values["messages"]) == kept


@pytest.mark.parametrize("obstacle", ["a file where the folder would be", "no rights"])
def test_a_default_place_that_cannot_be_written_is_replaced_by_memory(
    obstacle: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With one warning; the state is whole, so the next process has all of the thread."""
    if obstacle == "no rights":
        FILE.parent.mkdir()
        monkeypatch.setattr("os.access", lambda *_: False)
    else:
        FILE.parent.touch()
    saver = another_kind()
    with caplog.at_level(logging.WARNING, "thalweg.threads"):
        to = agent(saver)
        assert [answer(to, ONE), answer(to, ONE), answer(to, ONE)][-1] == "5 messages"
        assert [answer(agent(saver), ONE)] == ["7 messages"]
    assert len(caplog.messages) == 2, "one for each middleware"
    assert all("cannot be written" in each and "archive=" in each for each in caplog.messages)


REDEPLOYED = """
import logging, sys
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.postgres import PostgresSaver
from thalweg import ContextMiddleware
from thalweg.testing import ScriptedModel

logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="WARNING %(message)s")

def script(messages):
    return "heard " + ",".join(m.text for m in messages if m.type == "human")

with PostgresSaver.from_conn_string(sys.argv[1]) as saver:
    saver.setup()
    agent = create_agent(
        ScriptedModel(script=script),
        middleware=[ContextMiddleware({"window": 100_000}, state=1)],
        checkpointer=saver,
    )
    for said in sys.argv[2:]:
        given = {"messages": [HumanMessage(said)]}
        print(agent.invoke(given, {"configurable": {"thread_id": "t"}})["messages"][-1].text)
"""


@pytest.mark.slow
@pytest.mark.nightly
def test_a_redeploy_with_an_empty_disk_goes_on_from_the_state(
    tmp_path: Path, postgres_url: str
) -> None:
    """Two replicas, each with a disk of its own, and one database of checkpoints."""

    def deployed(folder: str, *said: str) -> list[str]:
        (tmp_path / folder).mkdir(exist_ok=True)
        command = [sys.executable, "-c", REDEPLOYED, postgres_url, *said]
        done = subprocess.run(
            command, cwd=tmp_path / folder, capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()

    assert deployed("one", "a", "b") == ["heard a", "heard a,b"]
    warning, *heard = deployed("two", "c", "d")
    assert heard == ["heard a,b,c", "heard a,b,c,d"]
    assert "thread 't': its log is not in this archive" in warning
    assert "archive=" in warning
    warning, *heard = deployed("one", "e", "f")
    assert "with the 9 messages of its state" in warning
    assert heard == ["heard a,b,c,d,e", "heard a,b,c,d,e,f"]
    shutil.rmtree(tmp_path / "one")
    warning, *heard = deployed("one", "g", "h")
    assert warning.startswith("WARNING thread 't'")
    assert heard == ["heard a,b,c,d,e,f,g", "heard a,b,c,d,e,f,g,h"]


def test_one_middleware_keeps_both_kinds_apart() -> None:
    """The same id with a saver in memory and one on disk is two threads."""
    ours = ContextMiddleware()
    with closing(sqlite3.connect("checkpoints.db", check_same_thread=False)) as connection:
        lasting, passing = agent(SqliteSaver(connection), ours), agent(InMemorySaver(), ours)
        said = [answer(one, ONE) for one in (lasting, passing, lasting, passing)]
    assert said == ["1 messages", "1 messages", "3 messages", "3 messages"]


def test_threads_that_come_from_outside_do_not_pile_up_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that passes whole histories keeps no more than are open."""
    monkeypatch.setattr(threads, "OPEN_THREADS", 3)
    ours = ContextMiddleware()
    one = agent(middleware=ours)
    for number in range(8):
        answer(one, said=f"question {number}")
    assert 1 <= len(list(ours.archive.threads("local"))) <= 3
