"""The SQLite archive keeps every promise of an archive, on disk and in memory."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core_tests.contract.suites.archive import ArchiveContract, Reopen, said
from thalweg.archive import Archive, SqliteArchive, ThreadKey, open_archive
from thalweg.archive.search.index import BATCH_PASSAGES
from thalweg.errors import ConfigError, StorageError


class TestOnDisk(ArchiveContract):
    """In a file, with a second connection as another process has it."""

    @pytest.fixture
    def archive(self, tmp_path: Path) -> Iterator[Archive]:
        """Return an empty archive."""
        with SqliteArchive(tmp_path / "thalweg.db") as archive:
            yield archive

    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Iterator[Reopen]:
        """Open the same file again; every handle is closed at the end."""
        opened: list[Archive] = []

        def open_again() -> Archive:
            opened.append(open_archive(tmp_path / "thalweg.db"))
            return opened[-1]

        yield open_again
        for archive in opened:
            archive.close()


class TestInMemory(ArchiveContract):
    """In memory, where data ends with its handle."""

    @pytest.fixture
    def archive(self) -> Iterator[Archive]:
        """Return an empty archive."""
        archive = open_archive(":memory:")
        yield archive
        archive.close()

    @pytest.fixture
    def reopen(self, archive: Archive) -> Reopen:
        """Return the archive itself."""
        return lambda: archive


def test_a_long_thread_that_was_deleted_leaves_no_word_behind(tmp_path: Path) -> None:
    """Its index is deleted in several batches; its neighbour's is kept."""
    path = tmp_path / "thalweg.db"
    long, short = ThreadKey("ada", "long"), ThreadKey("ada", "short")
    with SqliteArchive(path) as archive:
        archive.append(long, [said(f"apple {n}") for n in range(BATCH_PASSAGES * 2 + 7)])
        archive.append(short, [said("apple pear")])
        archive.search(long, "apple")
        archive.search(short, "apple")
        archive.delete(long)
        raw = sqlite3.connect(path)

        def count(word: str) -> int:
            rows = raw.execute(
                "SELECT rowid FROM archive_words WHERE archive_words MATCH ?", (word,)
            )
            return len(rows.fetchall())

        assert (count("apple"), count("pear"), count("4711")) == (1, 1, 0)
        assert raw.execute("SELECT COUNT(*) FROM archive_passage").fetchone() == (1,)
        raw.close()
        assert archive.search(short, "apple")[0].text == "apple pear"


LONG = "a long text about pears " * 100
"""It is kept compressed, in a row of its own."""


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE archive_blob SET data = x'0011'",
        "UPDATE archive_blob SET data = substr(data, 1, length(data) - 9)",
    ],
)
def test_a_damaged_text_is_reported_as_such(tmp_path: Path, damage: str) -> None:
    """A reader learns that the file is damaged, and what to do."""
    key, path = ThreadKey("ada", "t1"), tmp_path / "thalweg.db"
    with SqliteArchive(path) as archive:
        archive.append(key, [said(LONG)])
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(damage)
        raw.commit()

    with SqliteArchive(path) as archive, pytest.raises(StorageError, match=r"damaged.*backup"):
        archive.messages(key)


def test_a_database_of_another_program_is_refused_and_unchanged(tmp_path: Path) -> None:
    """The archive's tables do not get into a file that was named by mistake."""
    path = tmp_path / "orders.db"
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE orders (id INTEGER)")
    before = path.read_bytes()

    with pytest.raises(ConfigError, match=r"another program \(orders\)"):
        open_archive(path)
    assert path.read_bytes() == before


def test_a_file_that_recorded_what_a_checkpointer_deleted_does_so_no_longer(
    tmp_path: Path,
) -> None:
    """An earlier version had its tables in the checkpointer's file, and a trigger on one there."""
    path = tmp_path / "checkpoints.db"
    with SqliteArchive(path) as archive:
        archive.append(ThreadKey("ada", "t1"), [said("hello")])
    with closing(sqlite3.connect(path)) as raw:
        raw.executescript("""
            UPDATE thalweg_version SET version = '0006';
            CREATE TABLE checkpoints (thread_id TEXT, checkpoint_id TEXT);
            INSERT INTO checkpoints VALUES ('t1', 'c1');
            CREATE TABLE archive_deleted (thread TEXT PRIMARY KEY);
            CREATE TRIGGER archive_thread_deleted AFTER DELETE ON checkpoints
            BEGIN INSERT OR IGNORE INTO archive_deleted VALUES (OLD.thread_id); END;
        """)
    with SqliteArchive(path) as archive:
        assert archive.length(ThreadKey("ada", "t1")) == 1
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("DELETE FROM checkpoints")
        left = "SELECT name FROM sqlite_master WHERE name LIKE '%deleted%'"
        assert raw.execute(left).fetchall() == []


@pytest.mark.parametrize("version", ["0010", "0018"])
def test_an_index_with_other_words_is_made_again(tmp_path: Path, version: str) -> None:
    """Those for shapes (before version 11) or of separate accents (before version 19)."""
    path, key = tmp_path / "thalweg.db", ThreadKey("ada", "t1")
    with SqliteArchive(path) as archive:
        archive.append(key, [said("apple 4s")])
        archive.search(key, "apple")
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("INSERT INTO archive_words (rowid, words) VALUES (9, 'durationshape0')")
        raw.execute("UPDATE thalweg_version SET version = ?", (version,))
    with SqliteArchive(path) as archive:
        assert archive.search(key, "durationshape0") == []
        assert archive.search(key, "apple")[0].text == "apple 4s"
    with closing(sqlite3.connect(path)) as raw:
        words = "SELECT COUNT(*) FROM archive_words WHERE archive_words MATCH ?"
        assert raw.execute(words, ("durationshape0",)).fetchone() == (0,)
        assert raw.execute(words, ("apple",)).fetchone() == (1,)


READ_A_BACKUP = """
import sys
from thalweg.archive import ThreadKey, open_archive
from thalweg.errors import StorageError
from thalweg_memory import Scope, open_memory
from core_tests.contract.suites.archive import said
key = ThreadKey("ada", "t1")
with open_archive(sys.argv[1]) as archive:
    print(archive.messages(key)[0].text, len(archive.search(key, "pears")), archive.threads("ada"))
    print(archive.search(ThreadKey("ada", "t2"), "plums")[0].text)
    try:
        archive.append(key, [said("more")])
    except StorageError as error:
        print(error)
with open_memory(sys.argv[1]) as memory:
    print(memory.version(Scope("ada")))
"""


@pytest.mark.parametrize("has_log", [False, True])
def test_a_backup_on_a_read_only_disk_can_be_read(tmp_path: Path, *, has_log: bool) -> None:
    """Messages and threads are read and searched; a change is refused with the reason."""
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap, which mounts a folder read-only, is not installed")
    from thalweg_memory import open_memory  # noqa: PLC0415 (not for the contract)

    work, backup = tmp_path / "work", tmp_path / "backup"
    work.mkdir()
    with SqliteArchive(work / "thalweg.db") as archive, open_memory(work / "thalweg.db"):
        archive.append(ThreadKey("ada", "t1"), [said("pears")])
        archive.update_index("ada")
        archive.append(ThreadKey("ada", "t2"), [said("plums")])
        if has_log:
            shutil.copytree(work, backup)
    if not has_log:
        shutil.copytree(work, backup)
    assert bool(list(backup.glob("*-wal"))) is has_log
    mount = ["bwrap", "--dev-bind", "/", "/", "--ro-bind", str(backup), str(backup)]
    ran = subprocess.run(
        [*mount, sys.executable, "-c", READ_A_BACKUP, str(backup / "thalweg.db")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )

    assert ran.stdout.splitlines() == [
        "pears 1 ['t1', 't2']",
        "plums",
        f"{backup / 'thalweg.db'}: it is read-only; make the file and its folder writable",
        "0",
    ], ran.stderr
