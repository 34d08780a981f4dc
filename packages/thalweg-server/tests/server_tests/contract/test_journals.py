"""Both journals keep every promise of a journal."""

from functools import partial
from pathlib import Path

import pytest

from core_tests.postgres import Served
from server_tests.contract.suites.crons import CronContract
from server_tests.contract.suites.runs import JournalContract, Journals
from thalweg_server.runs.opening import open_journal


class TestSqliteJournal(JournalContract, CronContract):
    """In a file."""

    @pytest.fixture
    def journals(self, tmp_path: Path) -> Journals:
        """Open journals on a fresh file."""
        return partial(open_journal, tmp_path / "runs.db")


class TestPostgresJournal(JournalContract, CronContract):
    """On a server."""

    @pytest.fixture
    def journals(self, emptied: Served) -> Journals:
        """Open journals on an empty database."""
        return partial(open_journal, emptied.url)
