"""A search answers the same with ripgrep and without, for any output of ripgrep."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.protocol import GrepResult
from thalweg_agent.backends.searches import folder

Install = Callable[[str], None]

TEXTS = ("needle", "a.b", "ü", "(", "\t", "x", "ends\r", "")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with what ripgrep by itself would pass over, and a link out."""
    root = tmp_path / "root"
    for path, content in {
        "a.txt": b"needle a.b\r\nx\rneedle ends\r\n",
        "b/.hidden/c.txt": b"needle",
        "b/ignored.txt": b"needle x",
        "b.txt": b"first b.txt, then b/",
        ".gitignore": b"ignored.txt\nbig/",
        ".ignore": b"b",
        "big/large.txt": b"needle" + b"." * 1_100_000,
        "utf16.txt": "needle".encode("utf-16"),
        "latin.txt": b"needle gr\xfcn",
        "binary.bin": b"needle\0",
        "odd [x] \n name.txt": b"needle ( \t",
        "-e.txt": b"needle a.b",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    (tmp_path / "outside.txt").write_text("needle outside")
    (root / "out.txt").symlink_to("../outside.txt")
    (root / "again.txt").symlink_to("a.txt")
    return root


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install a program in the place of ripgrep."""

    def install(script: str) -> None:
        program = tmp_path / "rg"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setattr(folder, "_ripgrep", lambda: str(program))

    return install


def found(root: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[GrepResult, GrepResult]:
    """Search with what is installed, and with nothing."""
    backend = FilesystemBackend(root, max_file_size_mb=1)
    with_it = backend.grep(text), backend.grep(text, "/b", "*.txt", max_count=1)
    monkeypatch.setattr(folder, "_ripgrep", lambda: None)
    without = backend.grep(text), backend.grep(text, "/b", "*.txt", max_count=1)
    assert with_it == without
    return with_it


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
@pytest.mark.parametrize("text", TEXTS)
def test_the_installed_ripgrep_changes_no_answer(
    root: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """Hidden, ignored, linked, binary, odd: all as without it."""
    folder._ripgrep.cache_clear()  # noqa: SLF001  # another test may have looked with another PATH
    found(root, monkeypatch, text)


@pytest.mark.parametrize(
    "script",
    [
        r"find . -type f -print0",
        r"find . -print0; printf '../outside.txt\0./nowhere.txt\0/etc/passwd\0./out.txt\0'",
        r"echo partly; exit 2",
        r"kill $$",
    ],
    ids=["names too much", "names what is not there", "fails", "dies"],
)
def test_no_program_in_its_place_changes_an_answer(
    root: Path, install: Install, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    """What it names is looked at as without it, and what lies outside is not."""
    install(script)

    everything, _ = found(root, monkeypatch, "needle")
    assert len(everything.matches or []) == 7
    assert "outside" not in repr(everything)


def test_a_program_that_does_not_end_is_given_up(root: Path, install: Install) -> None:
    """The answer is unknown then."""
    install("exec sleep 60")

    assert folder.files_with("needle", str(root), timeout_s=0.05) is None


def test_a_text_that_is_no_argument_is_searched_without_it(root: Path, install: Install) -> None:
    """An empty one, one of several lines, one with a NUL."""
    install("printf 'a.txt\\0'")

    assert folder.files_with("needle", str(root), timeout_s=5) == ["a.txt"]
    for text in ("", "a\nb", "a\0b", "\ud800"):
        assert folder.files_with(text, str(root), timeout_s=5) is None


def test_files_are_named_in_the_order_of_a_walk(root: Path, install: Install) -> None:
    """A folder's own before those deeper in."""
    install("printf './b/z.txt\\0./b/a/y.txt\\0./c.txt\\0./a/x.txt\\0'")

    assert folder.files_with("needle", str(root), timeout_s=5) == [
        "c.txt",
        "a/x.txt",
        "b/z.txt",
        "b/a/y.txt",
    ]
