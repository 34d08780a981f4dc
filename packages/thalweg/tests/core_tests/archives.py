"""Archives of tests whose helpers have no end at which to close them."""

from thalweg.archive import SqliteArchive


def archive_in_memory(secret: bytes | None = None) -> SqliteArchive:
    """Return an empty archive in memory, which closes when nothing refers to it any more."""
    archive = SqliteArchive(":memory:", secret=secret)
    archive.close_when_collected()
    return archive
