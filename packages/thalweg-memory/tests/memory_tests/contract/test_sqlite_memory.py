"""The SQLite store keeps every promise of a store of memories, on disk and in memory."""

import hmac
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from core_tests.contract.suites.archive import said as archived
from memory_tests.contract.suites.memory import (
    ADA,
    MemoryStoreContract,
    Reopen,
    said,
)
from memory_tests.contract.suites.memory.values import done, fact, forget, put
from thalweg.archive import SqliteArchive, ThreadKey
from thalweg.errors import ConfigError
from thalweg_memory.handle import open_memory
from thalweg_memory.store.records import Digests, Selection
from thalweg_memory.store.sqlite import SqliteMemory
from thalweg_memory.store.tables import MemoryStore


class TestOnDisk(MemoryStoreContract):
    """In a file, with a second connection as another process has it."""

    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[MemoryStore]:
        """Return an empty store."""
        with SqliteMemory(tmp_path / "thalweg.db") as memory:
            yield memory

    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Iterator[Reopen]:
        """Open the same file again; every handle is closed at the end."""
        opened: list[MemoryStore] = []

        def open_again() -> MemoryStore:
            opened.append(open_memory(tmp_path / "thalweg.db"))
            return opened[-1]

        yield open_again
        for memory in opened:
            memory.close()


class TestInMemory(MemoryStoreContract):
    """In memory, where data ends with its handle."""

    @pytest.fixture
    def memory(self) -> Iterator[MemoryStore]:
        """Return an empty store."""
        memory = open_memory(":memory:")
        yield memory
        memory.close()

    @pytest.fixture
    def reopen(self, memory: MemoryStore) -> Reopen:
        """Return the store itself."""
        return lambda: memory


def test_a_newer_format_and_another_secret_are_refused(tmp_path: Path) -> None:
    """The file is not changed."""
    path = tmp_path / "thalweg.db"
    SqliteMemory(path, secret=b"one").close()
    with pytest.raises(ConfigError, match="another secret"):
        SqliteMemory(path, secret=b"two")
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE memory_meta SET value = '99' WHERE name = 'version'")
    raw.close()
    with pytest.raises(ConfigError, match="memory format 99"):
        SqliteMemory(path)


def test_one_file_holds_an_archive_and_a_memory(tmp_path: Path) -> None:
    """Neither affects the other, in either order of creation."""
    for first, name in ((SqliteArchive, "one.db"), (SqliteMemory, "two.db")):
        first(tmp_path / name).close()
        with SqliteArchive(tmp_path / name) as archive, SqliteMemory(tmp_path / name) as memory:
            archive.append(ThreadKey("ada", "t1"), [archived("hello")])
            memory.capture(ADA, "t1", [said("hello", "u1")])
            memory.forget(ADA, Selection(everything=True), now="2026-03-01T10:00:00Z")
            assert archive.length(ThreadKey("ada", "t1")) == 1
            assert archive.search(ThreadKey("ada", "t1"), "hello")[0].text == "hello"


@pytest.mark.parametrize("address", ["ftp://x/y", "/nowhere/at/all.db", __file__])
def test_what_cannot_be_opened_is_told(address: str) -> None:
    """With what to do about it."""
    with pytest.raises(ConfigError):
        open_memory(address)


@pytest.mark.parametrize(
    ("text", "earlier"), [("User left in Μαΐου", "user left in μαι ου"), ("ǰ test", "j test")]
)
def test_an_earlier_tombstone_is_of_letters_that_casefold_decomposes(
    text: str, earlier: str
) -> None:
    """Letters were not composed again for the digest."""
    key = b"a key of the tests"
    digest = hmac.digest(key, f"content\x001\x00{earlier}".encode(), "sha256")[:16]
    assert digest in Digests(key, 1).tombstones_of("content", text)


def test_tombstones_made_before_signs_counted_block_what_they_blocked(tmp_path: Path) -> None:
    """Until the user states one of the texts again."""
    key = b"a key of the tests"
    with SqliteMemory(tmp_path / "thalweg.db", secret=key) as memory:
        done(memory, put(fact("a", "User writes C#")))
        forget(memory, "a")
        digest = hmac.digest(key, b"content\x001\x00user writes c", "sha256")[:16]
        with closing(sqlite3.connect(tmp_path / "thalweg.db")) as raw, raw:
            raw.execute("DELETE FROM memory_tombstone")
            raw.execute("INSERT INTO memory_tombstone (scope, digest) VALUES (1, ?)", (digest,))
        texts = ["User writes C#", "user writes C.", "User writes D"]
        assert memory.is_forgotten(ADA, texts) == [True, True, False]
        done(memory, put(fact("b", "User writes C#")))
        assert memory.is_forgotten(ADA, texts) == [False] * 3
