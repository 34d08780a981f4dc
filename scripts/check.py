"""Check a change while it is made: lint, types, layers, marks, related tests.

`uv run python -m scripts.check` compares the working tree with `main`; `--since REF` with another
commit. Related are the doctests of a changed module and the tests that import it, also through
other modules, in all packages: nearest first, those of its own package before others, until
`ENOUGH_S` have passed; the last line has how many were skipped. Tests outside `QUICK` are related
only if they import a changed module themselves; slow tests and those that need PostgreSQL are
skipped. Files other than Python have none. `.ci/run` runs all of them.
"""

import argparse
import ast
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
FOLDERS = ("packages", "tests", "benchmarks", "scripts")
QUICK = frozenset({"unit", "property", "contract", "strict_llm_tests"})
"""Folders with tests that take a moment each."""
ENOUGH_S = 40
"""No further files are tested after so many seconds."""
_IMPORTED_LATER = re.compile(r"[a-z]\w*(\.\w+)+(:\w+)?")
AT_ONCE = 24
"""Files that one run of pytest has: each run takes seconds to start."""
NO_TESTS = 5
"""The exit code of pytest if no test was selected."""
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


def module_of(path: str) -> str:
    """Return the module of a file; a package is its `__init__`.

    Example:
        >>> (
        ...     module_of("packages/thalweg/src/thalweg/archive/table_rows.py"),
        ...     module_of("tests/__init__.py"),
        ... )
        ('thalweg.archive.table_rows', 'tests.__init__')
        >>> module_of("packages/strict-llm/src/strict_llm/cache.py")
        'strict_llm.cache'
    """
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[3:] if parts[0] == "packages" else parts)


def imported_names(source: str) -> Iterator[str]:
    """Yield every name that a source imports, each with its module, also those in texts.

    Example:
        >>> list(imported_names("from thalweg.archive import table_rows as blobs"))
        ['thalweg.archive.table_rows']
        >>> list(imported_names("LATER = 'thalweg.engine.wires.gemini:GeminiWire'"))
        ['thalweg.engine.wires.gemini.GeminiWire']
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Constant) and _IMPORTED_LATER.fullmatch(str(node.value)):
            yield str(node.value).replace(":", ".")


def importers(root: Path = ROOT) -> Mapping[str, set[str]]:
    """Return the files that import each module.

    A name that a package re-exports is imported from the module that defines it: tests of one part
    of a package are not related to the others. Who imports the package imports all of these names.
    """
    imports = {
        path.relative_to(root).as_posix(): set(imported_names(path.read_text(encoding="utf-8")))
        for folder in FOLDERS
        for path in (root / folder).rglob("*.py")
    }
    homes = {
        f"{module_of(path).removesuffix('__init__')}{name.rpartition('.')[2]}": name
        for path, names in imports.items()
        if path.endswith("/__init__.py")
        for name in names
    }
    exports = {
        module_of(path).removesuffix(".__init__"): names
        for path, names in imports.items()
        if path.endswith("/__init__.py")
    }
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path, names in imports.items():
        if path.endswith("/__init__.py"):
            continue
        for name in names.union(*(exports.get(name, ()) for name in names)):
            found[f"{name.rpartition('.')[0]}.__init__"].add(path)
            home = name
            while homes.get(home, home) != home:
                home = homes[home]
            found[home].add(path)
            found[home.rpartition(".")[0]].add(path)
    return found


def related_tests(changed: Collection[str], root: Path = ROOT) -> list[str]:
    """Return the related files with tests, nearest first: changed ones, then their importers."""
    python = [path for path in changed if path.endswith(".py") and path.startswith(FOLDERS)]
    users, distances = importers(root), dict.fromkeys(python, 0)
    ahead = [*python]
    while ahead:
        path = ahead.pop(0)
        for user in sorted(users.get(module_of(path), ())):
            if user not in distances:
                distances[user] = distances[path] + 1
                ahead.append(user)
    found = [path for path in distances if _is_related(path, distances[path])]
    packages = {path.split("/")[1] for path in python}
    return sorted(
        found,
        key=lambda path: (distances[path], not _is_quick(path), path.split("/")[1] not in packages),
    )


def _is_related(path: str, distance: int) -> bool:
    if "src" in PurePosixPath(path).parts:
        return distance == 0
    return PurePosixPath(path).match("test_*.py") and (distance <= 1 or _is_quick(path))


def _is_quick(path: str) -> bool:
    return not QUICK.isdisjoint(PurePosixPath(path).parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks in parallel; return 1 if any fails."""
    parser = argparse.ArgumentParser(prog="python -m scripts.check", description=__doc__)
    parser.add_argument("--since", default="main", help="the commit to compare with")
    tests = related_tests(changed_files(parser.parse_args(arguments).since))
    with ThreadPoolExecutor() as pool:
        tested = pool.submit(_test, tests)
        failed = [not is_good for is_good in pool.map(_passes, CHECKS)]
        ran, is_good = tested.result()
    failed.append(not is_good)
    print(f"{ran} of {len(tests)} related files were tested; {sum(failed)} checks failed")
    return int(any(failed))


def _test(files: Sequence[str]) -> tuple[int, bool]:
    """Test files in their order until `ENOUGH_S` have passed; return how many, and if all pass."""
    start, ran, is_good = time.monotonic(), 0, True
    while ran < len(files) and time.monotonic() - start < ENOUGH_S:
        some = files[ran : ran + AT_ONCE]
        command = ("pytest", "-q", "-n", "auto", "-m", "not slow and not postgres", *some)
        is_good &= _passes(command, (0, NO_TESTS))
        ran += len(some)
    return ran, is_good


def _passes(command: Sequence[str], good: Collection[int] = (0,)) -> bool:
    """Run a command, print its name, and its output if it fails."""
    done = subprocess.run(  # noqa: S603 (tools of this project)
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    is_good = done.returncode in good
    print(f"{'ok    ' if is_good else 'FAILED'} {' '.join(command[:4])}")
    if not is_good:
        print(done.stdout)
    return is_good


if __name__ == "__main__":
    sys.exit(main())
