"""Search in an archive: its index, the query, the ranking and the excerpts.

Loaded by the first search. May import `engine.words` and the rows of the archive. Begin with
`question.py` (the query), then `index.py` (candidates) and `ranking.py` (their order).
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg.archive.search.across import (
        find_threads,
        readable_groups,
        search_thread,
        search_threads,
    )
    from thalweg.archive.search.index import (
        BATCH_CHARS,
        add,
        last_batch,
        remove,
        rows_between,
        words_of,
    )
    from thalweg.archive.search.question import ask

__all__ = [
    "BATCH_CHARS",
    "add",
    "ask",
    "find_threads",
    "last_batch",
    "readable_groups",
    "remove",
    "rows_between",
    "search_thread",
    "search_threads",
    "words_of",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    dict.fromkeys(__all__, "thalweg.archive.search.index")
    | {
        "ask": "thalweg.archive.search.question",
        "find_threads": "thalweg.archive.search.across",
        "readable_groups": "thalweg.archive.search.across",
        "search_thread": "thalweg.archive.search.across",
        "search_threads": "thalweg.archive.search.across",
    },
)
