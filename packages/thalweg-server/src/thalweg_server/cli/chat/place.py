"""The location of a chat: the folder, the project in it, the branch of git."""

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def place(folder: Path) -> str:
    """Describe a folder on one line: its path, the project around it, the branch.

    What cannot be read is omitted.

    Example:
        >>> place(Path("/"))
        '/'
    """
    folder = folder.absolute()
    around = [folder, *folder.parents]
    project = next(filter(None, map(_project, around)), "")
    branch = next(filter(None, map(_branch, around)), "")
    parts = (f"{folder}", project and f"project {project}", branch and f"git branch {branch}")
    return ", ".join(part for part in parts if part)


def _project(folder: Path) -> str:
    """Read the name of a project, and which file has it."""
    for manifest, read in _MANIFESTS.items():
        try:
            name = read((folder / manifest).read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if isinstance(name, str) and name:
            return f"{name} ({manifest})"
    return ""


def _toml(table: str) -> Callable[[str], object]:
    def read(text: str) -> object:
        found: Mapping[str, Any] = tomllib.loads(text)
        return found[table]["name"]

    return read


_MANIFESTS: Mapping[str, Callable[[str], object]] = {
    "pyproject.toml": _toml("project"),
    "package.json": lambda text: json.loads(text)["name"],
    "Cargo.toml": _toml("package"),
    "go.mod": lambda text: text.split()[text.split().index("module") + 1],
}


def _branch(folder: Path) -> str:
    """Read the branch that a working tree is on; a worktree's `.git` is a file."""
    git = folder / ".git"
    try:
        if git.is_file():
            git = folder / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
    return head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:12]
