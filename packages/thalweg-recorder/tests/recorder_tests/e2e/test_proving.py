"""The proof of an installation runs its real hook, worker and MCP server, and names what fails."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from recorder_tests.e2e.test_cli import posix
from thalweg_recorder.installing import commands_for
from thalweg_recorder.proving import prove

pytestmark = posix


def test_an_installation_that_works_is_proved(tmp_path: Path) -> None:
    assert [*prove(commands_for(tmp_path))] == []
    assert [path.name for path in tmp_path.glob("*.db")] == ["thalweg.db"]
    assert not (tmp_path / "queue").exists()


def test_no_module_of_the_project_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent runs both in its project, whose files may have any name, and its environment."""
    project = tmp_path / "project"
    project.mkdir()
    for name in ("json.py", "thalweg.py", "sqlite3.py"):
        (project / name).write_text("raise SystemExit('a module of the project')\n")
    monkeypatch.chdir(project)
    monkeypatch.setenv("PYTHONPATH", str(project))
    (tmp_path / "home").mkdir()
    assert [*prove(commands_for(tmp_path / "home"))] == []


def test_an_environment_that_is_gone_is_two_sentences(tmp_path: Path) -> None:
    good, gone = commands_for(tmp_path), str(tmp_path / "gone" / "python")
    hook, server = list(good.hook), [gone, *good.server[1:]]
    hook[4] = gone
    event, question = prove(replace(good, hook=hook, server=server))
    assert event.startswith("an event that passed the hook was not recorded: ")
    assert "no such file" in question.lower()


def test_a_server_that_cannot_open_its_archive_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "thalweg.db").mkdir()
    (question,) = prove(commands_for(tmp_path))
    assert "thalweg.db: cannot be opened" in question


def test_a_worker_that_cannot_start_is_named_by_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one whose environment has lost its packages."""
    bare = tmp_path / "python"
    bare.symlink_to(Path(sys.executable).resolve())
    monkeypatch.setattr("thalweg_recorder.proving.DEADLINE_S", 8)
    good = commands_for(tmp_path / "home")
    hook = [*good.hook]
    hook[4] = str(bare)
    event, *_ = prove(replace(good, hook=hook))
    assert "No module named 'thalweg_recorder'" in event
