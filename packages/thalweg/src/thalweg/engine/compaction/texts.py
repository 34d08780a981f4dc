"""The texts that replace messages: most threads need none, so they are loaded at first use."""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg.engine.compaction.pins import excerpt
    from thalweg.engine.compaction.preview import preview
    from thalweg.engine.compaction.structured_summary import absorb, identifiers
    from thalweg.engine.compaction.summary_rendering import fenced, render

__all__ = ["absorb", "excerpt", "fenced", "identifiers", "preview", "render"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "absorb": "thalweg.engine.compaction.structured_summary",
        "excerpt": "thalweg.engine.compaction.pins",
        "fenced": "thalweg.engine.compaction.summary_rendering",
        "identifiers": "thalweg.engine.compaction.structured_summary",
        "preview": "thalweg.engine.compaction.preview",
        "render": "thalweg.engine.compaction.summary_rendering",
    },
)
