"""The archive: every message of every thread, durable, searchable, readable by reference.

Two rules: a compaction never deletes or rewrites a message; a reference is returned only after its
messages are durable.
"""

from thalweg.archive.base import (
    Archive,
    Handle,
    Logged,
    Passage,
    Reading,
    Span,
    ThreadKey,
    ThreadPassage,
    Turn,
    render_passages,
)
from thalweg.archive.home import default_place, home, open_existing
from thalweg.archive.opening import open_archive
from thalweg.archive.recall import RECALL_TOOL, recall
from thalweg.archive.sqlite import SqliteArchive

__all__ = [
    "RECALL_TOOL",
    "Archive",
    "Handle",
    "Logged",
    "Passage",
    "Reading",
    "Span",
    "SqliteArchive",
    "ThreadKey",
    "ThreadPassage",
    "Turn",
    "default_place",
    "home",
    "open_archive",
    "open_existing",
    "recall",
    "render_passages",
]
