"""Hooks: events are enqueued, worked off once, and a summary is injected where it is due."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core_tests.forking import ROOT
from recorder_tests.unit.recorder.sessions import (
    KEY,
    SESSION,
    call,
    import_one,
    logged,
    model,
    numbered,
    result,
    user,
    write,
)
from thalweg.archive import open_existing
from thalweg.engine.tokens import exact_counter
from thalweg_recorder import hook, open_recorder, worker
from thalweg_recorder.worker import SUMMARY_TOKENS, failed, requeue, summarize, waiting, work

pytestmark = pytest.mark.skipif(os.name != "posix", reason="hooks of POSIX")


def event(name: str, path: Path, **fields: str) -> str:
    """Make an event as an agent passes it to its hooks."""
    plain = {"session_id": SESSION, "transcript_path": str(path), "hook_event_name": name}
    return json.dumps({**plain, **fields})


@pytest.fixture
def _no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "start_worker", lambda _: None)


@pytest.mark.usefixtures("_no_worker")
def test_a_summary_is_injected_once_after_a_compaction(tmp_path: Path) -> None:
    rows = [user(1, "Fix the cart"), model(2, "m1", call("c1", command="make test"))]
    path, home = write(tmp_path, [*rows, result(3, "c1", "1 failed")]), tmp_path / "home"
    start = event("SessionStart", path, source="compact")

    assert hook.main(str(home), event("UserPromptSubmit", path)) == ""
    assert hook.main(str(home), event("PreCompact", path, trigger="auto")) == ""
    assert hook.main(str(home), event("UserPromptSubmit", path)) == ""  # not compacted yet
    assert work(home) == 1
    assert hook.main(str(home), event("SessionStart", path, source="startup")) == ""
    answer = json.loads(hook.main(str(home), start))["hookSpecificOutput"]

    assert answer["hookEventName"] == "SessionStart"
    assert "Fix the cart" in answer["additionalContext"]
    assert "make test" in answer["additionalContext"]
    assert f"{KEY.thread}#" in answer["additionalContext"]
    assert hook.main(str(home), start) == ""
    assert len(list((home / "summaries").iterdir())) == 1  # it is due, and there is none


@pytest.mark.usefixtures("_no_worker")
def test_a_summary_that_comes_late_is_injected_with_the_next_prompt(tmp_path: Path) -> None:
    path, home = write(tmp_path, numbered([1])), tmp_path / "home"
    hook.main(str(home), event("PreCompact", path))
    assert hook.main(str(home), event("SessionStart", path, source="compact")) == ""
    work(home)
    assert "request 1" in hook.main(str(home), event("UserPromptSubmit", path))


@pytest.mark.usefixtures("_no_worker")
def test_an_event_whose_import_fails_stays_in_the_queue(tmp_path: Path) -> None:
    path, home = write(tmp_path, numbered([1])), tmp_path / "home"
    hook.main(str(home), event("Stop", path))
    (home / "thalweg.db").mkdir()
    with pytest.raises(Exception, match="cannot"):
        work(home)
    (home / "thalweg.db").rmdir()
    assert work(home) == 1
    (home / "queue" / "0.json").write_text("no event")
    assert work(home) == 1
    assert list((home / "queue").iterdir()) == []


@pytest.mark.usefixtures("_no_worker")
def test_an_event_that_was_handled_before_a_crash_adds_nothing(tmp_path: Path) -> None:
    path, home = write(tmp_path, numbered([1, 2])), tmp_path / "home"
    for _ in range(2):
        hook.main(str(home), event("PreCompact", path))
        work(home)
    with open_recorder(home / "thalweg.db") as archive:
        assert len(logged(archive)) == 2


def test_thread_commands_find_the_archive_of_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("THALWEG_HOME", raising=False)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with open_recorder() as archive:
        import_one(archive, write(tmp_path, numbered([1])))
    with open_existing() as opened:
        assert opened.threads("local") == [KEY.thread]


def run_hook(home: Path, given: str) -> subprocess.CompletedProcess[str]:
    """Run the hook as an agent does."""
    command = [sys.executable, "-I", "-S", hook.__file__, str(home)]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("given", ["", "no JSON", "[]", "{}", '{"hook_event_name": 1}'])
def test_a_hook_never_fails_its_agent(tmp_path: Path, given: str) -> None:
    done = run_hook(tmp_path / "home", given)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (tmp_path / "file").touch()
    done = run_hook(tmp_path / "file", event("Stop", tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_path_of_older_installations_runs_the_hook(tmp_path: Path) -> None:
    """In a checkout."""
    earlier = ROOT / "src/thalweg/recorder/hook.py"
    given = event("SessionStart", tmp_path / "log", source="compact")
    command = [sys.executable, "-I", "-S", str(earlier), str(tmp_path)]
    subprocess.run(command, input=given, text=True, check=True)
    assert (tmp_path / "summaries" / f"{hook.session_file(SESSION)}.due").exists()


def test_hooks_at_once_start_workers_that_import_each_row_once(tmp_path: Path) -> None:
    path, home = write(tmp_path, numbered(range(50))), tmp_path / "home"
    command = [sys.executable, "-I", "-S", hook.__file__, str(home)]
    hooks = [subprocess.Popen(command, stdin=subprocess.PIPE, text=True) for _ in range(3)]
    for one in hooks:
        one.communicate(event("Stop", path))
    for _ in range(600):
        if not list((home / "queue").iterdir()):
            break
        time.sleep(0.1)
    with open_recorder(home / "thalweg.db") as archive:
        assert len(logged(archive)) == 50


def test_a_summary_stays_in_its_budget(tmp_path: Path) -> None:
    rows = [user(k, f"Do thing {k} " * 200) for k in range(40)]
    with open_recorder(tmp_path / "a.db") as archive:
        import_one(archive, write(tmp_path, rows))
        text = summarize(archive, KEY)
    assert exact_counter()(text) <= SUMMARY_TOKENS
    assert "Do thing 0" in text


@pytest.mark.usefixtures("_no_worker")
def test_a_log_that_cannot_be_read_is_set_aside_and_the_next_event_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home, other = tmp_path / "home", tmp_path / "other.jsonl"
    other.write_text('{"no": "session"}\n')
    for _ in range(2):
        hook.main(str(home), event("Stop", other, session_id="unreadable"))
    path = write(tmp_path, numbered([1]))
    hook.main(str(home), event("Stop", path))

    assert work(home) == 3

    assert not waiting(home)
    (place,) = failed(home)
    assert "unknown format" in json.loads(place.read_text())["error"]
    assert capsys.readouterr().err.count("unknown format") == 2
    with open_existing(home / "thalweg.db") as archive:
        assert [message.text for message in logged(archive)] == ["request 1"]

    other.write_text('{"no": "session"}\n' + path.read_text().replace("request 1", "request 2"))
    requeue(home)
    work(home)
    assert not failed(home)
    assert not list((home / "queue" / "failed").iterdir())


@pytest.mark.usefixtures("_no_worker")
@pytest.mark.parametrize(
    "place", [f"{SESSION}/subagents/wf_1/agent-a1.jsonl", f"{SESSION}/agent-a1.jsonl"]
)
def test_subagents_are_imported_with_their_session(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    """Claude Code and Gemini CLI write their logs below a folder named by the session."""
    home, log = tmp_path / "home", tmp_path / place
    path = write(tmp_path, [user(1, "Fix the cart")])
    log.parent.mkdir(parents=True)
    log.write_text(json.dumps(user(2, "Find the heron", isSidechain=True)) + "\n")
    (log.parent / "agent-a2.jsonl").write_text('{"type": "summary"}\n')

    hook.main(str(home), event("PreCompact", path))
    assert work(home) == 1

    assert "agent-a2.jsonl: unknown format" in capsys.readouterr().err
    assert not failed(home)
    assert "Fix the cart" in next(home.glob("summaries/*.md")).read_text()
    with open_existing(home / "thalweg.db") as archive:
        assert archive.threads("local") == [KEY.thread, f"{KEY.thread}.agent-a1"]


@pytest.mark.usefixtures("_no_worker")
def test_an_event_of_a_log_that_is_gone_is_reported_and_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hook.main(str(tmp_path), event("Stop", tmp_path / "none.jsonl"))
    assert work(tmp_path) == 1
    assert "is gone" in capsys.readouterr().err
    assert not failed(tmp_path)


@pytest.mark.usefixtures("_no_worker")
def test_an_event_that_fails_for_an_unknown_reason_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, path = tmp_path / "home", write(tmp_path, numbered([1]))

    def fail(*_: object) -> str:
        raise RecursionError

    monkeypatch.setattr(worker, "summarize", fail)
    hook.main(str(home), event("PreCompact", path))
    hook.main(str(home), event("Stop", write(tmp_path, numbered([1, 2]))))
    assert work(home) == 2
    (place,) = failed(home)
    assert "RecursionError" in json.loads(place.read_text())["error"]
    assert "RecursionError" in capsys.readouterr().err
    with open_existing(home / "thalweg.db") as archive:
        assert len(logged(archive)) == 2


@pytest.mark.usefixtures("_no_worker")
def test_the_summary_of_a_compaction_that_was_cancelled_is_not_injected(tmp_path: Path) -> None:
    home, path = tmp_path / "home", write(tmp_path, numbered([1]))
    hook.main(str(home), event("PreCompact", path))
    work(home)
    hook.main(str(home), event("PreCompact", path))
    assert hook.main(str(home), event("SessionStart", path, source="compact")) == ""
    work(home)
    assert "request 1" in hook.main(str(home), event("UserPromptSubmit", path))


@pytest.mark.usefixtures("_no_worker")
def test_a_summary_that_another_hook_removes_first_keeps_no_event_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, home = write(tmp_path, numbered([1])), tmp_path / "home"
    exists = os.path.exists
    monkeypatch.setattr(os.path, "exists", lambda one: str(one).endswith(".md") or exists(one))
    assert hook.main(str(home), event("PreCompact", path)) == ""
    assert len(waiting(home)) == 1
