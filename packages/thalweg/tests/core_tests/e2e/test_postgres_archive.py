"""The PostgreSQL archive when things go wrong: servers that stop, connections that break."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from core_tests.postgres import Server
from thalweg import ContextMiddleware
from thalweg.archive import Archive, Logged, Span, ThreadKey, TurnRow, open_archive
from thalweg.archive.postgres import PostgresArchive
from thalweg.archive.search.index import BATCH_PASSAGES
from thalweg.archive.tables import closed_error
from thalweg.database.postgres import MAX_CONNECTIONS, PostgresDatabase, PostgresRows
from thalweg.engine.entries import Message, Text
from thalweg.errors import ConfigError, ConflictError, StorageError, ThalwegError
from thalweg.testing import ScriptedModel

KEY = ThreadKey("ada", "t1")
AT: Any = {"configurable": {"thread_id": "t1"}}


def said(text: str) -> Logged:
    """Log a plain message."""
    return Logged(Message("user", (Text(text),)))


def raw(url: str) -> psycopg.Connection:
    """Connect as someone else with access to the database would."""
    return psycopg.connect(url, autocommit=True)


def break_connections(url: str) -> None:
    """End every connection that an archive has."""
    with raw(url) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'thalweg'"
        )


def test_a_server_that_stops_is_told_and_one_that_is_back_is_used(own_postgres: Server) -> None:
    """Nothing that was reported as written is lost, nothing else is there."""
    with PostgresArchive(own_postgres.url) as archive:
        archive.append(KEY, [said("one")])
        own_postgres.stop()
        with pytest.raises(StorageError, match="cannot be reached"):
            archive.append(KEY, [said("two")])
        with pytest.raises(StorageError, match="cannot be reached"):
            archive.length(KEY)
        with pytest.raises(StorageError, match="cannot be reached"):
            open_archive(own_postgres.url)

        own_postgres.start()

        assert [message.text for message in archive.messages(KEY)] == ["one"]
        assert archive.append(KEY, [said("two")], expected=1) == 2


def test_a_run_ends_while_the_server_of_the_archive_is_down(own_postgres: Server) -> None:
    """Before any request, or after the answer, which is lost; the next run continues the thread."""
    requests: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        requests.append(messages[-1].text)
        if messages[-1].text == "three":
            own_postgres.stop()
        return "heard"

    with ContextMiddleware(archive=own_postgres.url) as context:
        agent: Any = create_agent(
            ScriptedModel(script=script), middleware=[context], checkpointer=InMemorySaver()
        )
        agent.invoke({"messages": "one"}, AT)
        own_postgres.stop()
        with pytest.raises(StorageError, match="cannot be reached"):
            agent.invoke({"messages": "two"}, AT)
        assert requests == ["one"]
        own_postgres.start()
        with pytest.raises(StorageError, match="cannot be reached"):
            agent.invoke({"messages": "three"}, AT)
        own_postgres.start()
        messages = agent.invoke({"messages": "four"}, AT)["messages"]
    assert requests == ["one", "three", "four"]
    assert [one.text for one in messages] == ["one", "heard", "two", "three", "four", "heard"]


def test_a_connection_that_broke_while_nobody_used_it_is_replaced(postgres_url: str) -> None:
    """As a server's restart or a firewall breaks them: the next call does not notice."""
    with PostgresArchive(postgres_url) as archive:
        archive.append(KEY, [said("one")])
        for length in (1, 2, 3):
            break_connections(postgres_url)
            assert archive.append(KEY, [said("more")], expected=length) == length + 1


def append_three(archive: Archive) -> object:
    """Append to the log."""
    return archive.append(KEY, [said("x" * 5_000), said("two"), said("three")])


def decide(archive: Archive) -> object:
    """Append to the journal."""
    return archive.add_turn(KEY, TurnRow("{}"), length=1)


def delete(archive: Archive) -> object:
    """Delete the thread."""
    archive.delete(KEY)
    return None


@pytest.mark.parametrize("write", [append_three, decide, delete])
def test_a_connection_that_breaks_in_the_middle_leaves_nothing_half_done(
    postgres_url: str, write: Callable[[Archive], object]
) -> None:
    """The call ends in the archive's own error, and the next one works."""
    with PostgresArchive(postgres_url) as archive, raw(postgres_url) as other:
        archive.append(KEY, [said("one")])
        other.execute("BEGIN")
        other.execute("SELECT 1 FROM archive_thread FOR UPDATE")
        caught: list[BaseException] = []

        def writing() -> None:
            try:
                write(archive)
            except StorageError as error:
                caught.append(error)

        thread = threading.Thread(target=writing)
        thread.start()
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        with raw(postgres_url) as watcher:
            while watcher.execute(waiting).fetchone() == (0,):
                pass
        break_connections(postgres_url)
        thread.join()
        other.execute("ROLLBACK")

        assert "the connection broke" in str(caught[0])
        assert [message.text for message in archive.messages(KEY)] == ["one"]
        assert archive.turns(KEY) == []
        assert other.execute("SELECT count(*) FROM archive_blob").fetchone() == (0,)
        write(archive)


def test_a_thread_locked_for_too_long_is_told(postgres_url: str) -> None:
    """Reading it continues meanwhile, as does writing to others, and to it afterwards."""
    with PostgresArchive(postgres_url, busy_timeout_s=0.05) as archive, raw(postgres_url) as other:
        archive.append(KEY, [said("one")])
        other.execute("BEGIN")
        other.execute("SELECT 1 FROM archive_thread FOR UPDATE")

        with pytest.raises(StorageError, match="another process has locked it"):
            archive.append(KEY, [said("two")])
        assert archive.length(KEY) == 1
        assert archive.append(ThreadKey("ada", "t2"), [said("elsewhere")]) == 1

        other.execute("ROLLBACK")
        assert archive.append(KEY, [said("two")]) == 2


def test_threads_of_a_process_share_few_connections(postgres_url: str) -> None:
    """Many more than there are connections wait for each other, and each gets its turn."""
    with PostgresArchive(postgres_url) as archive:
        threads = [
            threading.Thread(target=archive.append, args=(KEY, [said(str(n))]))
            for n in range(MAX_CONNECTIONS * 4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with raw(postgres_url) as watcher:
            ours = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'thalweg'"
            (count,) = watcher.execute(ours).fetchone() or (0,)
        assert 0 < count <= MAX_CONNECTIONS
        assert archive.length(KEY) == MAX_CONNECTIONS * 4


def test_a_call_while_all_connections_are_in_use_ends_in_an_error(postgres_url: str) -> None:
    """It names the database, the limit and a fix; the next call works."""
    database = PostgresDatabase(postgres_url, PostgresRows, closed_error, busy_timeout_s=0.05)
    with ExitStack() as users:
        for _ in range(MAX_CONNECTIONS):
            users.enter_context(database.reading(None))
        problem = f"all {MAX_CONNECTIONS} connections are in use for longer than 2.0 s; try again"
        with pytest.raises(StorageError, match=problem) as refused, database.reading(None):
            pass
    assert refused.value.place == database.place
    with database.reading(None) as rows:
        assert rows.row("SELECT 1") == (1,)
    database.close()
    with pytest.raises(ThalwegError, match="closed"), database.reading(None):
        pass


def test_a_forked_process_has_its_own_connections(postgres_url: str) -> None:
    """Neither process disturbs the other, and the parent's connections outlive the child."""
    program = f"""
import os
from thalweg.database.postgres import PostgresDatabase, PostgresRows

database = PostgresDatabase({postgres_url!r}, PostgresRows, ValueError)

def server_process():
    with database.reading(None) as rows:
        return rows.row("SELECT pg_backend_pid()")[0]

print(server_process(), flush=True)
if child := os.fork():
    os.waitpid(child, 0)
    print(server_process())
    database.close()
else:
    print(server_process(), server_process(), flush=True)
    database.close()
"""
    warnings = ("-W", "error", "-W", "ignore:This process:DeprecationWarning")
    done = subprocess.run(
        [sys.executable, *warnings, "-c", program], check=True, capture_output=True, text=True
    )
    before, first, again, after = done.stdout.split()

    assert (before, first, done.stderr) == (after, again, "")
    assert before != first


def test_two_writers_of_the_same_large_texts_do_not_stop_each_other(postgres_url: str) -> None:
    """The order in which each of them has the texts does not matter."""
    texts = [f"{n} " + "shared " * 400 for n in range(30)]
    orders = [texts, texts[::-1]] * 3
    with PostgresArchive(postgres_url) as archive:
        keys = [ThreadKey("ada", str(n)) for n in range(len(orders))]
        threads = [
            threading.Thread(target=archive.append, args=(key, [said(text) for text in order]))
            for key, order in zip(keys, orders, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for key, order in zip(keys, orders, strict=True):
            assert [message.text for message in archive.messages(key)] == order


def test_pruning_beside_writers_takes_nothing_that_they_hold(postgres_url: str) -> None:
    """Even if the text is held by neither when one begins, and by the other when it ends."""
    text = "now and then held " * 200
    gone = ThreadKey("ada", "gone")
    with PostgresArchive(postgres_url) as archive:
        done = threading.Event()

        def prune() -> None:
            while not done.is_set():
                archive.prune()

        pruning = threading.Thread(target=prune)
        pruning.start()
        for _ in range(30):
            archive.append(gone, [said(text)], expected=0)
            assert archive.messages(gone)[0].text == text
            archive.delete(gone)
        done.set()
        pruning.join()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE archive_log SET body = ''",
        "DELETE FROM archive_log",
        "TRUNCATE archive_log",
        "INSERT INTO archive_log VALUES (1, 9, '', '', '', '')",
        "INSERT INTO archive_log VALUES (1, 1, '', '', '', ''), (1, 3, '', '', '', '')",
        "INSERT INTO archive_log VALUES (9, 0, '', '', '', '')",
        "UPDATE archive_turn SET body = ''",
        "DELETE FROM archive_turn",
        "TRUNCATE archive_turn",
    ],
)
def test_the_log_and_the_journal_refuse_to_be_rewritten(postgres_url: str, statement: str) -> None:
    """Even to someone with the database open."""
    with PostgresArchive(postgres_url) as archive, raw(postgres_url) as other:
        archive.append(KEY, [said("kept")])
        archive.add_turn(KEY, TurnRow("{}"), length=1)

        with pytest.raises(psycopg.IntegrityError, match="archive_"):
            other.execute(statement)
        assert archive.messages(KEY)[0].text == "kept"
        assert archive.turns(KEY) == ["{}"]


def test_an_archive_has_one_secret(postgres_url: str) -> None:
    """A fixed secret produces the same handles as in SQLite; another one is refused."""
    handles = set()
    for address in (":memory:", postgres_url):
        with open_archive(address, secret=b"fixed") as archive:
            archive.append(KEY, [said("x")])
            handles.add(archive.handle(KEY, Span(0, 0)))

    assert len(handles) == 1
    with pytest.raises(ConfigError, match="another secret"):
        open_archive(postgres_url, secret=b"other")


def test_a_newer_format_is_refused(postgres_url: str) -> None:
    """It is not read wrongly, and nothing is created in it."""
    PostgresArchive(postgres_url).close()
    with raw(postgres_url) as other:
        other.execute("UPDATE archive_meta SET value = '99' WHERE name = 'version'")
        other.execute("DROP TABLE archive_holding")

        with pytest.raises(ConfigError, match="archive format 99"):
            open_archive(postgres_url)
        assert other.execute("SELECT to_regclass('archive_holding')").fetchone() == (None,)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE archive_log RENAME TO archive_entry",
        "ALTER TABLE archive_thread RENAME COLUMN length TO entries",
        "ALTER TABLE archive_thread ADD COLUMN title text NOT NULL",
    ],
)
def test_a_process_beside_one_that_changed_the_tables_is_to_be_restarted(
    postgres_url: str, change: str
) -> None:
    """A newer version migrates while an older one runs: the server's log explains nothing."""
    with PostgresArchive(postgres_url) as archive, raw(postgres_url) as newer:
        newer.execute(change)
        with pytest.raises(StorageError, match="another version migrated them") as caught:
            archive.append(KEY, [said("one")])

    assert "restart this process" in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ada:hunter2@127.0.0.1:1/db",
        "postgresql://ada@127.0.0.1:1/db?password=hunter2",
        "postgres://ada:hunter2@nowhere.invalid/db",
        "postgresql://ada:hunter2/x@127.0.0.1/db",
        "postgresql://ada:x@hunter2@127.0.0.1/db",
        "postgresql://ada:hunter2%@127.0.0.1/db",
        "postgresql://ada@127.0.0.1/db?passwort=hunter2",
    ],
)
def test_what_cannot_be_opened_is_told_in_one_sentence_without_the_password(address: str) -> None:
    """An address written wrongly is not repeated at all."""
    with pytest.raises((ConfigError, StorageError)) as caught:
        open_archive(address)
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "postgres" in str(caught.value)


def test_psycopg_is_wanted_only_where_postgresql_is(tmp_path: os.PathLike[str]) -> None:
    """Without it everything else works, and the error states what to install."""
    program = f"""
import sys
sys.modules["psycopg"] = None
import thalweg.archive
from thalweg.errors import ConfigError
thalweg.archive.open_archive({os.fspath(tmp_path)!r} + "/a.db").close()
try:
    thalweg.archive.open_archive("postgresql://ada:hunter2@host/db")
except ConfigError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert "'psycopg[binary]<" in done.stdout
    assert "hunter2" not in done.stdout


def test_a_long_thread_that_was_deleted_leaves_no_word_behind(postgres_url: str) -> None:
    """Its index is removed in several batches; its neighbour's is kept."""
    long, short = ThreadKey("ada", "long"), ThreadKey("ada", "short")
    with PostgresArchive(postgres_url) as archive, raw(postgres_url) as other:
        archive.append(short, [said("apple pear")])
        archive.append(long, [said(f"apple {n}") for n in range(BATCH_PASSAGES * 2 + 7)])
        archive.search(long, "apple")
        archive.search(short, "apple")
        archive.delete(long)

        words = other.execute("SELECT word FROM archive_words ORDER BY word").fetchall()
        assert words == [("appl",), ("pear",)]
        assert other.execute("SELECT COUNT(*) FROM archive_passage").fetchone() == (1,)
        assert archive.search(short, "apple")[0].text == "apple pear"


def test_a_thread_whose_deletion_was_broken_off_is_searched_as_before(postgres_url: str) -> None:
    """Part of its index is missing, and is rebuilt by the next search."""
    with PostgresArchive(postgres_url) as archive, raw(postgres_url) as other:
        archive.append(KEY, [said(f"apple {n}") for n in range(BATCH_PASSAGES + 100)])
        archive.search(KEY, "apple")
        before = other.execute("TABLE archive_words ORDER BY block, word").fetchall()

        archive._unindex_batch(KEY)  # noqa: SLF001 (so does `delete` begin)
        between = other.execute("TABLE archive_words").fetchall()
        archive.search(KEY, "apple")

        assert 0 < len(between) < len(before)
        assert other.execute("TABLE archive_words ORDER BY block, word").fetchall() == before


def test_who_saw_an_older_log_is_told_across_connections(postgres_url: str) -> None:
    """Also when the thread is made by both at once."""
    with PostgresArchive(postgres_url) as one, PostgresArchive(postgres_url) as other:
        barrier = threading.Barrier(2)
        told: list[object] = []

        def write(archive: Archive) -> None:
            barrier.wait()
            try:
                told.append(archive.append(KEY, [said("x"), said("y")], expected=0))
            except ConflictError as error:
                told.append((error.expected, error.found))

        threads = [threading.Thread(target=write, args=(archive,)) for archive in (one, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(told, key=str) == [(0, 2), 2]
