"""Measure what users install: `python -m scripts.core_alone`.

Installs with uv the core alone, and what `uv run --no-dev thalweg replay` needs in a new clone,
each in an environment of its own. Prints a row of a Markdown table for each figure. Seconds are CPU
time of a process without that of an empty one, the least of several runs; the first run, which
compiles, does not count.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.workspace import PACKAGES, ROOT

RUNS = 9
IMPORTS = (
    "import thalweg",
    "import pydantic",
    "from thalweg import ContextMiddleware",
    "import langchain.agents",
)


def cpu_s(python: Path, code: str) -> float:
    """Return the CPU seconds of a process that runs some code: the least of several runs."""
    taken = []
    for _ in range(RUNS + 1):
        before = os.times()
        subprocess.run([python, "-c", code], check=True)  # noqa: S603
        after = os.times()
        user = after.children_user - before.children_user
        taken.append(user + after.children_system - before.children_system)
    return min(taken[1:])


def distributions(python: Path) -> int:
    """Return the number of distributions in an environment."""
    command = ["uv", "pip", "list", "--format", "json", "--python", str(python)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    return len(json.loads(listed.stdout))


def megabytes(environment: Path) -> float:
    """Return the size of the installed files of an environment, without bytecode."""
    files = (file for file in environment.glob("lib/*/site-packages/**/*") if file.is_file())
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc") / 1e6


def core_figures(folder: Path) -> None:
    """Install the core's wheel alone, and print its size and the seconds of its import."""
    build = ["uv", "build", "-q", "--wheel", "-o", str(folder), str(PACKAGES / "thalweg")]
    subprocess.run(build, check=True)  # noqa: S603
    (wheel,) = folder.glob("*.whl")
    environment, python = folder / "env", folder / "env/bin/python"
    subprocess.run(["uv", "venv", "-q", environment], check=True)  # noqa: S603, S607
    install = ["uv", "pip", "install", "-q", "--python", str(python), str(wheel)]
    subprocess.run(install, check=True)  # noqa: S603
    count, size = distributions(python), megabytes(environment)
    print(f"| the core alone | {count} distributions, {size:.0f} MB |")
    print(f"| its wheel | {wheel.stat().st_size / 1e6:.1f} MB |")
    empty = cpu_s(python, "pass")
    for code in IMPORTS:
        print(f"| `{code}` | {cpu_s(python, code) - empty:.2f} s |", flush=True)


def clone_figures(folder: Path) -> None:
    """Run the first command of the README in a new clone, and print what it installs."""
    clone = ["git", "clone", "-q", str(ROOT), str(folder)]
    subprocess.run(clone, check=True)  # noqa: S603
    command = ["uv", "run", "-q", "--no-dev", "thalweg", "replay"]
    variables = {**os.environ, "THALWEG_HOME": str(folder / "home")}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(done.stderr.decode())
    count, size = distributions(folder / ".venv/bin/python"), megabytes(folder / ".venv")
    print(f"| `{' '.join(['uv', 'run', *command[3:]])}` | {count} distributions, {size:.0f} MB |")


def main() -> None:
    """Print the table."""
    print("| what | figure |\n|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        for part, measure in (("core", core_figures), ("clone", clone_figures)):
            (Path(name) / part).mkdir()
            measure(Path(name) / part)


if __name__ == "__main__":
    main()
