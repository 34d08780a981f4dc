"""`thalweg thread delete` and `export` with names as `thread list` prints them."""

from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from thalweg.archive import Archive, Logged, ThreadKey, open_archive
from thalweg.cli.app import run
from thalweg.context.turn.thread_deletion import delete_thread
from thalweg.engine.entries import Message, Text
from thalweg.errors import ConfigError

CHILD, NESTED, WITHOUT_ID, ESCAPED = "t1/~/tools:a", "t1/~/tools:a|b", "/~/without-id:d", "x/~~y"
NAMES = ("t1", CHILD, NESTED, "t1/~/tools:ab", WITHOUT_ID, ESCAPED)


def add(archive: Archive, name: str, text: str) -> None:
    archive.append(ThreadKey("local", name), [Logged(Message("user", (Text(text),)))])


@pytest.mark.parametrize(
    ("name", "deleted"),
    [
        ("t1", {"t1", CHILD, NESTED, "t1/~/tools:ab"}),
        (CHILD, {CHILD, NESTED}),
        (WITHOUT_ID, {WITHOUT_ID}),
        (ESCAPED, {ESCAPED}),
        ("x/~y", {ESCAPED}),
    ],
)
def test_a_listed_name_and_an_id_are_deleted_with_their_bytes(
    tmp_path: Path, name: str, deleted: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "t.db"
    with open_archive(place) as archive:
        for number, one in enumerate(NAMES):
            add(archive, one, f"secretword{number}")
    assert run(["thread", "--archive", str(place), "delete", name, "--yes"]) == 0
    capsys.readouterr()
    with open_archive(place) as archive:
        assert {*archive.threads("local")} == {*NAMES} - deleted
    data = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    left = {one for number, one in enumerate(NAMES) if f"secretword{number}".encode() in data}
    assert left == {*NAMES} - deleted


def test_checkpoints_of_a_subagent_are_deleted_and_their_file_is_rewritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, checkpoints = tmp_path / "t.db", tmp_path / "checkpoints.db"
    with open_archive(place) as archive:
        add(archive, "t1", "hello")
        add(archive, CHILD, "hello")
    with SqliteSaver.from_conn_string(str(checkpoints)) as saver:
        saver.setup()
        saver.conn.execute("PRAGMA secure_delete = OFF")
        for namespace in ("", "tools:a", "tools:ab"):
            saver.conn.execute(
                "INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint)"
                " VALUES ('t1', ?, '1', ?)",
                (namespace, f"secretword of {namespace or 'the thread'}.".encode()),
            )
        saver.conn.commit()
    command = ["thread", "--archive", str(place), "delete", CHILD, "--yes", "--checkpoints"]
    assert run([*command, str(checkpoints)]) == 0
    capsys.readouterr()
    data = checkpoints.read_bytes()
    assert b"secretword of tools:a." not in data
    assert b"secretword of tools:ab." in data
    assert b"secretword of the thread." in data


def test_a_thread_is_found_by_its_id_and_by_its_listed_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "t.db"
    with open_archive(place) as archive:
        add(archive, ESCAPED, "hello")
    for name in (ESCAPED, "x/~y"):
        assert run(["thread", "--archive", str(place), "show", name, "--messages"]) == 0
        assert "hello" in capsys.readouterr().out


def test_an_archive_is_erased_wherever_the_process_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    with open_archive("r.db") as archive:
        add(archive, "t", "secretword")
        add(archive, "u", "kept")
        monkeypatch.chdir("sub")
        delete_thread("t", archive=archive)
    data = b"".join(file.read_bytes() for file in tmp_path.glob("r.db*"))
    assert b"secretword" not in data
    assert b"kept" in data


def test_an_export_never_replaces_the_archive_of_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "home" / ".thalweg" / "thalweg.db"
    place.parent.mkdir(parents=True)
    with open_archive(place) as archive:
        add(archive, "t", "hello")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("THALWEG_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="the archive itself"):
        run(["thread", "export", "t", "--output", str(place)])
    capsys.readouterr()
    assert place.read_bytes().startswith(b"SQLite format 3")
