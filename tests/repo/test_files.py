"""The files of the repository, as they are checked in."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MARKER = re.compile(rb"^(?:<{7} |\|{7} |={7}$|>{7} )", re.MULTILINE)
EDIT = re.compile(rb"^<{7} SEARCH$.*?^>{7} REPLACE$", re.MULTILINE | re.DOTALL)
"""An edit as a model writes it for aider, in logs of it."""


def tracked() -> list[Path]:
    """List the files under version control; there is none where the source was unpacked."""
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("no repository")
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"],  # noqa: S607 (the user's own git)
        capture_output=True,
        check=True,
    )
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    return [file for file in files if file.is_file()]


def test_no_file_holds_the_markers_of_a_merge() -> None:
    """A conflict that was not resolved."""
    files = tracked()
    assert files
    texts = ((file, EDIT.sub(b"", file.read_bytes())) for file in files)
    assert [str(file.relative_to(ROOT)) for file, text in texts if MARKER.search(text)] == []


def test_markers_are_known_when_seen() -> None:
    """The three kinds, and the base of a merge in three parts."""
    for line in ("<" * 7 + " HEAD", "=" * 7, ">" * 7 + " branch", "|" * 7 + " base"):
        assert MARKER.search(f"text\n{line}\nmore\n".encode())
    assert not MARKER.search(b"a title\n===========\n")
    edit = "\n".join(["<" * 7 + " SEARCH", "=" * 7, ">" * 7 + " REPLACE", "<" * 7 + " HEAD"])
    assert EDIT.sub(b"", edit.encode()) == b"\n" + b"<" * 7 + b" HEAD"
