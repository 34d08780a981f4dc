"""The PostgreSQL store on a real server: what it keeps apart, and what remains in its files."""

import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from core_tests.postgres import Server
from memory_tests.contract.suites.memory.values import SCOPED
from memory_tests.e2e.test_memory_erasure import left, windows
from thalweg.errors import ConfigError, MemoryStoreError, StorageError
from thalweg_memory.facts.values import (
    Evidence,
    Fact,
    FactId,
    ProfileSection,
    PutFact,
    Scope,
    Statement,
    Trust,
    WriteSection,
)
from thalweg_memory.store.postgres import KEPT_BY_SERVER, LARGE, OLDER, OWNED, PostgresMemory
from thalweg_memory.store.records import Selection

NOW = "2026-03-01T10:00:00Z"
EMPTY = {"memory_posting", "memory_told", "memory_tombstone"}
"""Tables in which `remember` writes nothing."""
ADA, BOB = Scope("ada"), Scope("bob")
TEXT = "The quick 花生过敏 jumps over the lazy dog, number 4711. " * 60


def remember(memory: PostgresMemory, scope: Scope, text: str) -> Fact:
    """Keep a text wherever a memory keeps one."""
    memory.capture(scope, "t1", [Statement("t1", 0, "user", text, NOW, Trust.USER, uid="u1")])
    evidence = Evidence("t1", "u1", text, NOW, Trust.USER)
    fact = Fact(FactId("f"), text, "goal", 1, NOW, "t1", evidence=(evidence,), aliases=(text[:99],))
    for change in (
        PutFact(replace(fact, value=text), "w"),
        PutFact(fact, text),
        WriteSection(ProfileSection("topOfMind", text, NOW, (fact.id,)), "w"),
    ):
        memory.commit(
            scope, [change], expected=memory.version(scope), actor="user", now=NOW, why=text
        )
    return fact


def test_the_server_itself_keeps_scopes_apart(plain_postgres_url: str) -> None:
    """For any statement, even by the owner of the tables: other scopes have no rows."""
    with PostgresMemory(plain_postgres_url) as memory:
        for scope in (ADA, BOB):
            remember(memory, scope, f"of {scope.owner}")
            memory.forget(scope, Selection(uids=("none",)), now=NOW)
    with psycopg.connect(plain_postgres_url) as raw:
        numbers: dict[bytes, int] = {}
        for table in (*SCOPED, "memory_scope"):
            assert raw.execute(b"SELECT * FROM " + table.encode()).fetchall() == []
        for owner in ("bob", "ada"):
            raw.execute("SELECT set_config('thalweg.owner', %s, true)", (owner,))
            numbers |= raw.execute("SELECT owner, id FROM memory_scope").fetchall()
            assert list(numbers)[-1] == owner.encode()
        raw.execute("SELECT set_config('thalweg.scope', %s, true)", (str(numbers[b"ada"]),))
        for table in set(SCOPED) - EMPTY:
            rows = raw.execute(b"SELECT DISTINCT scope FROM " + table.encode()).fetchall()
            assert rows == [(numbers[b"ada"],)]
        assert raw.execute("DELETE FROM memory_fact").rowcount == 1
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            raw.execute("INSERT INTO memory_tombstone VALUES (%s, '')", (numbers[b"bob"],))


@pytest.fixture
def folder(own_postgres: Server) -> Path:
    """Find where a server of our own keeps its tables."""
    with psycopg.connect(own_postgres.url, autocommit=True) as admin:
        (path,) = admin.execute("SHOW data_directory").fetchone() or ("",)
    return Path(path)


def in_tables(server: Server, folder: Path) -> int:
    """Count what remains of the text in the files of tables, once the server wrote them."""
    with psycopg.connect(server.url, autocommit=True) as admin:
        admin.execute("CHECKPOINT")
    return sum(sum(left(each, windows(TEXT)).values()) for each in (folder / "base").iterdir())


@pytest.mark.slow
def test_what_is_forgotten_is_in_no_file_of_a_table(own_postgres: Server, folder: Path) -> None:
    """What the server keeps for itself, its write-ahead log, the receipt names."""
    with PostgresMemory(own_postgres.url) as memory:
        fact = remember(memory, ADA, TEXT)
        remember(memory, BOB, "Something else, which stays. " * 120)
        assert in_tables(own_postgres, folder) > 0
        receipt = memory.forget(ADA, Selection(facts=(fact.id,)), now=NOW)
        assert in_tables(own_postgres, folder) == 0
        assert receipt.left == (KEPT_BY_SERVER,)
        assert left(folder / "pg_wal", windows(TEXT))


def test_large_tables_are_only_vacuumed_and_the_receipt_says_so(
    own_postgres: Server, folder: Path
) -> None:
    """Their files have the bytes until something else is written there, or they are rewritten."""
    with PostgresMemory(own_postgres.url, rewrite_bytes=0) as memory:
        fact = remember(memory, ADA, TEXT)
        remember(memory, BOB, "Something else, which stays. " * 120)
        receipt = memory.forget(ADA, Selection(facts=(fact.id,)), now=NOW)
        assert receipt.left == (LARGE, KEPT_BY_SERVER)
        assert in_tables(own_postgres, folder) > 0
    with PostgresMemory(own_postgres.url) as memory:
        assert memory.forget(ADA, Selection(), now=NOW).left == (KEPT_BY_SERVER,)
    assert in_tables(own_postgres, folder) == 0


def test_an_older_transaction_is_waited_for_and_told_of(postgres_url: str) -> None:
    """It sees what it saw; the server must keep that for it."""
    with PostgresMemory(postgres_url, busy_timeout_s=0.3) as memory:
        fact = remember(memory, ADA, TEXT)
        with psycopg.connect(postgres_url) as reader:
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT 1 FROM memory_meta")
            receipt = memory.forget(ADA, Selection(facts=(fact.id,)), now=NOW)
            assert receipt.left == (OLDER, KEPT_BY_SERVER)
        assert memory.facts(ADA, statuses=None) == []
    with (
        PostgresMemory(postgres_url, busy_timeout_s=20) as memory,
        psycopg.connect(postgres_url) as reader,
    ):
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1 FROM memory_meta")
        threading.Timer(0.3, reader.rollback).start()
        assert memory.forget(ADA, Selection(), now=NOW).left == (KEPT_BY_SERVER,)


def test_who_does_not_own_the_tables_is_told_that_they_were_not_vacuumed(
    postgres_url: str, plain_postgres_url: str
) -> None:
    """The rows are removed, their bytes are the operator's."""
    with PostgresMemory(postgres_url) as memory:
        fact = remember(memory, ADA, TEXT)
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO PUBLIC"
        )
    with PostgresMemory(plain_postgres_url) as memory:
        receipt = memory.forget(ADA, Selection(facts=(fact.id,)), now=NOW)
        assert receipt.left == (OWNED, KEPT_BY_SERVER)
        assert memory.facts(ADA, statuses=None) == []


def test_a_job_that_another_worker_is_about_to_take_is_passed_over(postgres_url: str) -> None:
    """No worker waits for it."""
    with PostgresMemory(postgres_url, busy_timeout_s=0.5) as memory:
        for thread in ("t1", "t2"):
            memory.note(ADA, thread, now=NOW, debounce_s=0, max_wait_s=0)
        with psycopg.connect(postgres_url) as other:
            other.execute("SELECT 1 FROM queue_job ORDER BY id LIMIT 1 FOR UPDATE")
            job = memory.lease(now=NOW, lease_s=60, worker="w")
            assert job is not None
            assert job.thread == "t2"
            assert memory.lease(now=NOW, lease_s=60, worker="w") is None


def test_writers_of_other_scopes_do_not_wait(postgres_url: str) -> None:
    """A scope that another holds is waited for, and no longer than configured."""
    with PostgresMemory(postgres_url, busy_timeout_s=0.3) as memory:
        remember(memory, ADA, "hello")
        with psycopg.connect(postgres_url) as other:
            other.execute("SELECT 1 FROM memory_scope WHERE owner = 'ada' FOR UPDATE")
            remember(memory, BOB, "hello")
            with pytest.raises(StorageError):
                memory.set_mode(ADA, "t1", "off")
        memory.set_mode(ADA, "t1", "off")


def test_many_processes_may_set_the_tables_up_at_once(postgres_url: str) -> None:
    """All have the same secret."""
    stores: list[PostgresMemory] = []
    threads = [
        threading.Thread(target=lambda: stores.append(PostgresMemory(postgres_url)))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fact = remember(stores[0], ADA, TEXT)
    stores[1].forget(ADA, Selection(facts=(fact.id,)), now=NOW)
    assert [store.is_forgotten(ADA, [TEXT]) for store in stores] == [[True]] * 6
    for store in stores:
        store.close()


def test_a_newer_format_and_another_secret_are_refused(postgres_url: str) -> None:
    """Before anything is written."""
    PostgresMemory(postgres_url, secret=b"one").close()
    with pytest.raises(ConfigError, match="another secret"):
        PostgresMemory(postgres_url, secret=b"two")
    with psycopg.connect(postgres_url) as raw:
        raw.execute("UPDATE memory_meta SET value = '99' WHERE name = 'version'")
    with pytest.raises(ConfigError, match="memory format 99"):
        PostgresMemory(postgres_url)


def test_a_server_that_went_away_is_told_of_and_come_back_to(own_postgres: Server) -> None:
    """It is a failure of storage; the store continues when the server is back."""
    with closing(PostgresMemory(own_postgres.url)) as memory:
        remember(memory, ADA, "hello")
        own_postgres.stop()
        with pytest.raises(StorageError):
            memory.facts(ADA)
        own_postgres.start()
        assert len(memory.facts(ADA)) == 1
    with pytest.raises(MemoryStoreError, match="closed"):
        memory.facts(ADA)
