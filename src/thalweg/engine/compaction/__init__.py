"""When a thread is compacted, and which edits do it.

Pure. Begin with `policy.py` (when), then `plan.py` (which edits) and `structured_summary.py` (what
replaces the messages). What few threads need is imported from here, and loaded at first use.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazily

if TYPE_CHECKING:
    from thalweg.engine.compaction.policy import RentOrBuy, Thresholds
    from thalweg.engine.compaction.rewrites import elide, evict, showing, supersede, unthink
    from thalweg.engine.compaction.structured_summary import absorb
    from thalweg.engine.compaction.summary_rendering import fenced, render

__all__ = [
    "RentOrBuy",
    "Thresholds",
    "absorb",
    "elide",
    "evict",
    "fenced",
    "render",
    "showing",
    "supersede",
    "unthink",
]

__getattr__, __dir__ = lazily(
    __name__,
    dict.fromkeys(__all__, "thalweg.engine.compaction.rewrites")
    | {
        "RentOrBuy": "thalweg.engine.compaction.policy",
        "Thresholds": "thalweg.engine.compaction.policy",
        "absorb": "thalweg.engine.compaction.structured_summary",
        "fenced": "thalweg.engine.compaction.summary_rendering",
        "render": "thalweg.engine.compaction.summary_rendering",
    },
)
