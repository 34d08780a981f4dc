"""Forgotten data is removed to the byte, and is not imported again."""

from pathlib import Path

import pytest

from recorder_tests.unit.recorder.sessions import KEY, compacted, import_one, user, write
from thalweg.archive import open_archive
from thalweg.cli.app import run
from thalweg.database.erasure import erase_file
from thalweg_recorder import import_sessions
from thalweg_recorder.forgetting import forget, forget_owner, plan_forgetting
from thalweg_recorder.forgotten import ForgottenNames
from thalweg_recorder.place import open_recorder
from thalweg_recorder.searching import SearchFilter

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
        assert plan_forgetting(archive, SearchFilter(), threads=["other"]) == []


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
