"""Check a change while it is made, in about a minute: lint, types, layers, marks, related tests.

`uv run python -m scripts.check` compares the working tree with `main`; `--since REF` with another
commit. Related are the tests under `tests/unit` and `tests/property` that import a changed module
or its package, and every test file that changed. `.ci/run` runs all of them.
"""

import argparse
import ast
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
QUICK = ("tests/unit", "tests/property")
CHECKS = (
    ("ruff", "format", "--check"),
    ("ruff", "check"),
    ("lint-imports", "--no-logo"),
    ("mypy",),
    ("python", "scripts/marks.py", "--check"),
)


def changed_files(since: str) -> list[str]:
    """List the files that differ from a commit, untracked ones included; deleted ones are not.

    Raises:
        subprocess.CalledProcessError: Git does not know the commit.
    """
    base = _git("merge-base", since, "HEAD")[0]
    tracked = _git("diff", "--name-only", "--diff-filter=d", base)
    return sorted({*tracked, *_git("ls-files", "--others", "--exclude-standard")})


def _git(*arguments: str) -> list[str]:
    command = ["git", *arguments]
    done = subprocess.run(  # noqa: S603 (the user's own git)
        command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.splitlines()


def changed_modules(paths: Iterable[str]) -> set[str]:
    """Return the modules of changed files under `src`, each with its package.

    Example:
        >>> sorted(changed_modules(["src/thalweg/archive/blobs.py", "README.md"]))
        ['thalweg.archive', 'thalweg.archive.blobs']
    """
    found: set[str] = set()
    for path in map(PurePosixPath, paths):
        if path.suffix == ".py" and path.parts[0] == "src":
            package = ".".join(path.parts[1:-1])
            found |= {package, package if path.stem == "__init__" else f"{package}.{path.stem}"}
    return found - {"thalweg"}  # everything imports it


def imported_modules(source: str) -> Iterator[str]:
    """Yield every name that a source may import as a module.

    Example:
        >>> list(imported_modules("from thalweg.archive import blobs"))
        ['thalweg.archive', 'thalweg.archive.blobs']
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def related_tests(changed: Collection[str], root: Path = ROOT) -> list[str]:
    """Return the test files that changed, and the quick ones that import what changed."""
    modules = changed_modules(changed)
    found = {path for path in changed if _is_test(PurePosixPath(path))}
    for folder in QUICK:
        for path in (root / folder).rglob("test_*.py"):
            if not modules.isdisjoint(imported_modules(path.read_text(encoding="utf-8"))):
                found.add(path.relative_to(root).as_posix())
    return sorted(found)


def _is_test(path: PurePosixPath) -> bool:
    return path.parts[0] == "tests" and path.match("test_*.py")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks beside each other; return 1 if any fails."""
    parser = argparse.ArgumentParser(prog="python -m scripts.check", description=__doc__)
    parser.add_argument("--since", default="main", help="the commit to compare with")
    tests = related_tests(changed_files(parser.parse_args(arguments).since))
    commands = list(CHECKS)
    if tests:
        commands.append(("pytest", "-q", "-n", "auto", *tests))
    with ThreadPoolExecutor(len(commands)) as pool:
        failed = [not is_good for is_good in pool.map(_passes, commands)]
    print(f"{len(tests)} related test files; {sum(failed)} of {len(commands)} checks failed")
    return int(any(failed))


def _passes(command: Sequence[str]) -> bool:
    """Run a command, print its name, and its output if it fails."""
    done = subprocess.run(  # noqa: S603 (tools of this project)
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    is_good = done.returncode == 0
    print(f"{'ok    ' if is_good else 'FAILED'} {' '.join(command[:4])}")
    if not is_good:
        print(done.stdout)
    return is_good


if __name__ == "__main__":
    sys.exit(main())
