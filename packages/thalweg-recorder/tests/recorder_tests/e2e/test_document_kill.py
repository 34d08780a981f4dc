"""A process that writes a memory's document is killed at any moment: it is whole, and in step."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from recorder_tests.e2e.test_cli import environment, posix
from thalweg_memory import Memory, open_memory
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Scope

pytestmark = pytest.mark.slow

WRITES = """
import sys
from pathlib import Path
from thalweg_memory.facts.changes import PutFact
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Fact, FactId, Scope
from thalweg_memory.opening import attach_document, open_memory

folder, life = Path(sys.argv[1]), sys.argv[2]
with open_memory(folder / "thalweg.db") as memory:
    document = str(folder / "memory.json")
    attach_document(memory, MemorySettings(storage="json", storage_path=document))
    scope, now = Scope("local"), "2026-03-01T10:00:00Z"
    print("ready", flush=True)
    for number in range(10_000):
        fact = Fact(FactId(f"{life}-{number}"), f"{life} says {number}", "goal", 1, now, "t")
        version = memory.version(scope)
        memory.commit(scope, [PutFact(fact, "x")], expected=version, actor="user", now=now)
        print(number, flush=True)
"""


@posix
def test_a_killed_writer_leaves_a_whole_document(tmp_path: Path) -> None:
    """Every fact whose commit returned is in memory and document, and nothing else lies about."""
    chance = random.Random(7)  # noqa: S311 (a moment to kill at)
    done: set[str] = set()
    for life in "abcd":
        with subprocess.Popen(
            [sys.executable, "-c", WRITES, str(tmp_path), life],
            stdout=subprocess.PIPE,
            env=environment(),
            encoding="utf-8",
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.05, 0.6))
            writer.kill()
            done |= {f"{life} says {line.strip()}" for line in writer.stdout}
        document = tmp_path / "memory.json"
        if document.exists():
            json.loads(document.read_text("utf-8"))
    settings = MemorySettings(storage="json", storage_path=str(tmp_path / "memory.json"))
    with open_memory(tmp_path / "thalweg.db") as store:
        memory = Memory(store, Scope("local"), settings=settings)
        assert memory.reload() is None
        contents = {fact.content for fact in memory.facts()}
    told = {fact["content"] for fact in json.loads((tmp_path / "memory.json").read_text())["facts"]}
    assert done <= contents == told
    ours = {".memory.json.lock", ".memory.json.seen", "memory.json", "thalweg.db"}
    assert {path.name for path in tmp_path.iterdir()} <= ours | {"thalweg.db-wal", "thalweg.db-shm"}
