"""After a read is cancelled before its connection is open, no connection remains open."""

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from thalweg.database.sqlite import SqliteDatabase, SqliteRows
from thalweg.errors import StorageError
from thalweg_server.runs import sqlite
from thalweg_server.runs.base import RunKey

KEY = RunKey("ada", "t1", "r1")


def test_a_journal_closes_a_connection_that_opened_after_its_read_was_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread still runs a call that is no longer awaited."""
    databases: list[SqliteDatabase[SqliteRows]] = []

    class SlowDatabase(SqliteDatabase[SqliteRows]):
        """Takes a while to open."""

        def __init__(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 (hands on)
            time.sleep(0.1)
            super().__init__(*arguments, **options)
            databases.append(self)

    async def run() -> None:
        async with sqlite.SqliteJournal(tmp_path / "runs.db") as journal:
            monkeypatch.setattr(sqlite, "SqliteDatabase", SlowDatabase)
            reading = asyncio.create_task(journal.states([KEY]))
            await asyncio.sleep(0.02)
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading

    asyncio.run(run())
    assert databases
    for database in databases:
        with pytest.raises(StorageError, match="is closed"), database.connection():
            pass
