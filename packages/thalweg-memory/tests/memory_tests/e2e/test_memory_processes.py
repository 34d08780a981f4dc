"""Two real processes on one store: one learns, the other deletes and edits what it learns."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core_tests.forking import PYTHON_PATH
from memory_tests.contract.suites.memory import check, delete, prepare
from thalweg_memory.facts.values import Scope
from thalweg_memory.handle import open_memory

ROOT = Path(__file__).parents[5]
ROUNDS = 20
"""Of each of three races."""
LEARNER = """
import random, sys
from thalweg_memory.facts.values import Scope
from thalweg_memory.handle import open_memory
from memory_tests.contract.suites.memory import learn
chance = random.Random(1)
with open_memory(sys.argv[1]) as memory:
    print("ready", flush=True)
    for line in sys.stdin:
        learn(memory, Scope(line.strip()), lambda: None, [chance.random() * .004 for _ in range(6)])
        print("done", flush=True)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the address of an empty store."""
    if request.param == "sqlite":
        return str(tmp_path / "thalweg.db")
    url: str = request.getfixturevalue("postgres_url")
    return url


@pytest.fixture
def learner(address: str) -> Iterator[subprocess.Popen[str]]:
    """Start a process that learns from each scope that it receives."""
    process = subprocess.Popen(
        [sys.executable, "-c", LEARNER, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": PYTHON_PATH},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.communicate()
    assert process.returncode == 0


@pytest.mark.slow
def test_nothing_comes_back_that_another_process_learns_meanwhile(
    address: str, learner: subprocess.Popen[str]
) -> None:
    """This holds in either order."""
    assert learner.stdin is not None
    assert learner.stdout is not None
    chance = random.Random(2)  # noqa: S311 (no secret)
    with open_memory(address) as memory:
        for how in ("forget", "clear", "edit"):
            for number in range(ROUNDS):
                scope = Scope(f"{how} {number}")
                prepare(memory, scope)
                learner.stdin.write(f"{scope.owner}\n")
                learner.stdin.flush()
                delete(memory, scope, lambda: None, chance.random() * 0.02, how)
                assert learner.stdout.readline() == "done\n"
                check(memory, scope, how)
