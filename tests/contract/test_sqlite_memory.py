"""The SQLite store keeps every promise of a store of memories, on disk and in memory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg.memory.base import MemoryStore
from thalweg.memory.opening import open_memory
from thalweg.memory.sqlite import SqliteMemory
from thalweg.testing.memory import MemoryStoreContract, Reopen


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
