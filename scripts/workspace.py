"""The packages of this repository: their metadata, and which of them each one requires."""

import re
import subprocess
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = ROOT / "packages"
_NAME = re.compile(r"[\w.-]+")


def projects() -> dict[str, dict[str, Any]]:
    """Return the table `project` of every package by the name of its distribution."""
    return {
        file.parent.name: tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        for file in sorted(PACKAGES.glob("*/pyproject.toml"))
    }


def import_name(package: str) -> str:
    """Return the name by which a package is imported."""
    return package.replace("-", "_")


def name_of(requirement: str) -> str:
    """Return the name in a requirement.

    Example:
        >>> name_of("thalweg[cli]==0.1.0")
        'thalweg'
    """
    found = _NAME.match(requirement)
    return found[0] if found else ""


def with_required(package: str, extras: Iterable[str] = ()) -> list[str]:
    """Return a package after the packages of this repository that it requires.

    Args:
        package: Name of its distribution.
        extras: Its extras that are installed, too.
    """
    known = projects()
    found = list[str]()

    def visit(name: str, requirements: Iterable[str]) -> None:
        for each in sorted(map(name_of, requirements)):
            if each in known and each not in found:
                visit(each, known[each]["dependencies"])
        if name not in found:
            found.append(name)

    optional = known[package].get("optional-dependencies", {})
    more = [each for extra in extras for each in optional[extra]]
    visit(package, [*known[package]["dependencies"], *more])
    return found


def find_python(version: str) -> str:
    """Return the path of an interpreter of uv's, the system's or pyenv's; empty without one."""
    command = ["uv", "python", "find", "--system", "--no-python-downloads", version]
    found = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    places = Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
    return found.stdout.strip() or next(map(str, places), "")
