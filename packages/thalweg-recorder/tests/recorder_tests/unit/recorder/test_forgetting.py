"""Forgotten data is removed to the byte, and is not imported again."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from recorder_tests.unit.recorder.sessions import (
    KEY,
    SESSION,
    compacted,
    import_one,
    user,
    write,
)
from thalweg.archive import ThreadKey, open_archive
from thalweg.archive.threads.journal import append_page
from thalweg.cli.app import run
from thalweg.database.erasure import erase_file
from thalweg.engine.entries import Message, Text
from thalweg_recorder import import_sessions, importing
from thalweg_recorder.forgetting import forget, forget_owner, plan_forgetting
from thalweg_recorder.forgotten import ForgottenNames
from thalweg_recorder.hook import session_file
from thalweg_recorder.importing import ImportSource, import_recording
from thalweg_recorder.place import open_recorder
from thalweg_recorder.recordings import Recording
from thalweg_recorder.recordings.base import SessionInfo
from thalweg_recorder.searching import SearchFilter
from thalweg_recorder.sessions import OWNER
from thalweg_recorder.worker import work

WORDS = "the heron of Malta"


def test_what_is_forgotten_leaves_no_byte_and_does_not_come_back(tmp_path: Path) -> None:
    place, forgotten = tmp_path / "a.db", ForgottenNames(tmp_path / "home")
    long = f"{WORDS} " * 400
    path = write(tmp_path, [user(1, f"Find {WORDS}"), user(2, long), *compacted(3, WORDS)])
    with open_archive(place) as archive:
        import_one(archive, path)
        assert archive.search_threads("local", "heron")
        assert forget(archive, [KEY.thread], forgotten) > 0
        (again,) = import_sessions(archive, [path], forgotten=forgotten)
        assert again.skipped == "forgotten"
        assert archive.threads("local") == []
    assert erase_file(place) == ""
    kept = b"".join(one.read_bytes() for one in tmp_path.glob("a.db*"))
    assert b"heron" not in kept
    assert b"Malta" not in kept


def test_a_session_is_forgotten_while_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The import finds the thread gone, and does not create it again."""
    forgotten, path = ForgottenNames(tmp_path / "home"), tmp_path / "chat.jsonl"
    rows = [json.dumps({"role": "user", "content": f"{WORDS} {n}"}) for n in range(2)]
    path.write_text(rows[0], "utf-8")
    with open_archive(":memory:") as archive:
        thread = import_one(archive, path).thread

        def append_late(*given: Any, **named: Any) -> None:  # noqa: ANN401 (of any function)
            monkeypatch.undo()
            forget(archive, [thread], forgotten)
            append_page(*given, **named)

        monkeypatch.setattr(importing, "append_page", append_late)
        path.write_text("\n".join(rows), "utf-8")
        (again,) = import_sessions(archive, [path], forgotten=forgotten)
        assert (again.skipped, again.new) == ("forgotten", 0)
        assert archive.threads("local") == []


def test_a_session_is_forgotten_with_its_parts_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its subagents and large results, its summary, and copies of its log."""
    home, name, other = tmp_path / "home", session_file(SESSION), session_file("other")
    monkeypatch.setenv("THALWEG_HOME", str(home))
    path = write(tmp_path, [user(1, f"Find {WORDS}")])
    results = path.with_suffix("") / "tool-results"
    results.mkdir(parents=True)
    (results / "b1.txt").write_text(WORDS, "utf-8")
    subagent = results.parent / "subagents" / "agent-a1.jsonl"
    subagent.parent.mkdir()
    subagent.write_text(json.dumps(user(2, WORDS, isSidechain=True)), "utf-8")
    for event in (f"failed/{name}", f"failed/{other}", "2"):
        copy = home / "queue" / event / path.name
        copy.parent.mkdir(parents=True)
        copy.write_text(WORDS if event != "2" else path.read_text("utf-8"), "utf-8")
        source = {"session_id": SESSION, "transcript_path": str(path), "hook_event_name": "Stop"}
        (home / "queue" / f"{event}.json").write_text(json.dumps(source), "utf-8")
    (home / "summaries").mkdir()
    for suffix in ("md", "due"):
        for session in (name, other):
            (home / "summaries" / f"{session}.{suffix}").touch()
    with open_recorder() as archive:
        assert sum(one.new for one in import_sessions(archive, [path, subagent])) == 3
        found = plan_forgetting(archive, SearchFilter(), threads=[KEY.thread])
        assert found == archive.threads("local")
        assert len(found) == 3
        forget(archive, found, ForgottenNames(home))
    assert {one.stem for one in home.glob("queue/failed/*")} == {other}
    assert {one.stem for one in home.glob("summaries/*")} == {other}
    work(home)
    assert {one.name for one in home.glob("queue/*")} == {"failed"}
    with open_recorder() as archive:
        assert archive.threads("local") == []
        forgotten = ForgottenNames(tmp_path / "elsewhere")
        forgotten.add([KEY.thread])
        again = import_sessions(archive, [path], forgotten=forgotten)
        assert {one.skipped for one in again} == {"forgotten"}
        assert f"{KEY.thread}x" not in forgotten


@pytest.mark.parametrize("log", [f"{SESSION}.jsonl", "session-2026.jsonl"])
def test_subagents_that_an_earlier_version_named_are_forgotten_with_their_session(log: str) -> None:
    """Their logs are in a folder that is named by the session; those of other sessions stay."""
    logs = {
        SESSION: f"/logs/{log}",
        "agent-a1": f"/logs/{SESSION}/subagents/agent-a1.jsonl",
        "agent-b1": "/logs/other/subagents/agent-b1.jsonl",
        "": "/logs/unnamed.jsonl",
    }
    with open_archive(":memory:") as archive:
        for name, source in logs.items():
            message = Message("user", (Text(source),))
            recording = Recording("r", "claude-code", (message,), session=SessionInfo(id=name))
            import_recording(archive, recording, ImportSource(source))
        found = plan_forgetting(archive, SearchFilter(), threads=[KEY.thread])
        unnamed = archive.threads("local")[-1]
        assert found == [KEY.thread, "claude-code:agent-a1"]
        assert plan_forgetting(archive, SearchFilter(), threads=[unnamed]) == [unnamed]


def test_the_command_forgets_what_waits_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("THALWEG_HOME", str(home))
    path = write(tmp_path, [user(1, f"Find {WORDS}")])
    with open_recorder() as archive:
        import_one(archive, path)
    (home / "queue" / "1").mkdir(parents=True)
    (home / "queue" / "1" / path.name).write_text(path.read_text("utf-8"), "utf-8")
    event = {"session_id": SESSION, "transcript_path": str(path), "hook_event_name": "Stop"}
    (home / "queue" / "1.json").write_text(json.dumps(event), "utf-8")

    with pytest.raises(SystemExit, match="0"):
        run(["record", "forget", KEY.thread, "--yes"])
    assert "1 forgotten" in capsys.readouterr().out
    assert not [*home.glob("queue/*")]


def test_the_command_erases_before_it_imports_what_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is rewritten although an event fails; of another archive no event is imported."""
    home, other = tmp_path / "home", tmp_path / "other.db"
    monkeypatch.setenv("THALWEG_HOME", str(home))
    path = write(tmp_path, [user(n, f"Find {WORDS}, {n**99}") for n in range(200)])
    for place in (None, other):
        with open_recorder(place) as archive:
            import_one(archive, path)
    (home / "queue" / "1.json").mkdir(parents=True)  # no event: reading it fails

    with pytest.raises(SystemExit, match="0"):
        run(["record", "forget", KEY.thread, "--yes", "--archive", str(other)])
    with pytest.raises(IsADirectoryError):
        run(["record", "forget", KEY.thread, "--yes"])
    for place in (home / "thalweg.db", other):
        with closing(sqlite3.connect(place)) as database:
            assert database.execute("PRAGMA freelist_count").fetchone() == (0,)


@pytest.mark.parametrize(("agent", "is_part"), [("thalweg-thread", False), ("my-agent", True)])
def test_a_dot_begins_a_part_where_the_format_has_parts(
    tmp_path: Path, agent: str, *, is_part: bool
) -> None:
    forgotten = ForgottenNames(tmp_path / "home")
    with open_archive(":memory:") as archive:
        for name in ("run", "run.2"):
            session = SessionInfo(id=name)
            recording = Recording(name, agent, (Message("user", (Text(name),)),), session=session)
            import_recording(archive, recording, ImportSource(f"/{name}"))
        found = plan_forgetting(archive, SearchFilter(), threads=[f"{agent}:run"])
    assert (f"{agent}:run.2" in found) is is_part
    forgotten.add([f"{agent}:run"])
    assert f"{agent}:run" in forgotten
    assert (f"{agent}:run.2" in forgotten) is is_part


def test_a_part_has_the_name_that_an_earlier_version_gave_it(tmp_path: Path) -> None:
    """It is not imported a second time, nor again after it was forgotten."""
    forgotten = ForgottenNames(tmp_path / "home")
    messages = tuple(Message("user", (Text(text),), uid=text) for text in ("one", "two"))
    with open_archive(":memory:") as archive:
        for count, name in enumerate(("child", "root.child"), 1):
            session = SessionInfo(id=name)
            recording = Recording(name, "opencode", messages[:count], session=session)
            import_recording(archive, recording, ImportSource("/log"), forgotten=forgotten)
        assert [*archive.threads(OWNER)] == ["opencode:child"]
        assert archive.length(ThreadKey(OWNER, "opencode:child")) == 2
        forget(archive, ["opencode:child"], forgotten)
        import_recording(archive, recording, ImportSource("/log"), forgotten=forgotten)
        assert [*archive.threads(OWNER)] == []


def test_a_thread_without_an_agent_has_no_files_of_its_own(tmp_path: Path) -> None:
    forgotten = ForgottenNames(tmp_path / "home")
    kept = tmp_path / "home" / "queue" / "failed" / "other.json"
    kept.parent.mkdir(parents=True)
    kept.touch()
    with open_archive(":memory:") as archive:
        forget(archive, ["t1"], forgotten)
    assert kept.exists()


@pytest.mark.parametrize(
    ("chosen", "found"),
    [
        ({"project": "/src"}, True),
        ({"until": "2026-11-22"}, False),
        ({"since": "2026-11-23"}, True),
    ],
)
def test_sessions_are_chosen_by_project_and_time(
    tmp_path: Path, chosen: dict[str, str], *, found: bool
) -> None:
    with open_archive(":memory:") as archive:
        import_one(archive, write(tmp_path, [user(1, f"Find {WORDS}")]))
        assert bool(plan_forgetting(archive, SearchFilter(**chosen))) is found  # type: ignore[arg-type]  # of any field
        assert plan_forgetting(archive, SearchFilter(), words="HERON of") == [KEY.thread]
        assert plan_forgetting(archive, SearchFilter(), words="crane") == []
        row = {"role": "user", "content": "of an unknown time"}
        (tmp_path / "chat.jsonl").write_text(json.dumps(row), "utf-8")
        import_one(archive, tmp_path / "chat.jsonl")
        assert plan_forgetting(archive, SearchFilter(until="2020-01-01")) == []
        assert plan_forgetting(archive, SearchFilter(), threads=["other"]) == []


def test_sessions_are_chosen_by_words_of_a_summary_or_a_title(tmp_path: Path) -> None:
    title = {"type": "custom-title", "customTitle": "Count the cranes", "sessionId": SESSION}
    with open_archive(":memory:") as archive:
        import_one(archive, write(tmp_path, [*compacted(1, WORDS), user(3, "Go on"), title]))
        for words in ("HERON of", "the Cranes"):
            assert plan_forgetting(archive, SearchFilter(), words=words) == [KEY.thread]


def test_an_owner_who_is_deleted_is_not_recorded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies of logs and summaries are deleted, too; another archive is none of the recorder's."""
    home = tmp_path / "home"
    monkeypatch.setenv("THALWEG_HOME", str(home))
    path = write(tmp_path, [user(1, f"Find {WORDS}"), *compacted(2, WORDS)])
    place = home / "thalweg.db"
    with open_recorder() as archive:
        import_one(archive, path)
    for name in ("queue/1", "summaries"):
        (home / name).mkdir(parents=True)
        (home / name / "copy.md").write_text(WORDS, "utf-8")
    assert forget_owner(str(tmp_path / "a.db"), "local", dry_run=False) == []
    assert forget_owner(str(place), "local", dry_run=True) == ["recorder: 1 sessions"]
    assert (home / "queue" / "1" / "copy.md").exists()

    assert run(["db", "forget", "local", "--yes", "--url", str(place)]) == 0

    with open_recorder() as archive:
        (again,) = import_sessions(archive, [path], forgotten=ForgottenNames(home))
        assert (again.skipped, archive.threads("local")) == ("forgotten", [])
    kept = [one.read_bytes() for one in home.rglob("*") if one.is_file()]
    assert not [one for one in kept if b"heron" in one]
