"""Archives under real processes: killed, racing, out of space, locked out."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from thalweg.archive import Logged, Span, SqliteArchive, ThreadKey, open_archive
from thalweg.engine.entries import Message, Text
from thalweg.errors import ConfigError, StorageError

KEY = ThreadKey("ada", "t1")
PRELUDE = """
import sys
from thalweg.archive import Logged, Span, ThreadKey, open_archive
from thalweg.engine.entries import Message, Text
from thalweg.errors import ConflictError, StorageError
key = ThreadKey("ada", "t1")
def said(n, text): return [Logged(Message("user", (Text(f"{n} {text}"),))) for _ in range(n)]
"""
BATCH = 40
APPENDING = f"""
with open_archive(sys.argv[1]) as archive:
    print("ready", flush=True)
    while True:
        archive.append(key, said({BATCH}, "x" * 5_000 + str(archive.length(key))))
        archive.handle(key, Span(0, archive.length(key) - 1))
        archive.search(key, "x")
"""
RACING = """
with open_archive(sys.argv[1]) as archive:
    sys.stdin.readline()
    won = 0
    for expected in range(0, 40, 2):
        try:
            archive.append(key, said(2, sys.argv[2]), expected=expected)
        except ConflictError:
            pass
        else:
            won += 1
        while archive.length(key) < expected + 2:
            pass
    print(won)
"""
FILLING = """
import random, resource
archive = open_archive(sys.argv[1])
archive.append(key, said(1, "small"))
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
try:
    archive.append(key, said(200, random.Random(1).randbytes(4_000).hex()) + [
        Logged(Message("user", (Text(random.Random(n).randbytes(9_000).hex()),))) for n in range(90)
    ])
except StorageError as error:
    print(error)
print(archive.length(key))
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a Python program that uses an archive."""
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + program, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )


def said(text: str) -> Logged:
    """Log a plain message."""
    return Logged(Message("user", (Text(text),)))


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of an empty archive of either kind."""
    if request.param == "SQLite":
        return str(tmp_path / "thalweg.db")
    return str(request.getfixturevalue("postgres_url"))


def check(place: str) -> None:
    """Let what was interrupted come to its end, and check that no damage was done."""
    if place.startswith("postgresql://"):
        theirs = (
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'thalweg'"
        )
        with psycopg.connect(place, autocommit=True) as raw:
            while raw.execute(theirs).fetchone() != (0,):
                time.sleep(0.01)
        return
    with sqlite3.connect(place) as raw_file:
        assert raw_file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    raw_file.close()


@pytest.mark.parametrize("delay_ms", [0, 3, 11, 29, 61])
def test_a_writer_killed_in_the_middle_leaves_all_of_an_append_or_nothing(
    place: str, delay_ms: int
) -> None:
    """Wherever it was interrupted, the log is whole, searchable and can be written on."""
    process = start(APPENDING, place)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    try:
        process.wait(0.05 + delay_ms / 1_000)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    check(place)

    with open_archive(place) as archive:
        length = archive.length(KEY)
        texts = [message.text for message in archive.messages(KEY)]
        assert length % BATCH == 0
        assert len(texts) == length
        assert all(len(set(texts[i : i + BATCH])) == 1 for i in range(0, length, BATCH))
        for handle, span in archive.handles(KEY).items():
            assert archive.span(KEY, handle) == span
        archive.append(KEY, [said("after the crash: wombat")], expected=length)
        assert archive.search(KEY, "wombat")[0].position == length
    check(place)


def test_of_two_processes_that_saw_the_same_log_one_wins_every_time(place: str) -> None:
    """The other process gets an error, and the log holds each pair of messages in one piece."""
    processes = [start(RACING, place, name) for name in ("left", "right")]
    outputs = [process.communicate("go\n")[0] for process in processes]

    assert sum(map(int, outputs)) == 20
    with open_archive(place) as archive:
        texts = [message.text for message in archive.messages(KEY)]
    assert len(texts) == 40
    assert all(texts[i] == texts[i + 1] for i in range(0, 40, 2))


def test_many_processes_may_open_a_new_archive_at_once(place: str) -> None:
    """All of them get the same one, with one secret."""
    program = """
archive = open_archive(sys.argv[1])
archive.append(key, said(1, "hello"))
print(archive.handle(key, Span(0, 0)))
"""
    processes = [start(program, place) for _ in range(5)]
    handles = {process.communicate()[0] for process in processes}

    assert len(handles) == 1
    with open_archive(place) as archive:
        assert archive.length(KEY) == 5
        assert handles == {f"{archive.handle(KEY, Span(0, 0))}\n"}


def test_a_full_disk_is_told_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    """A limit on the file's size simulates a full disk."""
    path = tmp_path / "thalweg.db"
    output, _ = start(FILLING, path).communicate()
    told, length = output.splitlines()

    assert told.startswith(f"{path}: ")
    assert length == "1"
    with SqliteArchive(path) as archive:
        assert [message.text for message in archive.messages(KEY)] == ["1 small"]


def test_a_database_locked_for_too_long_is_told(tmp_path: Path) -> None:
    """Reading continues meanwhile, and writing afterwards."""
    path = tmp_path / "thalweg.db"
    with SqliteArchive(path, busy_timeout_s=0.05) as archive:
        archive.append(KEY, [said("one")])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(StorageError, match="another process has locked it"):
            archive.append(KEY, [said("two")])
        assert archive.length(KEY) == 1

        other.execute("ROLLBACK")
        other.close()
        assert archive.append(KEY, [said("two")]) == 2


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE archive_log RENAME TO archive_entry",
        "ALTER TABLE archive_thread RENAME COLUMN length TO entries",
        "ALTER TABLE archive_thread ADD COLUMN title BLOB NOT NULL DEFAULT NULL",
    ],
)
def test_a_process_beside_one_that_changed_the_tables_is_to_be_restarted(
    tmp_path: Path, change: str
) -> None:
    """A newer version migrates while an older one runs: nothing is wrong with the disk."""
    path = tmp_path / "thalweg.db"
    with SqliteArchive(path) as archive, sqlite3.connect(path, isolation_level=None) as newer:
        newer.execute(change)
        with pytest.raises(StorageError, match="another version migrated them") as caught:
            archive.append(KEY, [said("one")])
    newer.close()

    assert "restart this process" in str(caught.value)


def a_text_file(folder: Path) -> Path:
    """Make a file that is no database."""
    path = folder / "notes.txt"
    path.write_text("these are notes, and long enough to be no empty database" * 20)
    return path


def a_folder(folder: Path) -> Path:
    """Name a folder where a file is wanted."""
    return folder


def in_no_folder(folder: Path) -> Path:
    """Name a file in a folder that is not there."""
    return folder / "missing" / "thalweg.db"


def in_a_folder_nobody_may_write(folder: Path) -> Path:
    """Name a file where even an administrator cannot make one."""
    proc = Path("/proc")
    if not proc.is_dir():
        pytest.skip("this system has no /proc")
    return proc / folder.name


@pytest.mark.parametrize(
    "place", [a_text_file, a_folder, in_no_folder, in_a_folder_nobody_may_write]
)
def test_a_place_that_cannot_be_an_archive_is_refused_in_one_sentence(
    tmp_path: Path, place: Callable[[Path], Path]
) -> None:
    """The place remains as it was."""
    path = place(tmp_path)
    before = path.read_bytes() if path.is_file() else None

    with pytest.raises(ConfigError) as caught:
        open_archive(path)

    assert caught.value.what == str(path)
    assert "\n" not in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_an_archive_has_one_secret(tmp_path: Path) -> None:
    """A fixed secret produces the same handles anywhere; another one is refused."""
    handles = set()
    for name in ("a.db", "b.db"):
        with SqliteArchive(tmp_path / name, secret=b"fixed") as archive:
            archive.append(KEY, [said("x")])
            handles.add(archive.handle(KEY, Span(0, 0)))
    with SqliteArchive(tmp_path / "c.db") as archive:
        archive.append(KEY, [said("x")])
        own = archive.handle(KEY, Span(0, 0))

    assert len(handles) == 1
    assert own not in handles
    with pytest.raises(ConfigError, match="another secret"):
        open_archive(tmp_path / "c.db", secret=b"fixed")


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    """Rather than read wrongly; not a byte of it is changed."""
    path = tmp_path / "thalweg.db"
    SqliteArchive(path).close()
    with sqlite3.connect(path, isolation_level=None) as raw:
        raw.execute("UPDATE archive_meta SET value = 99 WHERE name = 'version'")
        raw.execute("DROP TABLE archive_holding")
        raw.execute("PRAGMA journal_mode = DELETE")
    raw.close()
    before = path.read_bytes()

    with pytest.raises(ConfigError, match="archive format 99"):
        open_archive(path)

    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_index_of_an_older_format_is_made_anew(tmp_path: Path) -> None:
    """It lists other words: it is neither searched nor taken apart by ours."""
    path = tmp_path / "thalweg.db"
    with SqliteArchive(path) as archive:
        archive.append(KEY, [said("the parser"), said("ok  parser  12.061s")])
        archive.search(KEY, "parser")
    with sqlite3.connect(path, isolation_level=None) as raw:
        raw.execute("INSERT INTO archive_words (archive_words) VALUES ('delete-all')")
        raw.execute("INSERT INTO archive_words (rowid, words) VALUES (4294967297, 'former')")
        raw.execute("UPDATE archive_meta SET value = 1 WHERE name = 'version'")
        raw.execute("DROP TABLE thalweg_version")
    raw.close()

    for _ in range(2):
        with SqliteArchive(path) as archive:
            assert len(archive.search(KEY, "How long did the parser take?")) == 2
            assert archive.search(KEY, "former") == []
    with SqliteArchive(path) as archive:
        archive.delete(KEY)
    with sqlite3.connect(path) as raw:
        raw.execute("INSERT INTO archive_words (archive_words) VALUES ('integrity-check')")
        assert raw.execute("SELECT value FROM archive_meta WHERE name = 'version'").fetchone() == (
            b"2",
        )
    raw.close()


def test_an_unknown_kind_of_archive_is_refused_without_the_password() -> None:
    """Addresses may hold secrets."""
    with pytest.raises(ConfigError, match="no such kind") as caught:
        open_archive("mysql://ada:hunter2@host/db")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE archive_log SET body = ''",
        "DELETE FROM archive_log",
        "INSERT INTO archive_log VALUES (1, 9, '', '', '', '')",
        "INSERT OR REPLACE INTO archive_log VALUES (1, 0, '', '', '', '')",
    ],
)
def test_the_log_itself_refuses_to_be_rewritten(tmp_path: Path, statement: str) -> None:
    """Even to someone with the file open in SQLite."""
    path = tmp_path / "thalweg.db"
    with SqliteArchive(path) as archive:
        archive.append(KEY, [said("kept")])
        raw = sqlite3.connect(path)

        with pytest.raises(sqlite3.IntegrityError, match="log"):
            raw.execute(statement)
        raw.close()
        assert archive.messages(KEY)[0].text == "kept"
