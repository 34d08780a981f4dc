"""Row-level security on a real server: what a role that serves cannot see, write or change.

The second wall: statements name the owner, and where one forgets to, the server does not.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql

from core_tests.postgres import Served
from thalweg.archive import Logged, Span, ThreadKey, TurnRow
from thalweg.archive.postgres import PostgresArchive
from thalweg.database import postgres
from thalweg.database.migrations import rights
from thalweg.engine.entries import Message, Text
from thalweg.errors import ArchiveError, ConfigError
from thalweg_memory.facts.recall.ranking import index_words
from thalweg_memory.facts.values import (
    Change,
    Evidence,
    Fact,
    FactId,
    ProfileSection,
    PutFact,
    Scope,
    Trust,
    WriteSection,
)
from thalweg_memory.facts.values import Statement as Said
from thalweg_memory.store.postgres import PostgresMemory

NOW = "2026-03-01T10:00:00Z"
LONG = "The same long text of everybody. " * 80
ADA, BOB = ThreadKey("ada", "t1"), ThreadKey("bob", "t1")
SECRET = "the heron of ada"  # noqa: S105 (what is told)
Settings = dict[str, str]


def fill(url: str) -> None:
    """Create an archive and a memory for two owners."""
    with PostgresArchive(url) as archive, PostgresMemory(url) as memory:
        for owner in ("ada", "bob"):
            key, text = ThreadKey(owner, "t1"), f"the heron of {owner}"
            messages = [Logged(Message("user", (Text(said),))) for said in (text, LONG)]
            archive.append(key, messages)
            archive.add_turn(key, TurnRow(text, text.encode()), length=2)
            archive.handle(key, Span(0, 1))
            archive.attach(key, f"{text} " * 200)
            assert archive.search(key, "heron")
            scope = Scope(owner)
            memory.capture(scope, "t1", [Said("t1", 0, "user", text, NOW, Trust.USER, uid="u1")])
            evidence = Evidence("t1", "u1", text, NOW, Trust.USER)
            fact = Fact(FactId("f"), text, "goal", 1, NOW, "t1", evidence=(evidence,))
            written: list[Change] = [
                PutFact(fact, "w"),
                WriteSection(ProfileSection("topOfMind", text, NOW, (fact.id,)), "w"),
            ]
            memory.commit(
                scope, written, expected=memory.version(scope), actor="user", now=NOW, why=text
            )
            memory.note(scope, "t1", now=NOW, debounce_s=0, max_wait_s=0)
            assert memory.lease(now=NOW, lease_s=1, worker="w")


def fill_the_rest(admin: psycopg.Connection) -> None:
    """Put a row of ada's into tables that are empty after little use."""
    for row in (
        b"memory_vector SELECT id, 1, 1, 'v'",
        b"memory_posting SELECT id, 1, 1, 'i'",
        b"memory_told SELECT id, 1, 1, 'told'",
        b"memory_tombstone SELECT id, 'digest'",
    ):
        admin.execute(b"INSERT INTO " + row + b" FROM memory_scope WHERE owner = 'ada'")
    admin.execute(
        b"INSERT INTO archive_summary"
        b" SELECT id, 'source', '{}' FROM archive_thread WHERE owner = 'ada'"
    )
    for owner in ("ada", "bob"):
        for statement in (
            "INSERT INTO runs (owner, thread, run, request) VALUES (%(owner)s, 't1', 'r', '{}')",
            "INSERT INTO run_events VALUES (%(owner)s, 't1', 'r', 1, 'run.started', '{}')",
            "INSERT INTO run_cron VALUES (%(owner)s, 'c', 't1', 0, '{}', 1, 1)",
            "INSERT INTO app_thread VALUES (%(owner)s::bytea, 't1', 'title', 1, 1)",
            "INSERT INTO app_spent VALUES (%(owner)s::bytea, 't1', 'm', 1, 1, 1, 1, 1)",
            "INSERT INTO app_charge VALUES (%(owner)s::bytea, 1, 'm', 1, 1, 1, 1, 1)",
            "INSERT INTO app_document VALUES (%(owner)s::bytea, 'store', 'n', '{}', 1, 1)",
            (
                "INSERT INTO thread_file (owner, thread, hash, path, size)"
                " VALUES (%(owner)s, 't1', 'h', '/f', 1)"
            ),
            (
                "INSERT INTO thread_file_chunk"
                " SELECT id, 0, 'x' FROM thread_file WHERE owner = %(owner)s"
            ),
        ):
            admin.execute(statement.encode(), {"owner": owner})


@pytest.fixture
def filled(served: Served) -> Served:
    """Return a database in which every table has rows of ada's."""
    fill(served.url)
    with psycopg.connect(served.admin, autocommit=True) as admin:
        fill_the_rest(admin)
    return served


def settings_of(url: str, owner: str) -> Settings:
    """Return the settings by which a transaction means this owner's rows."""
    with psycopg.connect(url) as admin:
        asked = (
            "SELECT (SELECT id FROM archive_thread WHERE owner = %s)::text,"
            " (SELECT id FROM memory_scope WHERE owner = %s)::text"
        )
        thread, scope = admin.execute(asked, (owner.encode(),) * 2).fetchone() or ("", "")
    numbers = {"thalweg.thread": thread, "thalweg.scope": scope}
    return {"thalweg.owner": owner, "thalweg.files": owner, **numbers}


@contextmanager
def told(url: str, settings: Settings) -> Iterator[psycopg.Connection]:
    """Begin a transaction with some settings; nothing of it is kept."""
    with psycopg.connect(url) as connection:
        for name, value in settings.items():
            connection.execute("SELECT set_config(%s, %s, true)", (name, value))
        yield connection
        connection.rollback()


def tables_of(url: str) -> list[str]:
    """List the tables that hold rows of owners."""
    with psycopg.connect(url) as connection:
        return list(rights.walled_tables(connection))


def rows_of(admin: psycopg.Connection, table: str) -> list[object]:
    """Read all rows of a table, as JSON."""
    asked = sql.SQL("SELECT to_json(t) FROM {} AS t").format(sql.Identifier(table))
    return sorted((row for (row,) in admin.execute(asked).fetchall()), key=json.dumps)


def attempts(table: str, row: object) -> Iterator[tuple[str, sql.Composed]]:
    """Write what might be tried on a table."""
    name = sql.Identifier(table)
    yield "read", sql.SQL("SELECT * FROM {}").format(name)
    yield "delete", sql.SQL("DELETE FROM {}").format(name)
    assert isinstance(row, dict)
    last = sql.Identifier(list(row)[-1])
    yield "update", sql.SQL("UPDATE {} SET {} = {}").format(name, last, last)
    yield (
        "insert",
        sql.SQL(
            "INSERT INTO {} OVERRIDING SYSTEM VALUE"
            " SELECT (json_populate_record(NULL::{}, {}::json)).*"
        ).format(name, name, sql.Literal(json.dumps(row))),
    )


def test_every_table_has_a_wall_or_is_known_to_hold_nothing_of_an_owner(served: Served) -> None:
    """A new table is thought about: it gets one, or is named in `rights.OPEN`."""
    with psycopg.connect(served.admin) as admin:
        there = admin.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = {table for (table,) in there.fetchall()}
        walls = rights.walled_tables(admin)
        conditions = admin.execute("SELECT qual FROM pg_policies WHERE policyname = 'of_owner'")
        named = re.compile(r"thalweg[_.]|thread_file\.id")  # a file's rows are seen where it is
        assert all(named.search(str(qual)) for (qual,) in conditions.fetchall())
        admin.execute("CREATE TABLE memory_new (scope bigint)")
        assert not rights.walled_tables(admin)["memory_new"]
    assert tables - walls.keys() <= rights.OPEN_TABLES.keys()
    assert [table for table, has_wall in walls.items() if not has_wall] == []
    assert len(walls) == 31


@pytest.mark.parametrize("told_more", ["nothing", "an owner", "an owner and others' numbers"])
def test_the_rows_of_others_are_neither_seen_nor_changed(filled: Served, told_more: str) -> None:
    """This holds for any statement and any numbers, for the tables' owner as well."""
    of_ada = settings_of(filled.admin, "ada")
    settings: Settings = {
        "nothing": {},
        "an owner": {"thalweg.owner": "eve", "thalweg.files": "eve"},
        "an owner and others' numbers": {**of_ada, "thalweg.owner": "eve", "thalweg.files": "eve"},
    }[told_more]
    with psycopg.connect(filled.admin) as admin:
        before = {table: rows_of(admin, table) for table in tables_of(filled.admin)}
    done: list[str] = []
    for url in (filled.url, filled.owner):
        for table, rows in before.items():
            for kind, attempt in attempts(table, rows[0]):
                with told(url, settings) as connection:
                    try:
                        assert connection.execute(attempt).rowcount == 0, (table, kind)
                        assert kind != "insert", table
                    except psycopg.errors.InsufficientPrivilege:
                        assert kind == "insert"
                    except psycopg.errors.IntegrityConstraintViolation:
                        assert table in {"archive_log", "archive_turn"}
                        assert kind == "update"
                    done.append(kind)
    assert len(done) == 2 * 4 * len(before)
    with psycopg.connect(filled.admin) as admin:
        assert {table: rows_of(admin, table) for table in before} == before


def test_ones_own_rows_are_seen_in_every_table(filled: Served) -> None:
    """No one else's are seen; otherwise the test above would show nothing."""
    with told(filled.url, settings_of(filled.admin, "ada")) as connection:
        for table in tables_of(filled.admin):
            rows = connection.execute(b"SELECT * FROM " + table.encode()).fetchall()
            assert rows, table
            assert not {"bob", b"bob"} & {value for row in rows for value in row}


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (x int)",
        "ALTER TABLE archive_log DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE archive_log NO FORCE ROW LEVEL SECURITY",
        "DROP POLICY of_owner ON memory_fact",
        "CREATE POLICY mine ON memory_fact USING (true)",
        "TRUNCATE archive_blob",
        "UPDATE archive_meta SET value = 'mine'",
        "DELETE FROM memory_meta",
        "UPDATE thalweg_version SET version_num = '0001'",
        "SET row_security = off; SELECT * FROM archive_log",
        "ALTER TABLE archive_log DISABLE TRIGGER ALL",
        "CREATE OR REPLACE FUNCTION thalweg_owner() RETURNS bytea LANGUAGE sql RETURN 'ada'::bytea",
    ],
)
def test_a_role_that_serves_cannot_take_a_wall_down(filled: Served, statement: str) -> None:
    """It owns nothing, and has the rights to rows alone."""
    with (
        psycopg.connect(filled.url, autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement.encode())


def test_the_door_for_work_across_owners_opens_for_its_functions_only(filled: Served) -> None:
    """A setting is no key; and who was granted nothing cannot call them."""
    across = {"thalweg.across": "yes"}
    with told(filled.url, across) as connection:
        for table in tables_of(filled.admin):
            assert connection.execute(b"SELECT * FROM " + table.encode()).fetchall() == []
        connection.execute("SELECT archive_prune()")
        closed = connection.execute("SELECT current_setting('thalweg.across', true)").fetchone()
        assert closed == ("",)
    with psycopg.connect(filled.admin, autocommit=True) as admin:
        admin.execute("SET ROLE pg_monitor")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            admin.execute("SELECT archive_prune()")


def test_nobody_learns_by_a_hash_what_others_have(filled: Served) -> None:
    """A text that another owner has is stored again, as if no one had it."""
    with psycopg.connect(filled.admin) as admin:
        hashes = admin.execute("SELECT hash FROM archive_blob WHERE owner = 'ada'").fetchall()
        assert len(hashes) == 2
    with told(filled.url, {"thalweg.owner": "eve"}) as connection:
        for (digest,) in hashes:
            added = (
                "INSERT INTO archive_blob (hash, data, packed) VALUES (%s, 'x', 0)"
                " ON CONFLICT DO NOTHING RETURNING owner"
            )
            assert connection.execute(added, (digest,)).fetchall() == [(b"eve",)]
            assert connection.execute("SELECT data FROM archive_blob").fetchone() == (b"x",)
            connection.execute("DELETE FROM archive_blob")
    with PostgresArchive(filled.url) as archive:
        for (digest,) in hashes:
            with pytest.raises(ArchiveError):
                archive.attachment(ThreadKey("eve", "t1"), digest.hex())


CONDITION = re.compile(r"\b(?:\w+\.)?(owner|thread|scope|agent) = \?")


def everything_of_bob(url: str) -> str:
    """Read as bob all that can be read, and write it down."""
    seen: list[object] = []
    word = index_words("heron")
    with PostgresArchive(url) as archive, PostgresMemory(url) as memory:
        scope = Scope("bob")
        seen += archive.messages(BOB)
        seen += archive.turns(BOB)
        seen.append(archive.turn_state(BOB, 0))
        seen += archive.search(BOB, "heron of ada")
        seen += archive.threads("bob")
        seen += memory.facts(scope, statuses=None)
        seen += memory.turns(scope, "t1")
        seen.append(memory.profile(scope))
        seen += memory.operations(scope)
        seen += memory.items(scope, sorted(memory.find(scope, word).lengths))
    return repr(seen)


@pytest.mark.parametrize("forgotten", ["owner", "thread", "scope", "agent", "all of them"])
def test_a_statement_that_forgets_whose_rows_it_means_finds_no_others(
    filled: Served, forgotten: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its condition is removed from every statement; as a superuser, others' rows are returned."""

    def marked(statement: str) -> bytes:
        def broken(found: re.Match[str]) -> str:
            is_meant = forgotten in {found[1], "all of them"}
            return f"({found[0]} OR true)" if is_meant else found[0]

        return CONDITION.sub(broken, statement).replace("?", "%s").encode()

    assert SECRET not in everything_of_bob(filled.admin)
    monkeypatch.setattr(postgres, "driver_statement", marked)
    seen = everything_of_bob(filled.url)
    assert SECRET not in seen
    assert "the heron of bob" in seen
    if forgotten != "agent":
        assert SECRET in everything_of_bob(filled.admin)


def test_what_is_granted_is_refused_to_a_role_that_nothing_holds(served: Served) -> None:
    """And to one that is not there."""
    with psycopg.connect(served.admin, autocommit=True) as admin:
        superuser = admin.execute("SELECT current_user").fetchone()
        assert superuser is not None
        with pytest.raises(ConfigError, match="bypasses row-level security"):
            list(rights.grant_statements(admin, "here", superuser[0]))
        with pytest.raises(ConfigError, match="CREATE ROLE"):
            list(rights.grant_statements(admin, "here", "nobody at all"))


def test_settings_end_with_their_transaction(filled: Served) -> None:
    """A connection that another owner gets next, from a pool between, has none of them."""
    with psycopg.connect(filled.url, autocommit=True) as connection:
        begun = f"BEGIN; {postgres.as_owner('ada')}"
        connection.execute(begun.encode())
        assert connection.execute("SELECT count(*) FROM archive_thread").fetchone() == (1,)
        connection.execute("COMMIT")
        assert connection.execute("SELECT count(*) FROM archive_thread").fetchone() == (0,)
        connection.execute(b"BEGIN; " + postgres.as_owner("").encode())
        assert connection.execute("SELECT count(*) FROM archive_thread").fetchone() == (0,)
        connection.execute("COMMIT")
