"""A memory with a document next to it keeps every promise of a store of memories."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_tests.contract.suites.memory import MemoryStoreContract, Reopen
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.handle import attach_document, open_memory
from thalweg_memory.store.tables import MemoryStore


def opened(folder: Path) -> MemoryStore:
    store = open_memory(folder / "thalweg.db")
    document = folder / "memory.json"
    attach_document(store, MemorySettings(storage="json", storage_path=str(document)))
    return store


class TestWithDocument(MemoryStoreContract):
    """In a folder, with a second store on both as another process has it."""

    @pytest.fixture
    def memory(self, tmp_path: Path) -> Iterator[MemoryStore]:
        """Return an empty store."""
        with opened(tmp_path) as memory:
            yield memory

    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Iterator[Reopen]:
        """Open the same folder again; every handle is closed at the end."""
        again: list[MemoryStore] = []

        def open_again() -> MemoryStore:
            again.append(opened(tmp_path))
            return again[-1]

        yield open_again
        for memory in again:
            memory.close()
