"""The PostgreSQL archive keeps every promise of an archive, on a real server."""

from collections.abc import Iterator

import pytest

from core_tests.contract.suites.archive import ArchiveContract, Reopen
from core_tests.postgres import Served
from thalweg.archive import Archive, open_archive
from thalweg.archive.postgres import PostgresArchive


class TestServed(ArchiveContract):
    """As a role that may read and write an owner's rows at a time, and make no tables."""

    @pytest.fixture
    def archive(self, emptied: Served) -> Iterator[Archive]:
        """Return an empty archive."""
        with PostgresArchive(emptied.url) as archive:
            yield archive

    @pytest.fixture
    def reopen(self, emptied: Served) -> Iterator[Reopen]:
        """Open the same database again; every handle is closed at the end."""
        opened: list[Archive] = []

        def open_again() -> Archive:
            opened.append(open_archive(emptied.url))
            return opened[-1]

        yield open_again
        for archive in opened:
            archive.close()
