"""A memory that the former version wrote: opened, read, changed and forgotten from."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from memory_tests.own_rows import as_format_2
from thalweg.database.sqlite import SqliteRows
from thalweg.errors import ConfigError
from thalweg_memory import Memory, Scope, open_memory
from thalweg_memory.facts.values import Statement, Trust

ADA = Scope("ada")


def fill(path: Path) -> Statement:
    """Make a memory with a fact and a turn, and return the turn."""
    turn = Statement(
        "t", 0, "user", "I keep bees in Porto.", "2026-01-01T00:00:00Z", Trust.USER, uid="m"
    )
    with open_memory(path) as store:
        store.capture(ADA, "t", [turn])
        Memory(store, ADA).remember("The user sails a Folkboat.")
    return turn


def as_written_by_version_1(path: Path) -> None:
    """Take from a file what later versions added."""
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE thalweg_version")
        for table, column in (
            ("memory_scope", "format"),
            ("memory_scope", "cleared"),
            ("memory_turn", "hidden"),
        ):
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.execute("UPDATE memory_meta SET value = ? WHERE name = 'version'", (b"1",))
    connection.close()


def test_a_database_of_the_former_version_goes_on(tmp_path: Path) -> None:
    """It is upgraded when it is opened; what it holds is found, and its index is rebuilt."""
    path = tmp_path / "memory.db"
    fill(path)
    as_written_by_version_1(path)

    with open_memory(path) as store:
        memory = Memory(store, ADA)
        assert "bees" in memory.recall("Who keeps bees?").text
        memory.remember("The user plays the oboe.")
        assert "Folkboat" in memory.recall("Which boat?  Folkboat").text
        memory.forget(query="bees")
        memory.clear()

        assert memory.recall("bees Folkboat oboe").text == ""
    with sqlite3.connect(path) as connection:
        assert dict(connection.execute("SELECT name, value FROM memory_meta"))["version"] == b"2"
    connection.close()


def test_an_index_with_a_row_for_each_word_is_read(tmp_path: Path) -> None:
    """The first read of a scope rebuilds its index."""
    path = tmp_path / "memory.db"
    turn = fill(path)
    with open_memory(path) as store:
        before = store.find(ADA, ["porto", "folkboat"])
    with sqlite3.connect(path) as connection:
        (scope,) = connection.execute("SELECT id FROM memory_scope").fetchone()
        as_format_2(SqliteRows(connection), scope)
        connection.execute("UPDATE memory_scope SET format = 2")
    connection.close()

    with open_memory(path) as store:
        after = store.find(ADA, ["porto", "folkboat"])
        assert (after.counts, after.total) == (before.counts, before.total)
        store.capture(ADA, "t", [replace(turn, text="And I sail.", uid="n")])
        assert "Folkboat" in Memory(store, ADA).recall("Which Folkboat?").text
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT format FROM memory_scope").fetchone() == (4,)
    connection.close()


def test_an_index_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """A process that still runs while a newer one converted it would write what is not found."""
    path = tmp_path / "memory.db"
    turn = fill(path)
    with open_memory(path) as store:
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE memory_scope SET format = 5")
        connection.close()
        with pytest.raises(ConfigError, match="has memory format 5, this version reads 4"):
            store.capture(ADA, "t", [replace(turn, text="I row.", uid="n")])
        with pytest.raises(ConfigError, match="update thalweg"):
            store.find(ADA, ["bees"])
