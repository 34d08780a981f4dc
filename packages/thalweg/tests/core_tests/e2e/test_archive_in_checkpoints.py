"""An archive that an earlier version kept in the checkpointer's database is opened there."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from core_tests.e2e.test_new_branches import AT, KEY
from thalweg import ContextMiddleware
from thalweg.archive import open_archive
from thalweg.archive.threads import history
from thalweg.errors import LostThreadError
from thalweg.testing import ScriptedModel


def test_a_thread_of_an_earlier_version_goes_on_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error about its missing messages names the argument; the old trigger is dropped."""
    monkeypatch.chdir(tmp_path)
    heard: list[list[str]] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        heard.append([m.text for m in messages if isinstance(m, HumanMessage)])
        return "yes"

    def ask(text: str, **named: Any) -> None:  # noqa: ANN401 (of the middleware)
        connection = sqlite3.connect("state.db", check_same_thread=False)
        with closing(connection), ContextMiddleware({"window": 20_000}, **named) as context:
            saver, model = SqliteSaver(connection), ScriptedModel(script=script)
            agent: Any = create_agent(model, middleware=[context], checkpointer=saver)
            agent.invoke({"messages": [HumanMessage(text)]}, AT)

    open_archive("state.db").close()  # before the saver made its tables, as an earlier version did
    for text in "abc":
        ask(text, archive="state.db", state=1)
    with closing(sqlite3.connect("state.db")) as connection:
        connection.executescript(
            "CREATE TABLE archive_deleted (thread TEXT PRIMARY KEY);"
            "CREATE TRIGGER archive_thread_deleted AFTER DELETE ON checkpoints"
            " BEGIN INSERT OR IGNORE INTO archive_deleted VALUES (OLD.thread_id); END;"
            "UPDATE thalweg_version SET version = '0006';"
        )
    with pytest.raises(LostThreadError, match="archive= names that"):
        ask("d")
    ask("e", archive="state.db", state=1)
    assert heard[-1] == [*"abcde"], "the state has what the failed run was asked"
    with open_archive("state.db") as archive:
        assert len(history(archive, KEY)) == 9
    with closing(sqlite3.connect("state.db")) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        assert "archive_thread_deleted" not in [name for (name,) in triggers]
