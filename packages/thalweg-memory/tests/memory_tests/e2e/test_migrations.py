"""Tables in PostgreSQL: made, brought up to date, and refused, on a real server."""

import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from core_tests.postgres import Served, as_role
from thalweg.archive import Span, ThreadKey, open_archive
from thalweg.archive.postgres import PostgresArchive
from thalweg.database.migrations import versions
from thalweg.database.migrations.history import VERSIONS
from thalweg.database.migrations.postgres import bring_up_to_date, version_of
from thalweg.database.migrations.schema import HEAD
from thalweg.database.postgres_server import connect
from thalweg.engine.transcript import as_text
from thalweg.errors import ConfigError, HandleError, StorageError
from thalweg_memory import open_memory
from thalweg_memory.facts.recall.ranking import index_words
from thalweg_memory.facts.values import Scope

BEFORE = Path(__file__).with_name("before_history.sql")
SECRET = b"fixed for the fixture"
LONG = "The same long text. " * 60
OWNERS = ("ada", "bob", "ада\0")
_SCHEMA = """
SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull, attstorage, attidentity,
    pg_get_expr(adbin, adrelid), reloptions, relrowsecurity, relforcerowsecurity
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
    LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0
    AND NOT attisdropped
UNION ALL SELECT 'index', indexdef, '', false, '', '', '', NULL, false, false
FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'constraint', pg_get_constraintdef(oid), conrelid::regclass::text,
    false, '', '', '', NULL, false, false
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT 'trigger', pg_get_triggerdef(oid), '', false, '', '', '', NULL, false, false
FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'function', pg_get_functiondef(oid), '', prosecdef, '', '',
    proacl::text, NULL, false, false
FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION ALL SELECT 'policy', tablename, policyname, false, '', '', concat_ws(' ', roles, qual),
    NULL, false, false
FROM pg_policies
ORDER BY 1, 2, 3
"""


_KEPT = {
    "archive_thread": "SELECT id, owner, thread, length FROM archive_thread ORDER BY 1",
    "archive_log": "TABLE archive_log ORDER BY 1, 2",
    "archive_turn": "TABLE archive_turn ORDER BY 1, 2",
    "archive_handle": "TABLE archive_handle ORDER BY 1, 2",
}
"""What is to be in a table as it was."""


def schema(url: str) -> list[tuple[object, ...]]:
    """Read all that a database states about its tables."""
    with psycopg.connect(url) as raw:
        return raw.execute(_SCHEMA).fetchall()


def user_of(url: str) -> str:
    """Name the role of an address."""
    return urlsplit(url).username or ""


def restore(url: str) -> None:
    """Make the tables as they were, with rows."""
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute(BEFORE.read_bytes())


def test_an_old_database_and_an_empty_one_end_alike(
    plain_postgres_url: str, postgres_server: str
) -> None:
    """By either way, the result is one schema."""
    open_archive(plain_postgres_url).close()
    made = schema(plain_postgres_url)
    with psycopg.connect(plain_postgres_url, autocommit=True) as raw:
        raw.execute("DROP OWNED BY CURRENT_USER")
    admin_url = as_role(plain_postgres_url, user_of(postgres_server))
    with psycopg.connect(admin_url, autocommit=True) as admin:
        name = sql.Identifier(user_of(plain_postgres_url))
        admin.execute(sql.SQL("GRANT ALL ON SCHEMA public TO {}").format(name))
    restore(plain_postgres_url)
    assert schema(plain_postgres_url) != made
    open_archive(plain_postgres_url).close()
    assert schema(plain_postgres_url) == made
    assert len(made) > 150


def test_every_row_is_there_afterwards(plain_postgres_url: str) -> None:
    """Each owner has its own copy of shared texts; texts that no one held are removed."""
    restore(plain_postgres_url)
    with psycopg.connect(plain_postgres_url) as raw:
        before = {table: raw.execute(kept.encode()).fetchall() for table, kept in _KEPT.items()}
    with open_archive(plain_postgres_url, secret=SECRET) as archive:
        for owner in OWNERS:
            for thread in ("t1", "t2"):
                key = ThreadKey(owner, thread)
                asked, long = archive.messages(key)
                assert as_text(asked) == f"{owner} asks in {thread}: where is the parser?"
                assert as_text(long) == LONG
                assert archive.turns(key) == [f"body of {owner}"]
                (handle,) = archive.handles(key)
                assert archive.span(key, handle) == Span(0, 1)
                assert archive.search(key, "parser")[0].text == as_text(asked)
    with open_memory(plain_postgres_url, secret=SECRET) as memory:
        for owner in OWNERS[:2]:
            (fact,) = memory.facts(Scope(owner))
            assert fact.content == f"{owner} keeps bees"
            assert memory.turns(Scope(owner), "t1")[0].text == f"I am {owner} and keep bees."
            (word,) = index_words("bees")
            assert memory.find(Scope(owner), [word]).counts == {word: 2}
        job = memory.lease(now="2026-04-01T10:00:00Z", lease_s=60, worker="w")
        assert job is not None
        assert job.scope == Scope("ada")
    with psycopg.connect(plain_postgres_url, autocommit=True) as raw:
        for table in before:
            raw.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY".encode())
        raw.execute("ALTER TABLE archive_blob NO FORCE ROW LEVEL SECURITY")
        for table, rows in before.items():
            assert raw.execute(_KEPT[table].encode()).fetchall() == rows
        owned = raw.execute("SELECT count(*), count(DISTINCT hash) FROM archive_blob").fetchone()
        assert owned == (4, 2)


def test_texts_of_another_owner_are_not_pruned_with_ones_own(postgres_url: str) -> None:
    """Each is removed with its owner's last thread that holds it."""
    restore(postgres_url)
    with open_archive(postgres_url) as archive:
        for thread in ("t1", "t2"):
            archive.delete(ThreadKey("bob", thread))
        assert archive.prune() > 0
        assert archive.prune() == 0
        assert as_text(archive.messages(ThreadKey("ada", "t1"))[1]) == LONG
    with psycopg.connect(postgres_url) as raw:
        left = raw.execute("SELECT DISTINCT owner FROM archive_blob ORDER BY 1").fetchall()
    assert left == [(b"ada",), ("ада\0".encode(),)]


def test_the_index_of_an_older_format_is_made_anew(postgres_url: str) -> None:
    """It lists other words: it is neither searched nor taken apart by ours."""
    restore(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as raw:
        raw.execute("UPDATE archive_words SET word = 'former' WHERE word LIKE 'pars%'")
        raw.execute("UPDATE archive_meta SET value = '1' WHERE name = 'version'")
    for _ in range(2):
        with open_archive(postgres_url) as archive:
            key = ThreadKey("ada", "t1")
            assert len(archive.search(key, "Where is the parser?")) > 0
            assert archive.search(key, "former") == []


def test_many_may_begin_at_once(postgres_url: str) -> None:
    """One of them does it; all find it done."""
    restore(postgres_url)
    program = "import sys, thalweg.archive as it; it.open_archive(sys.argv[1]).close()"
    others = [subprocess.Popen([sys.executable, "-c", program, postgres_url]) for _ in range(3)]
    failed: list[BaseException] = []

    def open_one() -> None:
        try:
            open_archive(postgres_url).close()
        except BaseException as error:  # noqa: BLE001 (told below)
            failed.append(error)

    threads = [threading.Thread(target=open_one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [other.wait() for other in others] == [0, 0, 0]
    assert failed == []


def test_what_fails_half_way_leaves_everything_as_it_was(postgres_url: str) -> None:
    """A function has another type here."""
    restore(postgres_url)
    before = schema(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as raw:
        raw.execute("CREATE FUNCTION archive_prune() RETURNS int LANGUAGE sql RETURN 1")
    with pytest.raises(StorageError, match="cannot change return type"):
        open_archive(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as raw:
        raw.execute("DROP FUNCTION archive_prune()")
    assert schema(postgres_url) == before
    open_archive(postgres_url).close()


def test_a_role_that_may_not_make_tables_is_told_who_does(served: Served) -> None:
    """And how: before there are any, and when they are older than the code."""
    owner = user_of(served.owner)
    with psycopg.connect(served.owner, autocommit=True) as raw:
        raw.execute("UPDATE thalweg_version SET version_num = '0001'")
    with pytest.raises(ConfigError, match=rf"thalweg db upgrade --role \w+` as {owner}"):
        open_archive(served.url)
    with psycopg.connect(served.owner, autocommit=True) as raw:
        raw.execute("DROP OWNED BY CURRENT_USER")
    with pytest.raises(ConfigError, match="it has no tables, and the role serves_"):
        open_memory(served.url)


def test_a_newer_database_is_refused_before_anything_is_written(served: Served) -> None:
    """By a version that this code does not know."""
    with psycopg.connect(served.owner, autocommit=True) as raw:
        raw.execute("UPDATE thalweg_version SET version_num = '9999'")
    for opens in (open_archive, open_memory):
        with pytest.raises(ConfigError, match=r"version 9999.*update thalweg"):
            opens(served.url)


def test_older_code_refuses_what_newer_code_made(postgres_url: str) -> None:
    """Older code reads no history: the formats make it refuse."""
    PostgresArchive(postgres_url).close()
    open_memory(postgres_url).close()
    with psycopg.connect(postgres_url) as raw:
        for table, known in (("archive_meta", 2), ("memory_meta", 1)):
            said = f"SELECT value FROM {table} WHERE name = 'version'".encode()  # noqa: S608
            (value,) = raw.execute(said).fetchone() or (b"",)
            assert int(value) > known


def test_the_history_ends_where_the_code_says() -> None:
    """One line of versions, each higher than the one before."""
    numbers = [version.NUMBER for version in VERSIONS]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == HEAD
    named = {path.stem for path in Path(versions.__file__).parent.glob("v*.py")}
    assert named == {version.__name__.rpartition(".")[2] for version in VERSIONS}


def test_a_thread_that_nobody_has_is_no_handle_of_anothers(postgres_url: str) -> None:
    """After the change as before."""
    restore(postgres_url)
    with open_archive(postgres_url, secret=SECRET) as archive:
        (handle,) = archive.handles(ThreadKey("ada", "t1"))
        with pytest.raises(HandleError):
            archive.read(ThreadKey("bob", "t1"), handle)


def test_bringing_up_to_date_twice_changes_nothing(postgres_url: str) -> None:
    """It is run before every start, by some."""
    for _ in range(2):
        with connect(postgres_url, "here", 10) as connection:
            bring_up_to_date(connection, "here")
        with psycopg.connect(postgres_url) as raw:
            assert version_of(raw) == HEAD
