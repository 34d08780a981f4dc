"""The sessions that coding agents keep on a machine."""

import os
from pathlib import Path

import pytest

from thalweg.errors import RecordingError
from thalweg_recorder.recordings import read_recording
from thalweg_recorder.recordings.agents import Machine
from thalweg_recorder.recordings.sessions import coding_sessions

SESSIONS = (
    ".claude/projects/-w/a.jsonl",
    ".codex/sessions/2026/02/01/rollout-b.jsonl",
    ".gemini/tmp/hash/chats/session-c.json",
    ".pi/agent/sessions/--w--/d.jsonl",
)
OTHERS = (
    ".claude/projects/-w/agent-x.jsonl",
    ".claude/history.jsonl",
    ".codex/history.jsonl",
    ".gemini/tmp/hash/logs.json",
)


def _write(home: Path, name: str, changed_at: int, text: str = "{}") -> None:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (changed_at, changed_at))


def test_sessions_of_every_agent_are_found_newest_first(tmp_path: Path) -> None:
    for changed_at, name in enumerate((*SESSIONS, *OTHERS), start=1_000):
        _write(tmp_path, name, changed_at)

    assert coding_sessions(Machine(tmp_path, {})) == [
        tmp_path / name for name in reversed(SESSIONS)
    ]


def test_sessions_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / ".claude/projects/-w"
    _write(tmp_path, ".claude/projects/-w/good.jsonl", 1_000)
    _write(tmp_path, ".claude/projects/-w/empty.jsonl", 1_001, "")
    (folder / "folder.jsonl").mkdir()
    (folder / "gone.jsonl").symlink_to(folder / "nowhere")

    assert coding_sessions(Machine(tmp_path, {})) == [folder / "good.jsonl"]


def test_a_home_without_agents_has_no_sessions(tmp_path: Path) -> None:
    assert coding_sessions(Machine(tmp_path, {})) == []
    assert coding_sessions(Machine(tmp_path / "none", {})) == []


def test_variables_and_profiles_move_the_folders(tmp_path: Path) -> None:
    logs = (
        "profile/projects/-w/a.jsonl",
        ".claude/projects/-w/b.jsonl",
        "config/claude/projects/-w/c.jsonl",
        "codex/sessions/2026/02/01/rollout-d.jsonl",
        "gemini/.gemini/tmp/hash/chats/session-e.json",
        "other/projects/-w/f.jsonl",
    )
    for changed_at, name in enumerate(logs, start=1_000):
        _write(tmp_path, name, changed_at)
    moved = {
        "CLAUDE_CONFIG_DIR": "~/profile",
        "CODEX_HOME": str(tmp_path / "codex"),
        "GEMINI_CLI_HOME": str(tmp_path / "gemini"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    machine = Machine(tmp_path, moved)
    known = {"claude-code": [tmp_path / "other"]}
    expected = [tmp_path / name for name in reversed(logs)]
    assert coding_sessions(machine, profiles=known) == expected
    assert coding_sessions(Machine(tmp_path, {})) == [tmp_path / logs[1]]


def test_a_database_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    place = ".local/share/opencode/opencode-dev.db"
    _write(tmp_path, place, 1_000, "SQLite format 3\0 and no more")
    assert coding_sessions(Machine(tmp_path, {})) == [tmp_path / place]
    with pytest.raises(RecordingError, match="no database of opencode"):
        read_recording(tmp_path / place)


@pytest.mark.parametrize("place", ["own.db", "/elsewhere/own.db"])
def test_a_variable_names_the_database_of_opencode(tmp_path: Path, place: str) -> None:
    folder = tmp_path / ".local/share/opencode"
    named = tmp_path / place[1:] if place.startswith("/") else folder / place
    _write(tmp_path, str(named.relative_to(tmp_path)), 1_000, "SQLite format 3\0 and no more")
    folder.mkdir(parents=True, exist_ok=True)
    value = str(named) if place.startswith("/") else place
    assert coding_sessions(Machine(tmp_path, {})) == []
    assert coding_sessions(Machine(tmp_path, {"OPENCODE_DB": value})) == [named]


def test_a_session_in_a_linked_folder_is_one(tmp_path: Path) -> None:
    _write(tmp_path, ".config/claude/projects/-w/a.jsonl", 1_000)
    (tmp_path / ".claude").symlink_to(tmp_path / ".config/claude")
    machine = Machine(tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path / ".config/claude")})
    profiles = {"claude-code": [tmp_path / ".claude", tmp_path / ".config/claude"]}
    assert len(coding_sessions(machine, profiles=profiles)) == 1
