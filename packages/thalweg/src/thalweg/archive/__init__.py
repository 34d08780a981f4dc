"""The archive: every message of every thread, durable, searchable, readable by reference.

Two rules: a compaction never deletes or rewrites a message; a reference is returned only after its
messages are durable.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg.archive.base import (
        Handle,
        Logged,
        Passage,
        Reading,
        Span,
        ThreadId,
        ThreadKey,
        ThreadPassage,
        TurnRow,
        is_thread_id,
        parse_thread_id,
        render_passages,
    )
    from thalweg.archive.paths import default_place, home, open_archive, open_existing
    from thalweg.archive.recall_tool import RECALL_TOOL, recall
    from thalweg.archive.sqlite import SqliteArchive
    from thalweg.archive.tables import Archive

__all__ = [
    "RECALL_TOOL",
    "Archive",
    "Handle",
    "Logged",
    "Passage",
    "Reading",
    "Span",
    "SqliteArchive",
    "ThreadId",
    "ThreadKey",
    "ThreadPassage",
    "TurnRow",
    "default_place",
    "home",
    "is_thread_id",
    "open_archive",
    "open_existing",
    "parse_thread_id",
    "recall",
    "render_passages",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    dict.fromkeys(__all__, "thalweg.archive.base")
    | {
        "Archive": "thalweg.archive.tables",
        "RECALL_TOOL": "thalweg.archive.recall_tool",
        "SqliteArchive": "thalweg.archive.sqlite",
        "default_place": "thalweg.archive.paths",
        "home": "thalweg.archive.paths",
        "open_archive": "thalweg.archive.paths",
        "open_existing": "thalweg.archive.paths",
        "recall": "thalweg.archive.recall_tool",
    },
)
