"""Memories of tests whose helpers have no end at which to close them."""

from thalweg_memory.store.sqlite import SqliteMemory


def memory_in_memory() -> SqliteMemory:
    """Return an empty memory in memory, which closes when nothing refers to it any more."""
    store = SqliteMemory(":memory:")
    store.close_when_collected()
    return store
