"""Mutants of the code: each is one change, and the file is still Python."""

import ast
from pathlib import Path

from scripts.mutants import ROOT, drawn, mutants_of

FILE = ROOT / "packages/thalweg/src/thalweg/engine/window/window.py"


def test_every_mutant_of_a_file_is_python_and_differs() -> None:
    source = FILE.read_bytes()
    found = list(mutants_of(FILE))
    assert len(found) > 20
    for mutant in found[::5]:
        assert ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source)), mutant


def test_a_seed_draws_the_same_mutants() -> None:
    first, again = (drawn(7, 3, "strict-llm") for _ in range(2))
    assert first == again
    assert all(Path(ROOT / mutant.path).is_file() for mutant in first)
