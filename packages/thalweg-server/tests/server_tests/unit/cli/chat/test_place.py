"""What a chat reports of the folder that it is held in."""

from pathlib import Path

import pytest

from thalweg_server.cli.chat.place import place


@pytest.mark.parametrize(
    ("manifest", "content", "named"),
    [
        ("pyproject.toml", '[project]\nname = "boat"\n', "boat (pyproject.toml)"),
        ("package.json", '{"name": "boat"}', "boat (package.json)"),
        ("Cargo.toml", '[package]\nname = "boat"\n', "boat (Cargo.toml)"),
        ("go.mod", "module example.com/boat\n\ngo 1.24\n", "example.com/boat (go.mod)"),
    ],
)
def test_the_project_around_a_folder_is_named(
    tmp_path: Path, manifest: str, content: str, named: str
) -> None:
    (tmp_path / manifest).write_text(content)
    (tmp_path / "src").mkdir()
    assert place(tmp_path / "src") == f"{tmp_path / 'src'}, project {named}"


@pytest.mark.parametrize("content", ["", "{", "[project]\n", '{"name": 7}', "\x00"])
def test_a_manifest_that_cannot_be_read_is_left_out(tmp_path: Path, content: str) -> None:
    for manifest in ("pyproject.toml", "package.json", "go.mod"):
        (tmp_path / manifest).write_text(content)
    assert place(tmp_path) == str(tmp_path)


@pytest.mark.parametrize(
    ("head", "branch"), [("ref: refs/heads/main\n", "main"), ("0123456789abcdef\n", "0123456789ab")]
)
@pytest.mark.parametrize("is_worktree", [False, True])
def test_the_branch_is_named(tmp_path: Path, head: str, branch: str, *, is_worktree: bool) -> None:
    git = tmp_path / ("elsewhere" if is_worktree else ".git")
    git.mkdir()
    (git / "HEAD").write_text(head)
    if is_worktree:
        (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    assert place(tmp_path) == f"{tmp_path}, git branch {branch}"
