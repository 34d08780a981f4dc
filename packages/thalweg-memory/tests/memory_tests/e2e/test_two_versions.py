"""A newer version changes the tables while a process of this one is at work on them.

Mere additions are not noticed. If something that the process needs is missing, the whole call
ends with an error that states what happened; nothing is written in part.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from thalweg.archive import Archive, Logged, ThreadKey, open_archive
from thalweg.engine.entries import Message, Text
from thalweg.errors import StorageError
from thalweg_memory import Memory, Scope, open_memory

KEY = ThreadKey("ada", "t")
SCOPE = Scope("ada")
Change = Callable[[str], None]


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Change]:
    """Return the address of a database, and a function to run a statement as another process."""
    if request.param == "sqlite":
        path = str(tmp_path / "thalweg.db")

        def in_file(statement: str) -> None:
            with closing(sqlite3.connect(path, timeout=5)) as other:
                other.execute(statement)
                other.commit()

        return path, in_file
    url: str = request.getfixturevalue("postgres_url")

    def on_server(statement: str) -> None:
        with psycopg.connect(url, autocommit=True) as other:
            other.execute(statement.encode())

    return url, on_server


def say(archive: Archive, text: str) -> None:
    """Log a message after the existing ones."""
    archive.append(KEY, [Logged(Message("user", (Text(text),)))], expected=archive.length(KEY))


def test_columns_and_tables_that_are_added_change_nothing(database: tuple[str, Change]) -> None:
    """So may a release be rolled out process by process."""
    address, change = database
    with open_archive(address) as archive, open_memory(address) as store:
        memory = Memory(store, SCOPE)
        say(archive, "first")
        memory.remember("The user keeps bees.")
        for table in ("archive_thread", "archive_turn", "memory_scope"):
            change(f"ALTER TABLE {table} ADD COLUMN added_later TEXT")
        change("CREATE TABLE archive_later (id INTEGER PRIMARY KEY)")
        say(archive, "second")
        memory.remember("The user sails a Folkboat.")
        assert [message.text for message in archive.messages(KEY)] == ["first", "second"]
        assert "Folkboat" in memory.recall("Which boat? Folkboat").text


def test_a_column_that_is_gone_ends_the_call_and_says_what_to_do(
    database: tuple[str, Change],
) -> None:
    """When the tables are as they were, everything is there and the process works on."""
    address, change = database
    with open_archive(address) as archive:
        say(archive, "first")
        change("ALTER TABLE archive_thread RENAME COLUMN length TO size")
        with pytest.raises(StorageError, match="restart this process with the newest version"):
            say(archive, "second")
        change("ALTER TABLE archive_thread RENAME COLUMN size TO length")
        say(archive, "third")
        assert [message.text for message in archive.messages(KEY)] == ["first", "third"]


def test_a_memory_whose_column_is_gone_says_what_to_do(database: tuple[str, Change]) -> None:
    address, change = database
    with open_memory(address) as store:
        memory = Memory(store, SCOPE)
        memory.remember("The user keeps bees.")
        change("ALTER TABLE memory_scope RENAME COLUMN version TO edition")
        with pytest.raises(StorageError, match="restart this process with the newest version"):
            memory.remember("The user sails a Folkboat.")
        change("ALTER TABLE memory_scope RENAME COLUMN edition TO version")
        assert [fact.content for fact in store.facts(SCOPE)] == ["The user keeps bees."]
