"""Runs that an older Thalweg had not ended are performed after the upgrade of the tables."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from thalweg.database.jobs import BACKGROUND
from thalweg.database.migrations import postgres, sqlite
from thalweg.database.migrations.schema import POSTGRES, SQLITE, VERSION_TABLE, in_dialect
from thalweg_server.runs.base import Draft, RunKey, RunRecord
from thalweg_server.runs.emitting import Emit
from thalweg_server.runs.opening import open_journal
from thalweg_server.runs.running import ProcessRuns, RunOutcome

BEFORE, BEFORE_IN_POSTGRES = (
    Path(__file__).with_name("before_queue.sql").read_text(encoding="utf-8").split("-- PostgreSQL")
)
INSERT = (
    "INSERT INTO runs (owner, thread, run, status, request, work, attempt) VALUES"
    " ('ada', 't1', 'r1', 'running', '{}', 'gone', 1), ('ada', 't1', 'r2', 'waiting', '{}', '', 0),"
    " ('ada', 't1', 'r3', 'waiting', '{}', '', 0), ('bob', 't1', 'r1', 'queued', '{}', 'gone', 0),"
    " ('cem', 't1', 'r1', 'completed', '{}', '', 1)"
)


async def perform_all(address: str | Path) -> list[str]:
    """Open the journal, and perform what it has; return the runs in the order of their start."""
    performed: list[str] = []

    async def perform(run: RunRecord, emit: Emit) -> RunOutcome:
        performed.append(f"{run.key.owner} {run.key.run} {run.attempt}")
        await emit(Draft("notice", "{}"))
        return RunOutcome("completed", "{}")

    keys = [RunKey("ada", "t1", f"r{n}") for n in (1, 2, 3)] + [RunKey("bob", "t1", "r1")]
    async with open_journal(address) as journal, ProcessRuns(journal, perform) as runs:
        for key in keys:
            assert (await runs.join(key)).status == "completed"
    return performed


@pytest.mark.anyio
class TestUpgrade:
    """From the newest tables without a queue."""

    @pytest.fixture
    def anyio_backend(self) -> str:
        """Run on asyncio."""
        return "asyncio"

    async def test_a_file(self, tmp_path: Path) -> None:
        """Each run once, in the order of its thread."""
        connection = sqlite3.connect(path := tmp_path / "runs.db", isolation_level=None)
        connection.executescript(in_dialect(BEFORE, SQLITE))
        connection.execute(
            f"CREATE TABLE {VERSION_TABLE} (component TEXT PRIMARY KEY, version TEXT)"
        )
        connection.execute(f"INSERT INTO {VERSION_TABLE} VALUES ('runs', '0009')")  # noqa: S608 (ours)
        connection.execute(INSERT)
        connection.close()
        check(await perform_all(path))

    async def test_a_server(self, plain_postgres_url: str) -> None:
        """The same, with walls between owners."""
        with psycopg.connect(plain_postgres_url, autocommit=True) as connection:
            connection.execute((in_dialect(BEFORE, POSTGRES) + BEFORE_IN_POSTGRES).encode())
            connection.execute("SELECT set_config('thalweg.owner', 'ada\x1fbob\x1fcem', false)")
            connection.execute(INSERT.encode())
        check(await perform_all(plain_postgres_url))


def check(performed: list[str]) -> None:
    """Check that each run was performed once, those of a thread in their order."""
    assert sorted(performed) == ["ada r1 2", "ada r2 1", "ada r3 1", "bob r1 1"]
    assert [one for one in performed if one.startswith("ada")] == sorted(performed)[:3]


RETENTION = (
    "INSERT INTO queue_job (queue, key, lock, worker, held_until, due) VALUES"
    " ('run', 'ada\x1ft1\x1fr1', 'ada\x1ft1', 'one', 9, 0),"
    " ('retention', 'ada\x1ft1', 'ada\x1ft1', 'one', 9, 0),"
    " ('retention', 'ada\x1ft2', 'ada\x1ft2', 'one', 9, 0),"
    " ('retention', 'ada\x1ft2', 'ada\x1ft2', '', 0, 7)"
)
MOVED = [
    ("ada\x1ft1\x1f*age", "", 0, BACKGROUND),
    ("ada\x1ft1\x1fr1", "one", 0, 0),
    ("ada\x1ft2\x1f*age", "", 7, BACKGROUND),
]
FOUND = "SELECT key, worker, due, priority FROM queue_job WHERE queue = 'run' ORDER BY key"


def test_jobs_of_retention_move_from_a_file_while_a_run_of_their_thread_is_held() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        sqlite.bring_up_to_date(connection, "runs")
        connection.execute(RETENTION)
        connection.execute(f"UPDATE {VERSION_TABLE} SET version = '0012'")  # noqa: S608 (ours)
        sqlite.bring_up_to_date(connection, "runs")
        assert connection.execute(FOUND).fetchall() == MOVED


def test_jobs_of_retention_move_on_a_server(plain_postgres_url: str) -> None:
    with psycopg.connect(plain_postgres_url, autocommit=True) as connection:
        postgres.bring_up_to_date(connection, "here")
        connection.execute(RETENTION.encode())
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '0012'".encode())  # noqa: S608 (ours)
        postgres.bring_up_to_date(connection, "here")
        assert connection.execute(FOUND.encode()).fetchall() == MOVED
