"""A sandbox, compared with the installed peer: the same real commands, the same results."""

import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from agent_tests.sandboxes import FolderSandbox

pytest.importorskip("deepagents")


def theirs_of(folder: Path) -> Any:  # noqa: ANN401  # of the other side
    """Make their sandbox of what ours runs its commands with."""
    from deepagents.backends import sandbox as theirs  # noqa: PLC0415  # if it is there

    own = FolderSandbox(folder)
    own.root = "/"

    members = {
        "enable_capture_offload": True,
        "id": "theirs",
        "execute": staticmethod(own.execute),
        "upload_files": staticmethod(own.upload_files),
        "download_files": staticmethod(own.download_files),
    }
    return type("Theirs", (theirs.BaseSandbox,), members)()


class Ours(FolderSandbox):
    """With what theirs has by default."""

    enable_capture_offload = True
    grep_exclude_dirs = (".git",)


@pytest.fixture
def sides(tmp_path: Path) -> list[tuple[Any, Path]]:
    """Return ours and theirs, each with a folder of the same files."""
    folders = [tmp_path / "ours", tmp_path / "theirs"]
    for folder in folders:
        for path, content in FILES.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    ours = Ours(folders[0])
    ours.root = "/"
    return [(ours, folders[0]), (theirs_of(folders[1]), folders[1])]


FILES = {
    "a.py": b"import os\nprint('needle')\n",
    "b.txt": b"one\ntwo\nthree",
    "dos.txt": b"one\r\ntwo\r\nthree\r\n",
    "src/c.py": b"needle\n",
    "src/deep/d.md": "nadel ü\n".encode(),
    ".github/ci.yml": b"needle: 1\n",
    ".git/config": b"needle\n",
    "p.png": b"\x89PNG\r\n",
    "raw.txt": b"\xff\xfe\x00",
}

Call = Callable[[Any, Path], Any]
CALLS: dict[str, Call] = {
    "read": lambda side, at: side.read(f"{at}/b.txt"),
    "read some": lambda side, at: side.read(f"{at}/b.txt", 1, 1),
    "read before": lambda side, at: side.read(f"{at}/b.txt", -3, 2),
    "read none": lambda side, at: side.read(f"{at}/b.txt", 0, 0),
    "read crlf": lambda side, at: side.read(f"{at}/dos.txt", 0, 2),
    "read picture": lambda side, at: side.read(f"{at}/p.png"),
    "read raw": lambda side, at: side.read(f"{at}/raw.txt"),
    "read folder": lambda side, at: side.read(f"{at}/src"),
    "edit": lambda side, at: side.edit(f"{at}/b.txt", "two", "2"),
    "edit crlf": lambda side, at: side.edit(f"{at}/dos.txt", "one\ntwo", "1\n2"),
    "edit all": lambda side, at: side.edit(f"{at}/b.txt", "e", "E", replace_all=True),
    "edit missing": lambda side, at: side.edit(f"{at}/none.txt", "e", "E"),
    "edit nothing": lambda side, at: side.edit(f"{at}/b.txt", "", "E"),
    "edit unfound": lambda side, at: side.edit(f"{at}/b.txt", "four", "E"),
    "edit raw": lambda side, at: side.edit(f"{at}/raw.txt", "four", "E"),
    "edit folder": lambda side, at: side.edit(f"{at}/src", "four", "E"),
    "edit large": lambda side, at: side.edit(f"{at}/b.txt", "two", "2" * 60_000),
    "write": lambda side, at: side.write(f"{at}/new/folder/x.txt", "x"),
    "write over": lambda side, at: side.write(f"{at}/b.txt", "x"),
    "delete": lambda side, at: side.delete(f"{at}/b.txt"),
    "delete folder": lambda side, at: side.delete(f"{at}/src"),
    "delete missing": lambda side, at: side.delete(f"{at}/none"),
    "ls missing": lambda side, at: side.ls(f"{at}/none"),
    "ls file": lambda side, at: side.ls(f"{at}/b.txt"),
    "grep": lambda side, at: side.grep("needle", str(at)),
    "grep file": lambda side, at: side.grep("needle", f"{at}/a.py"),
    "grep one": lambda side, at: side.grep("needle", str(at), max_count=1).truncated,
    "grep py": lambda side, at: side.grep("needle", str(at), "*.py"),
    "grep none": lambda side, at: side.grep("absent", str(at)),
    "grep missing": lambda side, at: side.grep("x", f"{at}/none"),
    "glob py": lambda side, at: side.glob("*.py", str(at)),
    "glob deep": lambda side, at: side.glob("src/**/*.md", str(at)),
    "glob braces": lambda side, at: side.glob("*.{py,md}", str(at)),
    "glob dots": lambda side, at: side.glob("*.yml", str(at)),
    "run small": lambda side, at: run(side, at, "echo x; exit 3"),
    "run large": lambda side, at: run(side, at, "seq 1 500; exit 3"),
    "run lost": lambda side, at: run(side, at, "seq 1 5000").response.truncated,
}


def run(side: Any, at: Path, command: str) -> Any:  # noqa: ANN401  # of either side
    """Run a command and keep its output in a file if it is large."""
    return side.execute_with_offload(
        command, f"{at}/kept", max_inline_bytes=100, max_capture_bytes=5_000
    )


def told(result: Any, at: Path) -> Any:  # noqa: ANN401  # of either side
    """Bring a result to plain data, without the fields that one side alone has."""
    if isinstance(result, bool):
        return result
    plain = asdict(result)
    plain.pop("skipped", None)
    for name in ("entries", "matches"):
        if isinstance(plain.get(name), list):
            for entry in plain[name]:
                entry.pop("modified_at", None)
                entry.pop("size", None)
            plain[name].sort(key=lambda entry: (entry["path"], entry.get("line")))
    return _bare(plain, at)


def _bare(value: Any, at: Path) -> Any:  # noqa: ANN401  # plain data
    match value:
        case str():
            return value.replace(str(at), "")
        case dict():
            return {name: _bare(each, at) for name, each in value.items()}
        case list():
            return [_bare(each, at) for each in value]
        case _:
            return value


@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_the_same_result_and_leaves_the_same_files(
    sides: list[tuple[Any, Path]], name: str
) -> None:
    """By commands that really run."""
    ours, theirs = (told(CALLS[name](side, at), at) for side, at in sides)
    if name.startswith("read") and ours["file_data"] and ours["file_data"]["encoding"] == "utf-8":
        # Theirs drops the end of the last line, so that a write of what was read changes it.
        ours["file_data"]["content"] = ours["file_data"]["content"].removesuffix("\n")

    assert ours == theirs
    left = [
        {str(file.relative_to(at)): file.read_bytes() for file in at.rglob("*") if file.is_file()}
        for _, at in sides
    ]
    assert left[0] == left[1]


def test_a_listing_has_the_same_entries(sides: list[tuple[Any, Path]]) -> None:
    """Ours in the order of the paths, and folders with a `/` at their ends."""
    ours, theirs = (told(side.ls(str(at)), at) for side, at in sides)

    for entry in ours["entries"]:
        entry["path"] = entry["path"].rstrip("/")
    assert sorted(map(str, ours["entries"])) == sorted(map(str, theirs["entries"]))


@pytest.mark.skipif(shutil.which("grep") is None, reason="theirs needs grep")
def test_theirs_breaks_where_a_name_has_the_end_of_a_line_in_it(tmp_path: Path) -> None:
    """Ours finds the file by its name."""
    (tmp_path / "new\nline.txt").write_text("needle", encoding="utf-8")
    ours = FolderSandbox(tmp_path)
    ours.root = "/"

    found = ours.grep("needle", str(tmp_path)).matches
    assert [match["path"] for match in found or []] == [f"{tmp_path}/new\nline.txt"]
    others = theirs_of(tmp_path).grep("needle", str(tmp_path)).matches
    assert [match["path"] for match in others or []] != [f"{tmp_path}/new\nline.txt"]


def test_theirs_dies_of_a_module_of_the_project(tmp_path: Path) -> None:
    """`python3 -c` takes `json.py` of the folder it starts in for that of Python."""
    (tmp_path / "json.py").write_text("raise SystemExit('mine')", encoding="utf-8")
    ours = FolderSandbox(tmp_path)
    ours.root = "/"

    listed = ours.ls(str(tmp_path)).entries
    assert [info["path"] for info in listed or []] == [f"{tmp_path}/json.py"]
    assert not theirs_of(tmp_path).ls(str(tmp_path)).entries
