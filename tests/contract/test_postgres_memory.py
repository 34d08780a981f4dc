"""The PostgreSQL store keeps every promise of a store of memories, on a real server."""

from collections.abc import Iterator

import pytest

from thalweg.memory.base import MemoryStore
from thalweg.memory.opening import open_memory
from thalweg.memory.postgres import PostgresMemory
from thalweg.testing.memory import MemoryStoreContract, Reopen


class TestOnAServer(MemoryStoreContract):
    """In a database, with another store on it as another process has it."""

    @pytest.fixture
    def memory(self, postgres_url: str) -> Iterator[MemoryStore]:
        """Return an empty store."""
        with PostgresMemory(postgres_url) as memory:
            yield memory

    @pytest.fixture
    def reopen(self, postgres_url: str) -> Iterator[Reopen]:
        """Open the same database again; every handle is closed at the end."""
        opened: list[MemoryStore] = []

        def open_again() -> MemoryStore:
            opened.append(open_memory(postgres_url))
            return opened[-1]

        yield open_again
        for memory in opened:
            memory.close()
