"""Sessions of opencode, exported and in its database."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from thalweg.archive import ThreadKey, open_archive
from thalweg.engine.pricing.usage import Usage
from thalweg.errors import RecordingError
from thalweg_recorder import import_sessions, list_sessions
from thalweg_recorder.forgetting import forget, plan_forgetting
from thalweg_recorder.forgotten import ForgottenNames
from thalweg_recorder.hook import session_file
from thalweg_recorder.recordings import coding_sessions, find_recordings, read_recording
from thalweg_recorder.recordings.agents import Machine
from thalweg_recorder.searching import SearchFilter

SCHEMA = """
CREATE TABLE session (id text PRIMARY KEY, directory text, title text, version text,
    time_created integer, time_updated integer, parent_id text);
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer,
    time_updated integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer,
    time_updated integer, data text);
"""
START = 1_795_452_496_000


class Database:
    """A database of opencode that grows."""

    def __init__(self, home: Path) -> None:
        self.path = home / ".local/share/opencode/opencode.db"
        self.path.parent.mkdir(parents=True)
        self._now = START
        with closing(sqlite3.connect(self.path)) as db:
            db.executescript(SCHEMA)

    def put(self, table: str, row: str, *values: object) -> None:
        """Insert or replace a row."""
        self._now += 1_000
        marks = ", ".join("?" * (len(values) + 1))
        with closing(sqlite3.connect(self.path)) as db, db:
            db.execute(f"REPLACE INTO {table} VALUES ({marks})", (row, *values))  # noqa: S608 (a test's)

    def session(self, name: str, parent: str | None = None) -> None:
        """Add a session."""
        self.put("session", name, "/src/shop", "Birds", "1.18", self._now, self._now, parent)

    def message(self, name: str, session: str, *, role: str = "user", **info: object) -> None:
        """Add or replace a message, a minute for each number."""
        created = START + int(name[1:]) * 60_000
        data = {"role": role, "time": {"created": created}, **info}
        self.put("message", name, session, created, self._now, json.dumps(data))

    def part(self, name: str, message: str, session: str, **data: object) -> None:
        """Add or replace a part."""
        self.put("part", name, message, session, self._now, self._now, json.dumps(data))


def tool(status: str, **more: object) -> dict[str, Any]:
    state = {"status": status, "input": {"command": "ls"}, **more}
    return {"type": "tool", "tool": "bash", "callID": "c1", "state": state}


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = Database(tmp_path)
    database.session("s1")
    database.message("m1", "s1")
    database.part("p1", "m1", "s1", type="text", text="Which birds?")
    database.part("p2", "m1", "s1", type="text", text="(context)", synthetic=True)
    done = {"created": START + 61_000, "completed": START + 62_000}
    tokens = {"input": 7, "output": 5, "reasoning": 4, "cache": {"read": 90, "write": 3}}
    database.message("m2", "s1", role="assistant", time=done, tokens=tokens, modelID="opus")
    database.part("p3", "m2", "s1", type="reasoning", text="hm")
    result = tool("completed", output="heron", metadata={"exit": 1}, time={"end": START + 61_500})
    database.part("p4", "m2", "s1", **result)
    return database


def test_calls_results_usage_and_injected_parts_are_read(database: Database) -> None:
    (path,) = find_recordings([database.path])
    recording = read_recording(path)

    roles = [(message.role, message.kind, message.text) for message in recording.messages]
    assert roles == [
        ("user", "said", "Which birds?"),
        ("user", "injected", "(context)"),
        ("assistant", "said", ""),
        ("tool", "said", "heron"),
    ]
    answer, failed = recording.messages[2:]
    assert [call.name for call in answer.calls] == ["bash"]
    assert answer.usage == Usage(100, 90, 3, 9, reasoning=4, model="opus", id="m2")
    assert failed.is_error
    assert (recording.session.project, recording.session.model) == ("/src/shop", "opus")


def test_a_compaction_is_no_message(database: Database) -> None:
    database.message("m3", "s1")
    database.part("p5", "m3", "s1", type="compaction", auto=True)
    at = {"created": START, "completed": START}
    database.message("m4", "s1", role="assistant", summary=True, time=at)
    database.part("p6", "m4", "s1", type="text", text="Birds were listed.", time={"end": 1})

    recording = read_recording(find_recordings([database.path])[0])

    assert len(recording.messages) == 4
    (compaction,) = recording.compactions
    assert (compaction.trigger, compaction.summary) == ("auto", "Birds were listed.")


def test_an_answer_that_grows_is_imported_once(database: Database, tmp_path: Path) -> None:
    """Between two imports a part ends, a call gets its result, a second session begins."""
    database.message("m5", "s1", role="assistant")
    database.part("p7", "m5", "s1", type="text", text="Let me look", time={"start": 1, "end": 2})
    database.part("p8", "m5", "s1", type="text", text="unfin", time={"start": 1})
    with open_archive(":memory:") as archive:
        first = list(import_sessions(archive, [database.path]))
        assert [one.new for one in first] == [5]
        assert first[0].left_out["parts that are being written"] == 1
        assert [one.skipped for one in import_sessions(archive, [database.path])] == ["unchanged"]
        database.part("p8", "m5", "s1", type="text", text="unfinished", time={"end": 3})
        database.part("p9", "m5", "s1", **tool("running"))
        second = list(import_sessions(archive, coding_sessions(Machine(tmp_path, {}))))
        assert [one.new for one in second] == [1]
        database.part("p9", "m5", "s1", **tool("completed", output="a crane"))
        done = {"created": START + 300_000, "completed": START + 400_000}
        database.message("m5", "s1", role="assistant", time=done)
        database.session("s2")
        database.message("m9", "s2")
        database.part("q1", "m9", "s2", type="text", text="Hello")
        third = list(import_sessions(archive, [database.path]))

        assert [one.new for one in third] == [1, 1]
        (thread, _), _ = list_sessions(archive)
        messages = archive.messages(ThreadKey("local", thread))
        texts = [message.text for message in messages]
        assert texts[4:] == ["Let me look", "unfinished", "a crane"]
        assert [call.id for message in messages for call in message.calls] == ["c1", "c1"]


def test_a_subagent_is_forgotten_with_its_session(database: Database, tmp_path: Path) -> None:
    forgotten = ForgottenNames(tmp_path / "home")
    summary = tmp_path / "home" / "summaries" / f"{session_file('s2')}.md"
    summary.parent.mkdir(parents=True)
    summary.touch()
    database.session("s2", parent="s1")
    database.message("m9", "s2")
    database.part("q1", "m9", "s2", type="text", text="Count the herons")
    with open_archive(":memory:") as archive:
        assert sum(one.new for one in import_sessions(archive, [database.path])) == 5
        found = plan_forgetting(archive, SearchFilter(), threads=["opencode:s1"])
        assert found == ["opencode:s1", "opencode:s1.s2"]
        forget(archive, found, forgotten)
    assert not summary.exists()
    assert "opencode:s1.s3" in forgotten


@pytest.mark.parametrize("printed", ["", "Exporting session: s1\n"])
def test_an_export_is_read(tmp_path: Path, printed: str) -> None:
    info, told = {"id": "s1", "directory": "/src"}, {"role": "user", "id": "m1"}
    parts = [{"type": "text", "text": "Hello"}]
    place = tmp_path / "session.json"
    export = {"info": info, "messages": [{"info": told, "parts": parts}]}
    place.write_text(printed + json.dumps(export, indent=2))

    recording = read_recording(place)

    assert (recording.format, recording.session.id) == ("opencode", "s1")
    assert [message.text for message in recording.messages] == ["Hello"]


def test_a_database_that_cannot_be_read_is_an_error(database: Database, tmp_path: Path) -> None:
    gone = database.path.with_name("opencode.db#s9")
    with pytest.raises(RecordingError, match="no such session"):
        read_recording(gone)
    database.path.write_bytes(b"no database at all")
    assert find_recordings([database.path]) == [database.path]
    with pytest.raises(RecordingError, match="unknown format"):
        read_recording(database.path)
    database.path.write_bytes(b"SQLite format 3\0no database at all")
    with pytest.raises(RecordingError, match="that can be read"):
        find_recordings([database.path])
    assert coding_sessions(Machine(tmp_path, {})) == [database.path]


def test_rows_in_another_form_are_kept_and_stop_no_other_session(tmp_path: Path) -> None:
    """`time: null` once ended the import of every agent with a TypeError."""
    database = Database(tmp_path)
    database.session("s1")
    database.message("m1", "s1", role="assistant", time=None)
    database.part("p1", "m1", "s1", type="text", text="half an answer")
    database.message("m2", "s1")
    database.put("part", "p2", "m2", "s1", START, START, '["a list"]')
    database.session("s2")
    database.put("message", "m3", "s2", START, "soon", '{"role": "user"}')
    database.part("p3", "m3", "s2", type="text", text="Hello")

    one, two = map(read_recording, find_recordings([database.path]))

    assert "half an answer" in [message.text for message in one.messages]
    assert any("a list" in message.text for message in one.messages)
    assert [message.text for message in two.messages] == ["Hello"]
