"""Break the code at random and see whether tests fail: `python -m scripts.mutants --seed 20261130`.

A mutant is one change of a package: of an operator, a condition, an integer or a result, or a
deleted statement. A seed draws lines of code, and of each line one of its mutants; more of them
begin with the same ones. Each is tested in a copy of the checkout: first by the tests that
`scripts.check` relates to its file, until they have used the CPU of its minute, then, if those
pass, by all tests of its package.

    python -m scripts.mutants --list           # the mutants of the seed, without any test
    python -m scripts.mutants --only 3 17      # these of them, also beyond `--number`
    python -m scripts.mutants --package '*' --number 20 --quick    # by the check alone

Prints each mutant with the first test that fails, and exits with 1 if the tests of a package miss
one. A test that fails without any mutant would count: run the tests of the packages before.
"""

import argparse
import ast
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from scripts.check import AT_ONCE, ENOUGH_S, NO_TESTS, related_tests

ROOT = Path(__file__).parents[1]
SEED = 20261130
"""The seed of the forty mutants that are published."""
NUMBER = 40
CORES = 1.5
"""How many cores the tests of the check have: it types and lints at the same time."""
_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_FAILED = re.compile("FAILED|ERROR")
_ADDED: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file."""

    path: str
    """Below the root."""
    line: int
    start: int
    """Where the expression begins, in bytes."""
    was: str
    """The source of the expression."""
    now: str
    """Its replacement."""

    def __str__(self) -> str:
        """Return the place and the change, each expression on one line."""
        was, now = (" ".join(text.split()) for text in (self.was, self.now))
        return f"{self.path}:{self.line}: {was} -> {now}"

    def applied(self, source: bytes) -> bytes:
        """Return the changed file."""
        return (
            source[: self.start] + self.now.encode() + source[self.start + len(self.was.encode()) :]
        )


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file, in the order of the places."""
    raw = path.read_bytes()
    starts = [0, *accumulate(map(len, raw.splitlines(keepends=True)))]
    name = path.relative_to(ROOT).as_posix()

    def part(one: ast.expr | ast.stmt) -> str:
        end = starts[(one.end_lineno or 1) - 1] + (one.end_col_offset or 0)
        return raw[starts[one.lineno - 1] + one.col_offset : end].decode()

    for node in _run_nodes(ast.parse(raw)):
        for now in _changed(node, part):
            begin = starts[node.lineno - 1] + node.col_offset
            yield Mutant(name, node.lineno, begin, part(node), now)


def _run_nodes(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Yield the nodes below one that run: neither decorators nor annotations."""
    for field, value in ast.iter_fields(node):
        if field in {"decorator_list", "annotation", "returns", "type_params"}:
            continue
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.expr | ast.stmt):
                yield one
            if isinstance(one, ast.AST):
                yield from _run_nodes(one)


def _changed(node: ast.expr | ast.stmt, source: Callable[[ast.expr], str]) -> list[str]:
    """Return the replacements of an expression or a statement."""
    match node:
        case ast.Return(value=ast.Constant(value=bool() as value)):
            return [f"return {not value}"]
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Delete():
            return ["pass"]
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            return ["pass"]
        case ast.Raise() | ast.Break() | ast.Continue():
            return ["pass"]
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return [f"({value + 1})", f"({value - 1})"]
        case _:
            now = _other_operator(node, lambda one: f"({source(one)})")
            return [now] if now else []


def _other_operator(node: ast.AST, part: Callable[[ast.expr], str]) -> str | None:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            return f"({part(left)} {_COMPARED[type(op)]} {part(right)})"
        case ast.BoolOp(op=op, values=values):
            return (
                "(" + (" or " if isinstance(op, ast.And) else " and ").join(map(part, values)) + ")"
            )
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return part(operand)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return f"({part(orelse)} if {part(test)} else {part(body)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ADDED:
            is_text = any(isinstance(one, ast.Constant | ast.JoinedStr) for one in (left, right))
            return None if is_text else f"({part(left)} {_ADDED[type(op)]} {part(right)})"
        case _:
            return None


def drawn(seed: int, number: int, package: str = "*") -> list[Mutant]:
    """Draw lines, each of all that have mutants with the same probability, and a mutant of each."""
    lines: defaultdict[tuple[str, int], list[Mutant]] = defaultdict(list)
    for path in sorted(ROOT.glob(f"packages/{package}/src/**/*.py")):
        for mutant in mutants_of(path):
            lines[mutant.path, mutant.line].append(mutant)
    every, draws = list(lines.values()), random.Random(seed)  # noqa: S311 (a sample)
    draws.shuffle(every)
    return [draws.choice(some) for some in every[:number]]


def failing_test(copy: Path, tests: Sequence[str], enough_s: float) -> str:
    """Return the first test that fails in a copy of the checkout; empty if all of them pass.

    No further files are tested after so many seconds of CPU: the load of the machine is the same to
    it.
    """
    start, ran = _cpu_s(), 0
    while ran < len(tests) and _cpu_s() - start < enough_s:
        some = tests[ran : ran + AT_ONCE]
        command = (sys.executable, "-m", "pytest", "-q", "-x", "-n", "auto", "--timeout", "120")
        done = subprocess.run(  # noqa: S603 (this interpreter)
            [*command, "-p", "no:cacheprovider", "-m", "not slow and not postgres", *some],
            cwd=copy,
            env=_environment(copy),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode not in {0, NO_TESTS}:  # a module that cannot be imported ends with 2
            return next(filter(_FAILED.match, done.stdout.splitlines()), f"exit {done.returncode}")
        ran += len(some)
    return ""


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environment(copy: Path) -> dict[str, str]:
    sources = [str(path) for path in sorted(copy.glob("packages/*/src"))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(copy), *sources])}


def main() -> None:
    """Print the mutants, and what catches each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--number", type=int, default=NUMBER)
    parser.add_argument("--package", default="thalweg")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of the list")
    parser.add_argument("--list", action="store_true", help="print them, and test nothing")
    parser.add_argument("--quick", action="store_true", help="without the tests of the package")
    given = parser.parse_args()
    only = given.only or range(1, given.number + 1)
    mutants = list(enumerate(drawn(given.seed, max(only), given.package), 1))
    mutants = [one for one in mutants if one[0] in only]
    if given.list:
        for number, mutant in mutants:
            print(f"{number:3} {mutant}")
        return
    minute = suite = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        ignored = shutil.ignore_patterns(".venv", ".git", "*_cache", "__pycache__", "site")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for number, mutant in mutants:
            (copy / mutant.path).write_bytes(mutant.applied((ROOT / mutant.path).read_bytes()))
            caught = "by the check"
            failed = failing_test(copy, related_tests([mutant.path]), ENOUGH_S * CORES)
            if not failed and given.quick:
                caught = "missed"
            elif not failed:
                package = "/".join(mutant.path.split("/")[:2])
                failed = failing_test(copy, [f"{package}/tests", "tests/rules"], float("inf"))
                caught = "by the suite" if failed else "missed"
            minute += caught == "by the check"
            suite += caught.startswith("by")
            print(f"{number:3} {caught:13} {mutant}\n    {failed[:200]}", flush=True)
            shutil.copy(ROOT / mutant.path, copy / mutant.path)
    print(f"{minute} of {len(mutants)} caught by the check, {suite} by it or by the suite")
    raise SystemExit(suite < len(mutants))


if __name__ == "__main__":
    main()
