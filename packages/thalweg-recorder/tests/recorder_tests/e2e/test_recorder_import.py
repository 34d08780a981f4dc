"""`thalweg import` as a process: killed, run twice at once, out of disk, on the command line."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from core_tests import forking
from recorder_tests.e2e.test_cli import in_turn, posix
from recorder_tests.unit.recorder.sessions import KEY, numbered, texts, write
from thalweg.archive import open_archive

pytestmark = posix
ROWS = 600
KILLED_AFTER_S = (0.0, 0.02, 0.05, 0.1, 0.2)
"""After the opening of the archive."""


def _import(path: Path, place: Path, *most_bytes: int) -> forking.Forked:
    pipe = subprocess.PIPE
    arguments = (path, place, *most_bytes)
    return forking.start("recorder_tests.e2e.import_killed", *arguments, stdout=pipe, stderr=pipe)


def _finish(process: forking.Forked) -> int:
    process.communicate()
    assert process.returncode is not None
    return process.returncode


@pytest.mark.slow
def test_a_killed_import_is_completed_by_the_next(tmp_path: Path) -> None:
    path, place = write(tmp_path, numbered(range(ROWS))), tmp_path / "a.db"
    for pause in KILLED_AFTER_S:
        process = _import(path, place)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(pause)
        process.kill()
        process.communicate()
        with open_archive(place) as archive:
            assert archive.length(KEY) in {0, ROWS}  # all or nothing

    assert _finish(_import(path, place)) == 0
    with open_archive(place) as archive:
        assert texts(archive) == [f"request {number}" for number in range(ROWS)]


def test_imports_at_the_same_time_add_each_row_once(tmp_path: Path) -> None:
    path, place = write(tmp_path, numbered(range(ROWS))), tmp_path / "a.db"
    open_archive(place).close()

    processes = [_import(path, place) for _ in range(3)]
    new = [int(process.communicate()[0].split()[-1]) for process in processes]

    assert sorted(new) == [0, 0, ROWS]
    with open_archive(place) as archive:
        assert texts(archive) == [f"request {number}" for number in range(ROWS)]


def test_an_import_on_a_full_disk_changes_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    path, place = write(tmp_path, numbered(range(ROWS))), tmp_path / "a.db"
    open_archive(place).close()

    full = _import(path, place, 60_000)
    assert "StorageError" in full.communicate()[1]
    with open_archive(place) as archive:
        assert archive.length(KEY) == 0
    assert _finish(_import(path, place)) == 0
    with open_archive(place) as archive:
        assert archive.length(KEY) == ROWS


def test_sessions_are_imported_listed_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    sessions = tmp_path / ".claude" / "projects" / "-src-shop"
    sessions.mkdir(parents=True)
    write(sessions, numbered([1, 2]))

    first, second, hits, listed, chosen, shown, printed, exported, replayed = in_turn(
        [
            ["import"],
            ["import"],
            ["search", "request", "--project", "/src"],
            ["sessions", "--json"],
            ["sessions", "--project", "/src", "--agent", "claude-code"],
            ["thread", "show", KEY.thread],
            ["thread", "history", KEY.thread],
            ["thread", "export", KEY.thread, "--output", "thread.jsonl"],
            ["replay", "thread.jsonl", "--html", "report.html", "--policy", "thalweg"],
        ],
        tmp_path,
    )

    assert "2 new messages in 1 of 1 sessions." in first.stdout
    assert "0 new messages in 0 of 1 sessions.\n1 unchanged." in second.stdout
    assert f"{KEY.thread}#1 user\nrequest 2" in hits.stdout
    (session,) = json.loads(listed.stdout)["sessions"]
    assert (session["title"], session["thread"]) == ("request 1", KEY.thread)
    assert "/src/shop" in chosen.stdout
    assert "2 messages from" in shown.stdout
    assert "request 2" in printed.stdout
    assert exported.returncode == replayed.returncode == 0
    assert (tmp_path / "report.html").stat().st_size
