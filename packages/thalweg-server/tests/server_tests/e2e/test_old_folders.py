"""A data folder of an older Thalweg: opened, read and written."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from thalweg.archive import Logged, Span, ThreadKey, open_archive
from thalweg.database.migrations.schema import HEAD, Component
from thalweg.database.migrations.sqlite import version_of
from thalweg.database.sqlite_files import connect
from thalweg.engine.entries import Message, Text
from thalweg.engine.transcript import as_text
from thalweg.errors import ConfigError
from thalweg_memory import Memory, Scope, open_memory
from thalweg_server.app.registry import open_registry
from thalweg_server.runs.base import RunKey
from thalweg_server.runs.opening import open_journal

pytestmark = pytest.mark.anyio
KEY = ThreadKey("ada", "t1")
ADA = Scope("ada")
COMPONENTS: tuple[Component, ...] = ("archive", "memory", "app")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the files as they were before SQLite files had a history."""
    before = Path(__file__).with_name("before_history_sqlite.sql").read_text(encoding="utf-8")
    for name, statements in zip(
        ("thalweg.db", "runs.db"), before.split("-- runs.db\n"), strict=True
    ):
        with closing(sqlite3.connect(tmp_path / name)) as raw:
            raw.executescript(statements)
            raw.execute("PRAGMA journal_mode = WAL")
    return tmp_path


def schema_of(path: Path) -> dict[str, set[str]]:
    """List the columns of each table and the indexes and triggers of a file."""
    with closing(sqlite3.connect(path)) as raw:
        named = raw.execute("SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        found = {f"{kind} {name}": set[str]() for kind, name in named}
        for kind, name in named:
            if kind == "table":
                columns = raw.execute("SELECT name, pk FROM pragma_table_info(?)", (name,))
                found[f"table {name}"] = {f"{column} {key}" for column, key in columns}
    return found


def test_what_was_said_is_there_and_goes_on(folder: Path) -> None:
    """Messages, turns, handles, summaries, search."""
    with open_archive(folder / "thalweg.db", secret=b"fixed for the fixture") as archive:
        asked, long = archive.messages(KEY)
        assert as_text(asked) == "Where is the parser?"
        assert as_text(long) == "The same long text. " * 110
        assert archive.turns(KEY) == ["body of ada"]
        (handle,) = archive.handles(KEY)
        assert archive.span(KEY, handle) == Span(0, 1)
        assert archive.summary(KEY, "00ff") == "a summary"
        assert archive.append(KEY, [Logged(Message("user", (Text("And the lexer?"),)))]) == 3
        assert [passage.position for passage in archive.search(KEY, "lexer")] == [2]


def test_what_was_remembered_is_recalled(folder: Path) -> None:
    """Turns and facts, by the index that was written then."""
    with open_memory(folder / "thalweg.db", secret=b"fixed for the fixture") as store:
        memory = Memory(store, ADA)
        assert "bees" in memory.recall("Who keeps bees?").text
        assert "Folkboat" in memory.recall("What does the user sail?").text
        memory.forget(query="bees")
        assert "bees" not in memory.recall("Who keeps bees?").text


async def test_threads_and_runs_are_listed(folder: Path) -> None:
    """With their events; one that had not ended can be performed."""
    registry = open_registry(str(folder / "thalweg.db"))
    assert [row.title for row in registry.list("ada", 10)] == ["The parser"]
    registry.close()
    async with open_journal(folder / "runs.db") as journal:
        assert [run.status for run in await journal.list("ada")] == ["queued", "completed"]
        events = await journal.read(RunKey("ada", "t1", "r1"))
        assert [event.type for event in events] == ["run.started", "run.completed"]
        claim = await journal.claim(RunKey("ada", "t1", "r2"))
        assert claim is not None
        await journal.finish(claim, "completed", [])
        assert await journal.count_active("ada") == 0


async def test_old_files_and_new_ones_end_alike(folder: Path, tmp_path: Path) -> None:
    """Old and new files end with one schema."""
    new = tmp_path / "new"
    new.mkdir()
    for home in (folder, new):
        open_archive(home / "thalweg.db").close()
        open_memory(home / "thalweg.db").close()
        open_registry(str(home / "thalweg.db")).close()
        async with open_journal(home / "runs.db"):
            pass
    for name in ("thalweg.db", "runs.db"):
        assert schema_of(folder / name) == schema_of(new / name)


def test_a_file_has_a_version_for_each_room_that_was_opened_in_it(folder: Path) -> None:
    """The version is written once; a newer one is refused, and nothing is changed."""
    path = folder / "thalweg.db"
    for component in COMPONENTS:
        with closing(connect(str(path), component, 1.0)) as connection:
            assert version_of(connection, component) == HEAD
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE thalweg_version SET version = '9999' WHERE component = 'memory'")
    before = path.read_bytes()
    for opens in (open_archive, open_memory):
        with pytest.raises(ConfigError, match=r"version 9999.*update thalweg"):
            opens(path)
    assert path.read_bytes() == before


def test_what_fails_half_way_leaves_everything_as_it_was(folder: Path) -> None:
    """A later version indexes a column that has another name here."""
    path = folder / "thalweg.db"
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("DROP TABLE memory_served")
        raw.execute("DROP INDEX memory_fact_status")
        raw.execute("ALTER TABLE memory_fact RENAME COLUMN status TO state")
    before = schema_of(path)
    with pytest.raises(ConfigError, match="status"):
        open_memory(path)
    assert schema_of(path) == before
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("ALTER TABLE memory_fact RENAME COLUMN state TO status")
    with open_memory(path) as store:
        assert len(store.facts(ADA)) == 1
