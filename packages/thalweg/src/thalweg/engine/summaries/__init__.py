"""Summaries by a model: request, parse, check against the originals, join, render.

Two rules: pure; a model's text is data, and a claim that the originals do not support is
dropped. Loaded with the first summary.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg.engine.summaries.ask import WORDS, ask_for, ask_in_place
    from thalweg.engine.summaries.check import SummarySource
    from thalweg.engine.summaries.merging import merged
    from thalweg.engine.summaries.reading import read_summary
    from thalweg.engine.summaries.transcripts import LEAST_BUDGET, chunks

__all__ = [
    "LEAST_BUDGET",
    "WORDS",
    "SummarySource",
    "ask_for",
    "ask_in_place",
    "chunks",
    "merged",
    "read_summary",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    dict.fromkeys(__all__, "thalweg.engine.summaries.ask")
    | {
        "LEAST_BUDGET": "thalweg.engine.summaries.transcripts",
        "SummarySource": "thalweg.engine.summaries.check",
        "chunks": "thalweg.engine.summaries.transcripts",
        "merged": "thalweg.engine.summaries.merging",
        "read_summary": "thalweg.engine.summaries.reading",
    },
)
