"""Measure the size of a checkout: lines, files and what users meet.

`uv run python -m scripts.size [CHECKOUT …]` prints one column for each checkout, this one without
arguments. Other commits are measured in their worktrees (`git worktree add /tmp/old COMMIT`), with
the libraries that are installed here.
"""

import argparse
import ast
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

LOADED = "import sys, thalweg; thalweg.ContextMiddleware; print(*sys.modules)"
COMMANDS = """
from scripts.command_help import every_help, has_commands, options
print(*(options(text) for _, text in every_help() if not has_commands(text)), sep="\\n")
"""
_KEY = re.compile(r"^\| `\w+` \|", re.MULTILINE)
_OPTION = re.compile(r"'(--[a-z-]+)'")


def sizes(checkout: Path) -> Iterator[tuple[str, str]]:
    """Yield what is measured and its figure, for the package of a checkout.

    Raises:
        subprocess.CalledProcessError: Its package cannot be imported.
    """
    source = checkout / "src" / "thalweg"
    files = {path: path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.py"))}
    lines = {path: len(text.splitlines()) for path, text in files.items()}
    functions = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for text in files.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    yield "lines of Python in src", f"{sum(lines.values()):,}"
    yield "files", f"{len(lines):,}"
    yield "file, median / largest", f"{median(lines.values()):.0f} / {max(lines.values())}"
    yield "function, median / largest", f"{median(functions):.0f} / {max(functions)}"
    yield "public names (`__all__`)", f"{sum(map(_public, files.values()))}"
    options = [_OPTION.findall(line) for line in _run(checkout, COMMANDS).splitlines()]
    yield "CLI commands", f"{len(options)}"
    different = len({name for names in options for name in names})
    yield "CLI options / different ones", f"{sum(map(len, options))} / {different}"
    page = (checkout / "docs" / "configuration.md").read_text(encoding="utf-8")
    yield "configuration keys", f"{len(_KEY.findall(page))}"
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield "required dependencies", f"{len(project['dependencies'])}"
    loaded = [name for name in _run(checkout, LOADED).split() if name.startswith("thalweg")]
    yield "modules loaded by ContextMiddleware", f"{len(loaded)}"
    rooms: Counter[str] = Counter()
    for path, count in lines.items():
        rooms[path.relative_to(source).parts[0].removesuffix(".py")] += count
    for room, count in rooms.most_common():
        yield f"`{room}`", f"{count:,}"


def _public(text: str) -> int:
    """Count the names in a module's `__all__`."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List | ast.Tuple):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if "__all__" in names:
                return len(node.value.elts)
    return 0


def _run(checkout: Path, code: str) -> str:
    """Return what code prints that imports the package of a checkout."""
    return subprocess.run(  # noqa: S603 (this interpreter)
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(checkout / "src"), "PYTHONWARNINGS": "ignore"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the sizes as a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path(__file__).parents[1]])
    checkouts = [path.resolve() for path in parser.parse_args(arguments).checkouts]
    columns = [dict(sizes(path)) for path in checkouts]
    print("|", " | ".join(["", *(path.name for path in checkouts)]), "|")
    print("|---" + "|---:" * len(columns) + "|")
    for name in dict.fromkeys(name for column in columns for name in column):
        print("|", " | ".join([name, *(column.get(name, "") for column in columns)]), "|")


if __name__ == "__main__":
    main()
