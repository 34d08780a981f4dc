"""The archive: every message of every thread, durable, searchable, by handle.

Two rules: nothing a compaction does deletes or rewrites a message; a handle is given out
only after what it names is durable.
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
