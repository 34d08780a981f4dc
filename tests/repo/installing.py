"""Wheels of all packages, environments that hold some of them, and programs run there; no test."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from scripts.workspace import ROOT, projects


def run_uv(*arguments: str | Path, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run uv in a folder; where it is not installed, the test is skipped."""
    uv = shutil.which("uv")
    if uv is None:
        pytest.skip("uv, which makes the environment, is not installed")
    command = [uv, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    return done


def build_wheels(folder: Path) -> dict[str, Path]:
    """Build the wheel of every package."""
    run_uv("build", "-q", "--all-packages", "--wheel", "-o", folder)
    return {
        name: next(folder.glob(f"{name.replace('-', '_')}-{project['version']}-*.whl"))
        for name, project in projects().items()
    }


def make_environment(folder: Path, *wheels: Path, has_pip: bool = False) -> Path:
    """Make an environment with wheels and what they require; return its folder of programs."""
    run_uv("venv", "-q", *["--seed"] * has_pip, folder)
    run_uv("pip", "install", "-q", "--python", folder / "bin/python", *wheels)
    return folder / "bin"


def copy_clone(folder: Path) -> Path:
    """Copy the packages and the files of the workspace as a clone has them; return the folder."""
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("no repository")
    parts = ["packages", "pyproject.toml", "uv.lock"]
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", *parts],  # noqa: S607 (the user's own git)
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def run_there(
    command: list[str | Path], folder: Path, text: str = "hi"
) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder that is its home, with an input."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return subprocess.run(
        command,
        input=text,
        cwd=folder,
        env={**kept, "HOME": f"{folder}", "ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x"},
        capture_output=True,
        text=True,
        check=False,
    )
