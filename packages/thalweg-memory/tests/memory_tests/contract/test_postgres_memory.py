"""The PostgreSQL store keeps every promise of a store of memories, on a real server."""

from collections.abc import Iterator

import pytest

from core_tests.postgres import Served
from memory_tests.contract.suites.memory import MemoryStoreContract, Reopen
from thalweg_memory.handle import open_memory
from thalweg_memory.store.postgres import PostgresMemory
from thalweg_memory.store.tables import MemoryStore


class TestServed(MemoryStoreContract):
    """As a role that may read and write an owner's rows at a time, and make no tables."""

    @pytest.fixture
    def memory(self, emptied: Served) -> Iterator[MemoryStore]:
        """Return an empty store."""
        with PostgresMemory(emptied.url) as memory:
            yield memory

    @pytest.fixture
    def reopen(self, emptied: Served) -> Iterator[Reopen]:
        """Open the same database again; every handle is closed at the end."""
        opened: list[MemoryStore] = []

        def open_again() -> MemoryStore:
            opened.append(open_memory(emptied.url))
            return opened[-1]

        yield open_again
        for memory in opened:
            memory.close()
