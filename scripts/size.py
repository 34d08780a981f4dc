"""Measure the size of a checkout: code lines of each package, files and what users meet.

`uv run python -m scripts.size [CHECKOUT …]` prints one column for each checkout, this one without
arguments. Other commits are measured in their worktrees (`git worktree add /tmp/old COMMIT`), with
the libraries that are installed here.

`uv run --with deepagents --with mem0ai python -m scripts.size --installed deepagents mem0ai` counts
the code lines of installed packages in the same way.
"""

import argparse
import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from importlib.metadata import distribution
from pathlib import Path
from statistics import median

from scripts.marks import code_lines, packages, read_packages, read_source
from scripts.marks import sizes as code_sizes

LOADED = "import sys, thalweg; thalweg.ContextMiddleware; print(*sys.modules)"
COMMANDS = """
from scripts.command_help import every_help, has_commands, options
print(*(options(text) for _, text in every_help() if not has_commands(text)), sep="\\n")
"""
_KEY = re.compile(r"^\| `\w+` \|", re.MULTILINE)
_OPTION = re.compile(r"'(--[a-z-]+)'")


def sizes(checkout: Path) -> Iterator[tuple[str, str]]:
    """Yield what is measured and its figure, for the packages of a checkout.

    Raises:
        subprocess.CalledProcessError: One of its packages cannot be imported.
    """
    sources = read_packages(*packages(checkout).values())
    for name, count in code_sizes(sources).items():
        yield name, f"{count:,.0f}"
    lines = [len(source.text.splitlines()) for source in sources]
    yield "lines of Python", f"{sum(lines):,}"
    yield "file, median / largest", f"{median(lines):.0f} / {max(lines)}"
    yield "public names (`__all__`)", f"{sum(_public(source.tree) for source in sources)}"
    options = [_OPTION.findall(line) for line in _run(checkout, COMMANDS).splitlines()]
    yield "CLI commands", f"{len(options)}"
    different = len({name for names in options for name in names})
    yield "CLI options / different ones", f"{sum(map(len, options))} / {different}"
    page = (checkout / "docs" / "configuration.md").read_text(encoding="utf-8")
    yield "configuration keys", f"{len(_KEY.findall(page))}"
    core = checkout / "packages" / "thalweg" / "pyproject.toml"
    file = core if core.is_file() else checkout / "pyproject.toml"
    project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    yield "required dependencies of the core", f"{len(project['dependencies'])}"
    loaded = [name for name in _run(checkout, LOADED).split() if name.startswith("thalweg")]
    yield "modules loaded by ContextMiddleware", f"{len(loaded)}"


def installed(name: str) -> tuple[str, int, int]:
    """Return the version, the files and the code lines of a distribution, without its tests.

    Raises:
        PackageNotFoundError: It is not installed.
    """
    found = distribution(name)
    texts = [
        file.read_text("utf-8")
        for file in found.files or ()
        if file.suffix == ".py" and "tests" not in file.parts
    ]
    lines = sum(code_lines(read_source(Path(name), name, text)) for text in texts)
    return found.version, len(texts), lines


def _public(tree: ast.Module) -> int:
    """Count the names in a module's `__all__`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List | ast.Tuple):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if "__all__" in names:
                return len(node.value.elts)
    return 0


def _run(checkout: Path, code: str) -> str:
    """Return what code prints that imports the packages of a checkout."""
    folders = [str(folder.parent) for folder in packages(checkout).values()]
    return subprocess.run(  # noqa: S603 (this interpreter)
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders), "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the sizes as a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path(__file__).parents[1]])
    parser.add_argument("--installed", nargs="+", metavar="NAME")
    chosen = parser.parse_args(arguments)
    if chosen.installed:
        print("| package | version | files | code lines |\n|---|---|---:|---:|")
        for name in chosen.installed:
            version, files, code = installed(name)
            print(f"| {name} | {version} | {files:,} | {code:,} |")
        return
    checkouts = [path.resolve() for path in chosen.checkouts]
    columns = [dict(sizes(path)) for path in checkouts]
    print("|", " | ".join(["", *(path.name for path in checkouts)]), "|")
    print("|---" + "|---:" * len(columns) + "|")
    for name in dict.fromkeys(name for column in columns for name in column):
        print("|", " | ".join([name, *(column.get(name, "") for column in columns)]), "|")


if __name__ == "__main__":
    main()
