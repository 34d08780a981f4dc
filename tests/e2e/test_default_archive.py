"""Where a thread's log is when nobody says where: it lasts as long as the thread's state."""

import sqlite3
from collections.abc import Sequence
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
from thalweg.middleware.context import ContextMiddleware
from thalweg.middleware.turn import session_pool
from thalweg.testing.model import ScriptedModel

ONE = {"configurable": {"thread_id": "1"}}
FILE = Path(".thalweg/thalweg.db")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("THALWEG_HOME", raising=False)


def agent(saver: Any = None, middleware: ContextMiddleware | None = None) -> Any:  # noqa: ANN401 (LangGraph's)
    """Make one that tells how many messages it was sent."""

    def script(messages: Sequence[BaseMessage]) -> str:
        return f"{len(messages)} messages"

    ours = middleware or ContextMiddleware()
    return create_agent(ScriptedModel(script=script), middleware=[ours], checkpointer=saver)


def answer(to: Any, config: Any = None, said: str = "hi") -> str:  # noqa: ANN401 (LangGraph's)
    """Say something, and read the answer."""
    return str(to.invoke({"messages": [HumanMessage(said)]}, config)["messages"][-1].text)


def test_a_thread_whose_state_is_in_memory_is_not_another_of_the_same_name() -> None:
    """A script that is run twice, or two agents in one process, with the id of every tutorial."""
    first, second = agent(InMemorySaver()), agent(InMemorySaver())
    assert [answer(first, ONE), answer(first, ONE)] == ["1 messages", "3 messages"]
    assert answer(second, ONE) == "1 messages"
    assert answer(agent()) == answer(agent()) == "1 messages"
    assert not FILE.exists()


def test_a_thread_that_outlives_the_process_has_its_log_in_the_savers_file() -> None:
    """Opened again, nothing is missing."""
    for expected in ("1 messages", "3 messages"):
        with sqlite3.connect("checkpoints.db", check_same_thread=False) as connection:
            ours = ContextMiddleware()
            assert answer(agent(SqliteSaver(connection), ours), ONE) == expected
            assert len(history(ours.archive, ThreadKey("local", "1"))) == int(expected[0]) + 1
            ours.close()
    assert not FILE.exists()


def test_a_thread_in_a_database_that_is_not_known_has_its_log_in_the_file() -> None:
    """A saver of another kind: its state lasts, for all that can be seen."""

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

    saver = Wrapped()
    assert [answer(agent(saver), ONE), answer(agent(saver), ONE)] == ["1 messages", "3 messages"]
    assert FILE.exists()


def test_one_middleware_keeps_both_kinds_apart() -> None:
    """The same id with a saver in memory and one on disk is two threads."""
    ours = ContextMiddleware()
    with sqlite3.connect("checkpoints.db", check_same_thread=False) as connection:
        lasting, passing = agent(SqliteSaver(connection), ours), agent(InMemorySaver(), ours)
        said = [answer(one, ONE) for one in (lasting, passing, lasting, passing)]
    assert said == ["1 messages", "1 messages", "3 messages", "3 messages"]


def test_threads_that_come_from_outside_do_not_pile_up_in_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that passes whole histories keeps no more than are open."""
    monkeypatch.setattr(session_pool, "OPEN_THREADS", 3)
    ours = ContextMiddleware()
    one = agent(middleware=ours)
    for number in range(8):
        answer(one, said=f"question {number}")
    assert 1 <= len(list(ours.archive.threads("local"))) <= 3
