"""`memory.json` with real processes: two write at once, writers are killed, a person edits."""

import json
import os
import random
import time
from collections.abc import Iterable
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from core_tests.forking import Forked, start
from memory_tests.e2e.document_writer import ME, open_with_document
from thalweg_memory.document_files import _DocumentFile

KILLS = int(os.environ.get("THALWEG_KILLS", "40"))


def writer(folder: Path, name: str, seconds: float = 600) -> Forked:
    """Start a process that writes."""
    module = "memory_tests.e2e.document_writer"
    process = start(module, folder, name, seconds, stdout=PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


class Log:
    """The changes that writers printed."""

    def __init__(self) -> None:
        self.present: set[str] = set()
        self.absent: set[str] = set()
        self.unknown: set[str] = set()
        """Of changes that a kill interrupted."""

    def read(self, lines: Iterable[str]) -> None:
        """Read the output of one writer, to its end."""
        last, of = "done", ""
        for line in lines:
            what, _, id_ = line.removesuffix("\n").partition(" ")
            if what == "done":
                (self.present if last == "add" else self.absent).add(id_)
            elif what == "remove":
                self.present.discard(id_)
            last, of = what, id_
        if last != "done":
            self.unknown.add(of)


def body(folder: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / "memory.json").read_text("utf-8"))
    return told


def save(folder: Path, value: object) -> None:
    """Save as editors do: another file replaces the document."""
    other = folder / "memory.json.swp"
    other.write_text(json.dumps(value), "utf-8")
    other.replace(folder / "memory.json")


def ids(folder: Path) -> set[str]:
    """Return the facts of the document, after comparing it with the memory."""
    with open_with_document(folder) as store:
        found = {str(fact.id) for fact in store.facts(ME)}
    assert found == {fact["id"] for fact in body(folder)["facts"]}
    return found


@pytest.mark.slow
def test_two_processes_and_a_hand_write_at_once(tmp_path: Path) -> None:
    """Each has every change of the others; the editor saves while no process writes."""
    log = Log()
    mine: list[str] = []
    writers = [writer(tmp_path, name, 4) for name in ("a", "b")]
    while any(process.poll() is None for process in writers):
        with _DocumentFile(tmp_path / "memory.json").locked():
            if (tmp_path / "memory.json").exists():
                edited = body(tmp_path)
                edited["facts"].append({"content": f"by hand {len(mine)}"})
                save(tmp_path, edited)
                mine.append(edited["facts"][-1]["content"])
        time.sleep(0.2)
    for process in writers:
        with process:
            assert process.stdout is not None
            log.read(process.stdout)
        assert process.returncode == 0
    found = ids(tmp_path)
    by_hand = {fact["id"] for fact in body(tmp_path)["facts"] if fact["content"] in mine}
    assert len(by_hand) == len(mine) > 1
    assert {id_[0] for id_ in log.present} == {"a", "b"}
    assert not log.unknown
    assert found == log.present | by_hand


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_killed_writers_lose_nothing_and_bring_nothing_back(tmp_path: Path, seed: int) -> None:
    """A person edits the document of a killed process, before any process repairs it."""
    chance = random.Random(seed)  # noqa: S311 (moments to kill at)
    log = Log()
    for number in range(KILLS):
        with writer(tmp_path, f"w{number}") as process:
            assert process.stdout is not None
            first = [process.stdout.readline(), process.stdout.readline()]
            time.sleep(chance.uniform(0, 0.06))
            process.kill()
            log.read([*first, *process.stdout])
        if not (tmp_path / "memory.json").exists() or chance.random() < 0.5:
            continue
        edited = body(tmp_path)  # a whole one, after each kill
        if edited["facts"] and chance.random() < 0.5:
            gone = edited["facts"].pop(chance.randrange(len(edited["facts"])))["id"]
            log.present.discard(gone)
            log.unknown.discard(gone)
            log.absent.add(gone)
        else:
            edited["facts"].append({"id": f"by-hand-{number}", "content": f"By hand: {number}"})
            log.present.add(f"by-hand-{number}")
        save(tmp_path, edited)
    found = ids(tmp_path)
    assert len(log.present) > KILLS // 4
    assert log.present <= found
    assert not log.absent & found
    assert found - log.present <= log.unknown
    names = {path.name for path in tmp_path.iterdir() if not path.name.startswith("thalweg.db")}
    assert names == {".memory.json.lock", ".memory.json.seen", "memory.json"}
