"""A process that changes a memory with a document until it is killed, or for some seconds.

Run as `python -m memory_tests.e2e.document_writer FOLDER NAME SECONDS`. It prints `add ID`,
`remove ID` before a commit that does it, and `done ID` after it.
"""

import random
import sys
import time
from pathlib import Path

from thalweg.errors import StaleWriteError
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Change, Fact, FactId, PutFact, RemoveFact, Scope
from thalweg_memory.handle import attach_document, open_memory
from thalweg_memory.store.tables import MemoryStore

ME = Scope("local")
NOW = "2026-03-01T10:00:00Z"


def open_with_document(folder: Path) -> MemoryStore:
    """Open the memory of a folder with its document."""
    store = open_memory(folder / "thalweg.db")
    path = str(folder / "memory.json")
    attach_document(store, MemorySettings(storage="json", storage_path=path))
    return store


def commit(store: MemoryStore, change: Change, *, actor: str = "user") -> None:
    """Commit a change; retry while others are first."""
    while True:
        version = store.version(ME)
        try:
            store.commit(ME, [change], expected=version, actor=actor, now=NOW)
        except StaleWriteError:
            continue
        return


def report(*words: str) -> None:
    """Print a line at once."""
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def main(folder: str, name: str, seconds: str) -> None:
    """Add facts, and remove some of them again."""
    chance = random.Random(name)  # noqa: S311 (no secret)
    until = time.monotonic() + float(seconds)
    facts: list[FactId] = []
    number = 0
    with open_with_document(Path(folder)) as store:
        report("ready")
        while time.monotonic() < until:
            number += 1
            if facts and chance.random() < 0.3:
                id_ = facts.pop(chance.randrange(len(facts)))
                report("remove", id_)
                commit(store, RemoveFact(id_, "test"))
            else:
                id_ = FactId(f"{name}-{number}")
                report("add", id_)
                fact = Fact(id_, f"{name} keeps {number}", "goal", 1, NOW, "t")
                commit(store, PutFact(fact, "test"), actor="learned:m")
                facts.append(id_)
            report("done", id_)


if __name__ == "__main__":
    main(*sys.argv[1:])
