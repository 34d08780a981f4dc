"""File tools that really work, on a copy of a source tree.

Two rules: what a tool returns names no place of this machine; the same copy and the same
calls produce the same results.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_LIBRARY = re.compile(r'"[^"]*/(lib/python3[^"]*)"')
_RUN_S = 60


class RefusedError(Exception):
    """A tool cannot do what was asked; the model receives the reason."""


@dataclass(slots=True)
class Workbench:
    """A folder, and the tools that work in it."""

    root: Path
    tree: str
    """Name of the copied tree in the folder; commands import from it."""
    tools: dict[str, Callable[..., str]] = field(init=False)

    def __post_init__(self) -> None:
        self.tools = {
            "list_files": self.list_files,
            "read_file": self.read_file,
            "glob": self.glob,
            "grep": self.grep,
            "write_file": self.write_file,
            "edit_file": self.edit_file,
            "run": self.run,
            "write_todos": self.write_todos,
        }

    def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Run a tool; return what it returns, and whether that is an error."""
        try:
            return self.tools[name](**arguments), False
        except RefusedError as refused:
            return str(refused), True

    def list_files(self, path: str) -> str:
        """List a folder: folders with a slash, files with their bytes."""
        lines = [
            f"{item.name}/" if item.is_dir() else f"{item.name}  {item.stat().st_size}"
            for item in sorted(self._at(path).iterdir())
        ]
        return "\n".join(lines) or "(empty)"

    def read_file(self, path: str, offset: int = 1, limit: int = 2_000) -> str:
        """Read lines from `offset` on, numbered."""
        lines = self.text(path).splitlines()
        shown = lines[offset - 1 : offset - 1 + limit]
        numbered = [f"{number}\t{line}" for number, line in enumerate(shown, offset)]
        left = len(lines) - (offset - 1 + len(shown))
        return "\n".join([*numbered, *([f"({left} more lines)"] if left > 0 else [])]) or "(empty)"

    def glob(self, pattern: str) -> str:
        """Find files by their path."""
        found = sorted(p.relative_to(self.root).as_posix() for p in self.root.glob(pattern))
        return "\n".join(found) or "no file matches"

    def grep(self, pattern: str, path: str) -> str:
        """Find lines by a regular expression."""
        wanted = re.compile(pattern)
        hits = [
            f"{name}:{number}:{line}"
            for name, text in self.files(path)
            for number, line in enumerate(text.splitlines(), 1)
            if wanted.search(line)
        ]
        return "\n".join(hits) or "no line matches"

    def write_file(self, path: str, content: str) -> str:
        """Write a whole file."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
        return f"wrote {path}, {len(content.splitlines())} lines"

    def edit_file(self, path: str, old: str, new: str, *, replace_all: bool = False) -> str:
        """Replace text that is in the file once, or everywhere."""
        text = self.text(path)
        found = text.count(old)
        if found == 0 or (found > 1 and not replace_all):
            msg = f"error: the text stands {found} times in {path}; it has to stand there once"
            raise RefusedError(msg)
        (self.root / path).write_text(text.replace(old, new), encoding="utf-8")
        return f"edited {path}, {found} place{'s' if found > 1 else ''}"

    def write_todos(self, todos: list[dict[str, str]]) -> str:
        """Keep the list of what is to do."""
        done = sum(todo["status"] == "completed" for todo in todos)
        return f"{len(todos)} todos, {done} done"

    def run(self, command: str) -> str:
        """Run a command that begins with `python`."""
        name, *words = shlex.split(command)
        if name != "python":
            msg = f"error: {name}: command not allowed"
            raise RefusedError(msg)
        done = subprocess.run(  # noqa: S603 (our own interpreter, on our own copy)
            [sys.executable, *words],
            cwd=self.root,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=_RUN_S,
            check=False,
        )
        said = self._without_places(f"{done.stdout}{done.stderr}".strip())
        if done.returncode:
            msg = f"{said}\n(exit code {done.returncode})"
            raise RefusedError(msg)
        return said or "(no output)"

    def text(self, path: str) -> str:
        """Read a file, whole."""
        target = self._at(path)
        if target.is_dir():
            msg = f"error: {path} is a folder"
            raise RefusedError(msg)
        return target.read_text(encoding="utf-8")

    def files(self, path: str) -> Iterator[tuple[str, str]]:
        """Yield the Python and Markdown files below a path, by name, with their text."""
        start = self._at(path)
        for item in [start] if start.is_file() else sorted(start.rglob("*")):
            if item.suffix in {".py", ".md"}:
                yield item.relative_to(self.root).as_posix(), item.read_text(encoding="utf-8")

    def _at(self, path: str) -> Path:
        target = self.root / path
        if not target.exists():
            msg = f"error: there is no {path}"
            raise RefusedError(msg)
        return target

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.defpath,
            "PYTHONPATH": str(self.root / self.tree),
            "PYTHONPYCACHEPREFIX": str(self.root.with_name("pycache")),
            "PYTHONHASHSEED": "0",
            "PYTHONUTF8": "1",
            "NO_COLOR": "1",
        }

    def _without_places(self, said: str) -> str:
        said = said.replace(f"{self.root}/", "").replace(str(self.root), ".")
        return _LIBRARY.sub(r'"\1"', said.replace(sys.executable, "python"))


def open_workbench(tree: Path, folder: Path) -> Workbench:
    """Copy a source tree into an empty folder and return the tools to work on it."""
    root = folder.resolve() / "work"
    skipped = shutil.ignore_patterns("__pycache__", "*.gz", "*.jsonl", "*.lock", ".*")
    shutil.copytree(tree, root / tree.resolve().name, ignore=skipped)
    return Workbench(root, tree.resolve().name)
