"""`thalweg record import` as a process: killed, run twice at once, out of disk."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from core_tests import forking
from recorder_tests.e2e.test_cli import in_turn, posix
from recorder_tests.unit.recorder.sessions import KEY, numbered, texts, write
from thalweg.archive import open_archive
from thalweg_recorder import hook

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

    first, second, hits, narrow, listed, chosen, shown, printed, exported, replayed = in_turn(
        [
            ["record", "import"],
            ["record", "import"],
            ["record", "search", "request", "--project", "/src"],
            ["record", "search", "request", "--max-tokens", "5"],
            ["record", "search", "--json"],
            ["record", "search", "--project", "/src", "--agent", "claude-code"],
            ["thread", "show", KEY.thread],
            ["thread", "show", KEY.thread, "--messages"],
            ["thread", "export", KEY.thread, "--output", "thread.jsonl"],
            ["replay", "thread.jsonl", "--html", "report.html", "--policy", "thalweg"],
        ],
        tmp_path,
    )

    assert "2 new messages in 1 of 1 sessions." in first.stdout
    assert "0 new messages in 0 of 1 sessions.\n1 unchanged." in second.stdout
    shown_hit = f"{KEY.thread}#1 user\n(2026-11-23 10:00 · request 1 · /src/shop)\nrequest 2"
    assert shown_hit in hits.stdout
    assert "No hit fits into 5 tokens: the default is 3,000." in narrow.stderr
    (session,) = json.loads(listed.stdout)["sessions"]
    assert (session["title"], session["thread"]) == ("request 1", KEY.thread)
    assert "/src/shop" in chosen.stdout
    assert "2 messages from" in shown.stdout
    assert "request 2" in printed.stdout
    assert exported.returncode == replayed.returncode == 0
    assert (tmp_path / "report.html").stat().st_size


def test_a_former_or_mistyped_command_is_an_error_that_names_another(tmp_path: Path) -> None:
    nothing, wrong, former = in_turn([["record"], ["record", "serch"], ["sessions"]], tmp_path)

    assert (nothing.returncode, "import" in nothing.stderr) == (2, True)
    assert "did you mean 'search'?" in wrong.stderr
    problem = "there is no such command any more; use thalweg record search"
    assert former.stderr == f"thalweg: sessions: {problem}\n"


def test_an_import_works_off_the_queue_and_reports_what_it_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    home = tmp_path / ".thalweg"
    log, odd = write(tmp_path, [*numbered([1]), {"type": "progress"}]), tmp_path / "odd.jsonl"
    odd.write_text('{"no": "session"}\n')
    monkeypatch.setattr(hook, "start_worker", lambda _: None)
    for session, path in (("one", log), ("two", odd)):
        event = {"session_id": session, "transcript_path": str(path), "hook_event_name": "Stop"}
        hook.main(str(home), json.dumps(event))

    queued, again = in_turn([["record", "import"], ["record", "import", str(log)]], tmp_path)

    assert "1 event failed; see " in queued.stderr
    assert "1 unchanged." in again.stdout
    with open_archive(home / "thalweg.db") as archive:
        assert archive.length(KEY) == 1
    (fresh,) = in_turn([["record", "import", str(log), "--archive", "other.db"]], tmp_path)
    assert "Rows that are no messages, left out: 1 progress." in fresh.stdout


PLUGIN = """
from thalweg_recorder import AgentPlaces, row_format

def _begin(source):
    return lambda row: [{"message": {"role": row["who"], "content": row["says"]}}]

FORMAT = row_format(
    "mine",
    lambda source: any("who" in row for row in source.objects),
    _begin,
    places=AgentPlaces("mine", "Mine", ["$MINE_HOME", "~/.mine"], ["*.jsonl"]),
)
"""


def test_a_package_adds_its_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one function and an entry point."""
    package = tmp_path / "package"
    (package / "mine-1.0.dist-info").mkdir(parents=True)
    (package / "mine_format.py").write_text(PLUGIN)
    points = "[thalweg.log_formats]\nmine = mine_format:FORMAT\nwrong = mine_format:_begin\n"
    (package / "mine-1.0.dist-info" / "entry_points.txt").write_text(points)
    (package / "mine-1.0.dist-info" / "METADATA").write_text("Name: mine\nVersion: 1.0\n")
    (tmp_path / ".mine").mkdir()
    (tmp_path / ".mine" / "s1.jsonl").write_text('{"who": "user", "says": "Hello"}\n')
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(package))

    (imported,) = in_turn([["record", "import"]], tmp_path)

    assert "mine:s1-" in imported.stdout
    assert "'wrong' in the group thalweg.log_formats cannot be loaded" in imported.stderr
