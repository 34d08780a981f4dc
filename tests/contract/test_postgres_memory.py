"""The PostgreSQL store keeps every promise of a store of memories, on a real server."""

from collections.abc import Iterator

import pytest

from tests.postgres import Served
from thalweg.memory.base import MemoryStore
from thalweg.memory.opening import open_memory
from thalweg.memory.postgres import PostgresMemory
from thalweg.testing.memory import MemoryStoreContract, Reopen


class TestOnAServer(MemoryStoreContract):
    """As a user without any rights but to use the database; another store is on it."""

    @pytest.fixture
    def memory(self, plain_postgres_url: str) -> Iterator[MemoryStore]:
        """Return an empty store."""
        with PostgresMemory(plain_postgres_url) as memory:
            yield memory

    @pytest.fixture
    def reopen(self, plain_postgres_url: str) -> Iterator[Reopen]:
        """Open the same database again; every handle is closed at the end."""
        opened: list[MemoryStore] = []

        def open_again() -> MemoryStore:
            opened.append(open_memory(plain_postgres_url))
            return opened[-1]

        yield open_again
        for memory in opened:
            memory.close()


class TestServed(MemoryStoreContract):
    """As a role that may read and write an owner's rows at a time, and make no tables."""

    @pytest.fixture
    def memory(self, served: Served) -> Iterator[MemoryStore]:
        """Return an empty store."""
        with PostgresMemory(served.url) as memory:
            yield memory

    @pytest.fixture
    def reopen(self, served: Served) -> Iterator[Reopen]:
        """Open the same database again; every handle is closed at the end."""
        opened: list[MemoryStore] = []

        def open_again() -> MemoryStore:
            opened.append(open_memory(served.url))
            return opened[-1]

        yield open_again
        for memory in opened:
            memory.close()
