"""The arguments of a command in bubblewrap."""

from pathlib import Path

from thalweg_agent.backends.bubblewrap import link_names


def test_a_folder_of_many_files_leaves_room_for_a_command(tmp_path: Path) -> None:
    """Each link at `/` takes three arguments; folders keep theirs."""
    for number in range(600):
        (tmp_path / f"{number}.txt").touch()
    for name in ("src", "usr"):
        (tmp_path / name).mkdir()

    names = link_names(tmp_path, {"usr"})

    assert len(names) == 500
    assert names[:2] == ["src", "0.txt"]
    assert "usr" not in names
