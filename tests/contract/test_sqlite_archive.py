"""The SQLite archive keeps every promise of an archive, on disk and in memory."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg.archive import Archive, SqliteArchive, ThreadKey, open_archive
from thalweg.archive.index import BATCH_PASSAGES
from thalweg.testing.archive import ArchiveContract, Reopen, said


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
    """Its index goes in several batches; its neighbour's stays."""
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
