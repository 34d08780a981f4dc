"""No forgotten byte remains in any file of a SQLite store, regardless of what happens meanwhile."""

import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from thalweg.archive import Logged, SqliteArchive, ThreadKey
from thalweg.engine.entries import Message, Text
from thalweg_memory.facts.values import (
    Change,
    Evidence,
    Fact,
    FactId,
    ProfileSection,
    PutFact,
    RemoveFact,
    Scope,
    Statement,
    Trust,
    WriteSection,
)
from thalweg_memory.store.records import Selection
from thalweg_memory.store.sqlite import SqliteMemory

ROOT = Path(__file__).parents[5]
NOW = "2026-03-01T10:00:00Z"
ADA, BOB = Scope("ada"), Scope("bob")
WINDOW, STEP = 20, 5
"""Any stretch of so many bytes that remains of a text is found, from 24 bytes on."""
ALPHABETS = (
    "bcdfghjklmnpqrstvwxyz  ",
    "äöüßéèñçøåłșžđħẽỹąęįųőűğ  ",
    "".join(map(chr, range(0x4E00, 0x9FA5))),
    "".join(map(chr, range(0x1F300, 0x1F5FF))),
)
"""Letters of one byte to four: a page ends in the middle of some."""


def windows(*texts: str) -> set[bytes]:
    """List stretches of texts as they would be in a file."""
    return stretches(*(text.encode() for text in texts))


def stretches(*raws: bytes) -> set[bytes]:
    """List every stretch of so many bytes."""
    return {raw[at : at + WINDOW] for raw in raws for at in range(len(raw) - WINDOW + 1)}


def left(folder: Path, sought: set[bytes]) -> dict[str, int]:
    """Count in each file of a folder how many of some stretches it has."""
    found = {}
    for path in filter(Path.is_file, folder.iterdir()):
        raw = path.read_bytes()
        found[path.name] = sum(raw[at : at + WINDOW] in sought for at in range(0, len(raw), STEP))
    return {name: count for name, count in found.items() if count}


class Writer:
    """Writes texts that no one else has, and records which are whose."""

    def __init__(self, memory: SqliteMemory, seed: int) -> None:
        self.memory = memory
        self.chance = random.Random(seed)  # noqa: S311 (no secret)
        self.texts: dict[Scope, list[str]] = {ADA: [], BOB: []}
        self.number = 0

    def text(self, scope: Scope, size: int = 0) -> str:
        """Make up a text, from a word to several pages long."""
        alphabet = self.chance.choice(ALPHABETS)
        size = size or self.chance.choice((12, 40, 150, 400, 900, 5_000))
        said = "".join(self.chance.choices(alphabet, k=size)).strip()
        self.texts[scope].append(said)
        return said

    def step(self, scope: Scope) -> None:
        """Do something that people do."""
        self.number += 1
        memory, choose = self.memory, self.chance.random()
        if choose < 0.35:
            said = self.text(scope)
            turn = Statement(
                f"t{self.number % 3}", 0, "user", said, NOW, Trust.USER, uid=f"u{self.number}"
            )
            memory.capture(scope, turn.thread, [turn])
            return
        facts = memory.facts(scope, statuses=None)
        changes: list[Change] = []
        if choose < 0.6 or not facts:
            uid = f"u{self.number}"
            quote = Evidence("t1", uid, self.text(scope), NOW, Trust.USER)
            content, aliases = self.text(scope), (self.text(scope, 60),)
            id_ = FactId(f"fact-{self.number}")
            new = Fact(
                id_, content, "goal", 1, NOW, "t1", value=self.text(scope, 30), evidence=(quote,)
            )
            changes = [PutFact(replace(new, aliases=aliases), self.text(scope, 30))]
        elif choose < 0.8:
            old = self.chance.choice(facts)
            changes = [PutFact(replace(old, content=self.text(scope)), "edited")]
        elif choose < 0.9:
            changes = [RemoveFact(self.chance.choice(facts).id, "dropped")]
        else:
            section = ProfileSection(
                "topOfMind", self.text(scope), NOW, (self.chance.choice(facts).id,)
            )
            changes = [WriteSection(section, "written")]
        memory.commit(
            scope, changes, expected=memory.version(scope), actor="user", now=NOW,
            why=self.text(scope, 50),
        )  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Name a file."""
    return tmp_path / "thalweg.db"


@pytest.fixture
def neighbour(path: Path) -> Iterator[sqlite3.Connection]:
    """Keep the file open, as another process does."""
    SqliteMemory(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("SELECT COUNT(*) FROM memory_fact").fetchall()
    yield connection
    connection.close()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.usefixtures("neighbour")
def test_after_any_history_nothing_of_a_scope_is_left_once_it_is_forgotten(
    path: Path, seed: int
) -> None:
    """Nor of what was edited and dropped, nor the names of threads; the other scope has its all."""
    with SqliteMemory(path) as memory:
        writer = Writer(memory, seed)
        for _ in range(150):
            writer.step(writer.chance.choice((ADA, BOB)))
        memory.set_mode(ADA, writer.text(ADA, 60), "off")
        sought = windows(*writer.texts[ADA])
        assert left(path.parent, sought)
        kept = memory.facts(BOB, statuses=None), memory.operations(BOB), memory.turns(BOB, "t1")
        receipt = memory.forget(ADA, Selection(everything=True), now=NOW)
        assert receipt.left == ()
        assert left(path.parent, sought) == {}
        assert kept == (
            memory.facts(BOB, statuses=None), memory.operations(BOB), memory.turns(BOB, "t1")
        )  # fmt: skip
    assert left(path.parent, sought) == {}


@pytest.mark.parametrize("seed", [7, 8, 11])
def test_rows_that_moved_from_page_to_page_leave_no_copy_behind(path: Path, seed: int) -> None:
    """With these seeds SQLite's `secure_delete` alone does not remove every copy."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    texts: list[str] = []

    def made_up(scope: Scope, id_: str, before: str = "") -> PutFact:
        size = chance.choice((24, 60, 150, 400, 1_200))
        said = before + "".join(chance.choices("bcdfghjklmnpqrstvwxyz ", k=size)).strip()
        texts.extend([said] if scope == ADA else [])
        return PutFact(Fact(FactId(id_), said, "goal", 1, NOW, "manual"), "w")

    with SqliteMemory(path) as memory:
        for scope in (ADA, BOB):
            first = [made_up(scope, f"f{n}", f"{n} ") for n in range(60)]
            memory.commit(scope, first, expected=0, actor="user", now=NOW)
        for _ in range(300):
            scope = chance.choice((ADA, BOB))
            facts = memory.facts(scope, statuses=None)
            change: Change = made_up(scope, f"f{chance.randint(0, 59)}")
            if chance.random() >= 0.6:
                change = RemoveFact(chance.choice(facts).id, "dropped")
            version = memory.version(scope)
            memory.commit(scope, [change], expected=version, actor="user", now=NOW)
        memory.forget(ADA, Selection(everything=True), now=NOW)
        assert left(path.parent, windows(*texts)) == {}


@pytest.mark.usefixtures("neighbour")
def test_of_one_fact_nothing_is_left_wherever_it_stood(path: Path) -> None:
    """In its history, its turn, the profile, and the reasons; an archive is in the same file."""
    with SqliteArchive(path) as archive, SqliteMemory(path) as memory:
        archive.append(ThreadKey("ada", "t1"), [Logged(Message("user", (Text("hello"),)))])
        writer = Writer(memory, 7)
        for _ in range(60):
            writer.step(BOB)
        texts = [writer.text(ADA, size) for size in (900, 700, 50, 40, 300, 6_000, 60, 80)]
        said, content, alias, value, older, profile, why, reason = texts
        memory.capture(ADA, "t1", [Statement("t1", 0, "user", said, NOW, Trust.USER, uid="u1")])
        quote = Evidence("t1", "u1", said, NOW, Trust.USER, 0)
        fact = Fact(FactId("f"), older, "goal", 1, NOW, "t1", value=value, evidence=(quote,))
        changes: list[Change] = [
            PutFact(fact, why),
            PutFact(replace(fact, content=content, aliases=(alias,)), why),
            WriteSection(ProfileSection("workContext", profile, NOW, (fact.id,)), why),
        ]
        for at, change in enumerate(changes):
            memory.commit(ADA, [change], expected=at, actor="user", now=NOW, why=reason)
        for _ in range(60):
            writer.step(BOB)
        sought = windows(*texts)
        assert left(path.parent, sought)
        assert memory.forget(ADA, Selection(facts=(fact.id,)), now=NOW).left == ()
        assert left(path.parent, sought) == {}
        archive.append(ThreadKey("ada", "t1"), [Logged(Message("user", (Text("again"),)))])


DYING = """
import os, signal, sys
from thalweg_memory.facts.values import PutFact
from thalweg_memory.facts.values import Fact, FactId, Scope
from thalweg_memory.store.records import Selection
from thalweg_memory.store.sqlite import SqliteMemory

class Dying(SqliteMemory):
    def _erased(self):
        os.kill(os.getpid(), signal.SIGKILL)

path, when, text = sys.argv[1:]
memory = (Dying if when == "before" else SqliteMemory)(path)
ada, now = Scope("ada"), "2026-03-01T10:00:00Z"
fact = Fact(FactId("f"), text, "goal", 1, now, "manual")
memory.commit(ada, [PutFact(fact, "w")], expected=0, actor="user", now=now)
memory.forget(ada, Selection(facts=(fact.id,)), now=now)
os.kill(os.getpid(), signal.SIGKILL)
"""


def die(path: Path, when: str, text: str) -> None:
    """Let a process forget and be killed, before it erased what it deleted or just after."""
    given = [sys.executable, "-c", DYING, str(path), when, text]
    process = subprocess.run(given, cwd=ROOT, check=False, capture_output=True)
    assert process.returncode == -signal.SIGKILL, process.stderr.decode()


@pytest.mark.usefixtures("neighbour")
def test_nothing_is_left_though_the_process_is_killed_as_soon_as_it_forgot(path: Path) -> None:
    """No later opening has to clear it up."""
    text = "The quick 花生过敏 jumps over the lazy dog" * 40
    die(path, "after", text)
    assert left(path.parent, windows(text)) == {}


@pytest.mark.parametrize("who", ["opening", "neighbour"])
def test_what_a_killed_process_did_not_erase_the_next_one_does(path: Path, who: str) -> None:
    """When it opens the store, or with its next write if it had it open all the time."""
    text = "The quick 花生过敏 jumps over the lazy dog" * 40
    with SqliteMemory(path) as memory:
        die(path, "before", text)
        assert left(path.parent, windows(text))
        if who == "opening":
            SqliteMemory(path).close()
        else:
            memory.set_mode(BOB, "t1", "off")
        assert left(path.parent, windows(text)) == {}


def test_where_a_reader_is_in_the_way_the_receipt_says_so(
    path: Path, neighbour: sqlite3.Connection
) -> None:
    """It is forgotten for everybody who reads from now on; the next write erases it."""
    text = "The quick 花生过敏 jumps over the lazy dog" * 40
    with SqliteMemory(path, busy_timeout_s=0.05) as memory:
        fact = Fact(FactId("f"), text, "goal", 1, NOW, "manual")
        memory.commit(ADA, [PutFact(fact, "w")], expected=0, actor="user", now=NOW)
        neighbour.execute("BEGIN")
        assert neighbour.execute("SELECT COUNT(*) FROM memory_fact").fetchone() == (1,)
        receipt = memory.forget(ADA, Selection(facts=(fact.id,)), now=NOW)
        assert len(receipt.left) == 1
        assert memory.facts(ADA, statuses=None) == []
        memory.set_mode(ADA, "t1", "off")
        assert left(path.parent, windows(text))
        neighbour.execute("COMMIT")
        memory.set_mode(ADA, "t1", "on")
        assert left(path.parent, windows(text)) == {}
        memory.set_mode(ADA, "t1", "off")
        assert Path(f"{path}-wal").stat().st_size > 0
