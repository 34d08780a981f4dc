"""Test with the oldest and the newest client packages: `python -m scripts.client_versions`.

Each row is an environment of its own, made by uv and removed again: everything at its oldest
allowed version; then, of one package at a time, the oldest with all else as it is locked; last
everything at its newest. In each the real clients talk to the providers' rules (`tests/rules`),
and the middleware is tested (`TESTS`). Exit code 1 after a failure.

    python -m scripts.client_versions                        # all: about ten minutes of CPU
    python -m scripts.client_versions langchain-google-genai # of one package
    python -m scripts.client_versions all-oldest --tests packages/thalweg/tests/core_tests/unit
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
OURS = sorted(file.parent for file in ROOT.glob("packages/*/pyproject.toml"))
"""Folders of the packages of this repository."""
PACKAGES = (
    "langchain",
    "langchain-anthropic",
    "langchain-openai",
    "langchain-google-genai",
    "langchain-ollama",
)
"""Packages whose models and agents are used."""
TESTS = ("tests/rules", "packages/thalweg/tests/core_tests/unit/middleware")
OLDEST, NEWEST = "all-oldest", "all-newest"


def range_of(package: str) -> str:
    """Return the requirement of a package, as one of our packages or groups declares it."""
    every = list[str]()
    for folder in (*OURS, ROOT):
        declared = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
        extras = declared["project"].get("optional-dependencies", {}).values()
        groups = declared.get("dependency-groups", {}).values()
        for listed in (declared["project"]["dependencies"], *extras, *groups):
            every += listed
    return next(one for one in every if re.match(rf"{re.escape(package)}\b(?!-)", one))


def make(folder: Path, row: str) -> Path:
    """Make the environment of a row; return its interpreter.

    Raises:
        subprocess.CalledProcessError: uv cannot.
    """
    python = folder / "bin" / "python"
    _run("uv", "venv", "-q", "--python", sys.executable, str(folder))
    install = ("uv", "pip", "install", "-q", "--python", str(python))
    if row in {OLDEST, NEWEST}:
        resolution = "lowest-direct" if row == OLDEST else "highest"
        ours = [part for folder in OURS for part in ("-e", str(folder))]
        _run(*install, *ours, "--group", "dev", "--resolution", resolution)
        return python
    locked = folder / "locked.txt"
    _run("uv", "export", "-q", "--frozen", "--no-hashes", "--group", "dev", "-o", str(locked))
    _run(*install, "-r", str(locked))
    _run(*install, range_of(row), "--resolution", "lowest-direct", "--upgrade-package", row)
    return python


def _run(*command: str) -> None:
    subprocess.run(command, check=True, cwd=ROOT)  # noqa: S603 (ours)


def versions(python: Path) -> str:
    """Return the versions of the packages in an environment."""
    names = ", ".join(repr(name) for name in PACKAGES)
    code = f"import importlib.metadata as m; print(*[m.version(name) for name in ({names},)])"
    done = subprocess.run(  # noqa: S603 (ours)
        [str(python), "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def tested(python: Path, tests: Sequence[str], workers: int) -> tuple[bool, str]:
    """Run tests in an environment; return whether they passed, and the failures with the totals."""
    pytest = (python, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-n", workers)
    done = subprocess.run(  # noqa: S603 (ours)
        [*map(str, pytest), *tests], cwd=ROOT, capture_output=True, text=True, check=False
    )
    lines = (done.stdout + done.stderr).strip().splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    return done.returncode == 0, "\n".join([lines[-1] if lines else "", *failed])


def main() -> None:
    """Print one line for each environment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", nargs="*", help=f"{OLDEST}, {NEWEST} or packages; all by default")
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    print(f"{'':35} {' '.join(PACKAGES)}")
    is_good = True
    for row in given.rows or (OLDEST, *PACKAGES, NEWEST):
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            python = make(Path(folder) / "environment", row)
            passed, said = tested(python, given.tests, given.workers)
            name = row if row in {OLDEST, NEWEST} else f"oldest {row}"
            seconds = f"{time.monotonic() - began:.0f} s"
            print(
                f"{'ok' if passed else 'FAIL':4} {name:30} {versions(python)}: {said} ({seconds})"
            )
        is_good = is_good and passed
    raise SystemExit(not is_good)


if __name__ == "__main__":
    main()
