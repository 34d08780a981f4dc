"""The folder that a chat names to its agent."""

from pathlib import Path

import pytest

from thalweg_server.cli.chat.command import place


@pytest.mark.parametrize("is_worktree", [False, True])
def test_the_branch_is_named(tmp_path: Path, *, is_worktree: bool) -> None:
    git = tmp_path / ("elsewhere" if is_worktree else ".git")
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    if is_worktree:
        (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    (tmp_path / "src").mkdir()
    for folder in (tmp_path, tmp_path / "src"):
        assert place(folder) == f"{folder}, git branch main"


@pytest.mark.parametrize("content", [b"", b"gitdir: nowhere", b"\xff", b"gitdir: a\x00b"])
def test_a_folder_without_a_readable_branch_is_named_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert place(tmp_path) == str(tmp_path)
