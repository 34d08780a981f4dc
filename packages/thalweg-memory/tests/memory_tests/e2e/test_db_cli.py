"""`thalweg db` as people run it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from core_tests.distributions import install
from core_tests.postgres import Served, as_role
from memory_tests.e2e.test_migrations import user_of
from thalweg.archive import Logged, ThreadKey, open_archive
from thalweg.engine.entries import Message, Text

NAMED = "THALWEG_DATABASE_URL"


def db(*arguments: str, url: str = "", **changes: str) -> subprocess.CompletedProcess[str]:
    """Run a command in this environment."""
    return subprocess.run(
        [sys.executable, "-m", "thalweg", "db", *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, NAMED: url, **changes},
    )


@pytest.mark.nightly
@pytest.mark.slow
def test_tables_are_made_by_one_role_and_served_by_another(
    plain_postgres_url: str, postgres_server: str
) -> None:
    """The whole way that docs/many-machines.md shows; a role that serves needs no more."""
    admin_url = as_role(plain_postgres_url, user_of(postgres_server))
    role = f'app "{user_of(plain_postgres_url)[-8:]}'
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
        name = sql.Identifier(admin.info.dbname)
        to = sql.Identifier(user_of(plain_postgres_url))
        admin.execute(sql.SQL("GRANT ALL ON DATABASE {} TO {}").format(name, to))
    serving = as_role(plain_postgres_url, role.replace(" ", "%20").replace('"', "%22"))
    try:
        before = db("status", url=plain_postgres_url)
        assert before.returncode == 2
        assert "version none" in before.stdout
        mistyped = db("upgrade", "--role", "mistyped", url=plain_postgres_url)
        assert mistyped.returncode == 2
        assert "there is no role mistyped; CREATE ROLE" in mistyped.stderr
        assert "version none" in db("status", url=plain_postgres_url).stdout
        for _ in range(2):
            made = db("upgrade", "--url", plain_postgres_url)
            assert made.returncode == 0, made.stderr
            assert "LangGraph" in made.stdout
        printed = db("status", "--role", role, url=plain_postgres_url)
        assert "may not" not in db("status", url=serving).stdout  # nothing was granted
        applied = db("upgrade", "--role", role, url=plain_postgres_url)
        assert printed.stdout.startswith("GRANT ")
        grants = db("status", "--role", role, "--json", url=plain_postgres_url).stdout
        assert json.loads(grants) == {"grants": printed.stdout.rstrip(";\n").split(";\n")}
        assert applied.stdout.endswith(printed.stdout)
        after = db("status", url=serving)
        assert after.returncode == 0, after.stdout
        assert "may not create tables" in after.stdout
        with open_archive(serving) as archive:
            archive.append(ThreadKey("ada", "t"), [Logged(Message("user", (Text("hello"),)))])
        with psycopg.connect(serving) as raw:
            assert raw.execute("TABLE checkpoints").fetchall() == []
            assert raw.execute("SELECT run_submit_missing(' ')").fetchall() == [(0,)]
    finally:
        with psycopg.connect(admin_url, autocommit=True) as admin:
            admin.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role)))
            admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def test_tables_of_a_package_that_cannot_be_loaded_are_reported(
    plain_postgres_url: str, tmp_path: Path
) -> None:
    """All others are created."""
    install(tmp_path, "gone", "gone_package:create", "thalweg.tables")
    (tmp_path / "ada_package.py").write_text("def create(url):\n    yield 'Rows of ada.'\n")
    install(tmp_path, "zoe", "ada_package:create", "thalweg.tables")
    ended = db("upgrade", url=plain_postgres_url, PYTHONPATH=str(tmp_path))
    assert ended.returncode == 2
    assert "LangGraph's checkpoint tables exist" in ended.stdout
    assert "Rows of ada.\n" in ended.stdout
    assert ended.stderr.startswith("thalweg: gone: its entry point 'main' in the group")
    assert ended.stderr.count("\n") == 1


def test_a_superuser_is_told_that_nothing_holds_it_back(served: Served) -> None:
    """Plainly, and with exit code 2."""
    told = db("status", url=served.admin)
    assert told.returncode == 2
    assert "row-level security does not apply to it" in told.stdout
    plain = json.loads(db("status", "--json", url=served.url).stdout)
    assert plain["held"]
    assert plain["bare"] == plain["problems"] == []
    assert len(plain["walled"]) == 31


def test_a_table_without_a_wall_is_named(served: Served) -> None:
    """The status names a table from which someone removed it."""
    with psycopg.connect(served.owner, autocommit=True) as owner:
        owner.execute("ALTER TABLE memory_fact NO FORCE ROW LEVEL SECURITY")
    told = db("status", url=served.url)
    assert told.returncode == 2
    assert "no row-level security on these tables: memory_fact" in told.stdout


def test_commits_that_a_crash_may_lose_are_reported(served: Served) -> None:
    """The setting breaks "exactly once": what was confirmed is lost after an immediate stop."""
    assert db("status", url=served.url).returncode == 0
    with psycopg.connect(served.admin, autocommit=True) as admin:
        name = sql.Identifier(admin.info.dbname)
        admin.execute(sql.SQL("ALTER DATABASE {} SET synchronous_commit = off").format(name))
    ended = db("status", url=served.url)
    assert ended.returncode == 2
    assert "synchronous_commit is off" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("status",), "no database is named"),
        (("upgrade", "--url", "postgresql://ada:hunter2@127.0.0.1:1/db"), "cannot be reached"),
        (("upgrade", "--url", "sqlite:///x"), "cannot be parsed"),
    ],
)
def test_what_is_wrong_is_one_sentence_without_a_password(
    arguments: tuple[str, ...], words: str
) -> None:
    """As everywhere."""
    told = db(*arguments)
    assert told.returncode == 2
    assert words in told.stderr
    assert "hunter2" not in told.stderr
    assert told.stderr.count("\n") == 1
