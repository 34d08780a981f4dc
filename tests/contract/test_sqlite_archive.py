"""The SQLite archive keeps every promise of an archive, on disk and in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg.archive import Archive, SqliteArchive, open_archive
from thalweg.testing.archive import ArchiveContract, Reopen


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
