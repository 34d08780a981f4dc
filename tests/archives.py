"""Archives and memories of tests whose helpers have no end at which to close them."""

from thalweg.archive import SqliteArchive
from thalweg.memory.store.sqlite import SqliteMemory


def archive_in_memory(secret: bytes | None = None) -> SqliteArchive:
    """Return an empty archive in memory, which closes when nothing refers to it any more."""
    archive = SqliteArchive(":memory:", secret=secret)
    archive.close_when_collected()
    return archive


def memory_in_memory() -> SqliteMemory:
    """Return an empty memory in memory, which closes when nothing refers to it any more."""
    store = SqliteMemory(":memory:")
    store.close_when_collected()
    return store
