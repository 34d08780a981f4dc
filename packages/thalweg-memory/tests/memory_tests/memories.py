"""Memories of tests whose helpers have no end at which to close them."""

from collections.abc import Iterator

import pytest

from thalweg_memory.store.sqlite import SqliteMemory

_OPEN: list[SqliteMemory] = []


def memory_in_memory() -> SqliteMemory:
    """Return an empty memory in memory, which is closed after the test."""
    store = SqliteMemory(":memory:")
    _OPEN.append(store)
    return store


@pytest.fixture(autouse=True)
def _memories_closed() -> Iterator[None]:
    """Close the memories that a test made.

    Else the thread that learns from one wakes 30 s later, and logs in another test.
    """
    yield
    while _OPEN:
        _OPEN.pop().close()
