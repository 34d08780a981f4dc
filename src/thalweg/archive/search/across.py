"""Search over many threads at once, with the index of each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nlargest

from thalweg.archive.base import ThreadPassage
from thalweg.archive.search.index import BITS, ArchiveRows, Hits, PassageRow, rows_of
from thalweg.archive.search.question import SearchQuery
from thalweg.archive.search.ranking import (
    SHORTLIST,
    PassageWeights,
    pack,
    rank,
    shortlist,
    surroundings,
)
from thalweg.archive.search.shapes import is_shape_word
from thalweg.engine.tokens import Counter

MAX_HITS = 3_000
"""Passages that are read for one word, newest first. Of the needles of 74 recorded sessions in one
archive, 0.70 are found with 800, as in one thread; 0.84 with 3,000; no more with 20,000."""
MAX_GROUPS = 6
"""Groups of very common words that are searched for together."""
HEAVIEST = 4 * SHORTLIST
"""Passages whose neighbours are read: those whose own words weigh most."""
UNBOUND = "0"
"""Value of `ArchiveRows.bound` if a statement may read all threads of an owner."""


def search(
    db: ArchiveRows,
    threads: Mapping[int, tuple[str, int]],
    question: SearchQuery,
    *,
    max_tokens: int,
    count: Counter,
) -> list[ThreadPassage]:
    """Return passages of several threads, best first.

    Args:
        db: In a transaction.
        threads: By number: the name and the number of indexed passages; the index is complete.
        question: The query.
        max_tokens: Bound on the excerpts.
        count: Counts them.
    """
    if not threads or not question.words:
        return []
    ends = {number: (number << BITS) + passages for number, (_, passages) in threads.items()}
    found = _find(db, ends, question.sought)
    hits = Hits(found.rows, found.counts, sum(passages for _, passages in threads.values()))
    rows = _rows(db, shortlist(question, _heaviest(question, hits)))
    rows |= _rows(db, surroundings(rows.values(), hits))
    chosen = pack(rank(question, hits, rows), rows, max_tokens, count)
    return [ThreadPassage(threads[row >> BITS][0], passage) for row, passage in chosen]


def _find(db: ArchiveRows, ends: Mapping[int, int], query: Sequence[str]) -> Hits:
    """Return the passages that contain words of a query, as `index.find` does.

    Args:
        db: In a transaction.
        ends: The end of the passages of each thread.
        query: The words.
    """
    rows: dict[int, int] = {}
    counts = [0.0] * len(query)
    for part in _parts(db, sorted(ends)):
        among = frozenset(part)
        first, end = part[0] << BITS, ends[part[-1]]

        def matches(bits: Sequence[int], first: int = first, end: int = end) -> list[int]:
            return db.listed_under([query[bit] for bit in bits], first, end, MAX_HITS)

        common: list[int] = []
        for bit, word in enumerate(query):
            ids = matches([bit])
            if len(ids) >= MAX_HITS and not is_shape_word(word):
                common.append(bit)
            _add(rows, [row for row in ids if row >> BITS in among], 1 << bit)
            counts[bit] += len(ids)
        pairs = [(a, b) for i, a in enumerate(common) for b in common[i + 1 :]]
        for group in (common, *pairs)[:MAX_GROUPS] if pairs else ():
            ids = [row for row in matches(group) if row >> BITS in among]
            _add(rows, ids, sum(1 << bit for bit in group))
    return Hits(rows, tuple(counts), 0)


def _parts(db: ArchiveRows, threads: Sequence[int]) -> Iterator[Sequence[int]]:
    """Split threads into groups that one statement may read, and enable the transaction to."""
    if db.bound == UNBOUND:
        yield threads
        return
    for thread in threads:
        db.row(f"SELECT {db.bound} FROM archive_thread WHERE id = ?", (thread,))  # noqa: S608 (ours)
        yield [thread]


def _add(rows: dict[int, int], ids: Iterable[int], words: int) -> None:
    for row in ids:
        rows[row] = rows.get(row, 0) | words


def _heaviest(question: SearchQuery, hits: Hits) -> Hits:
    """Drop passages whose own words weigh too little for the shortlist."""
    if len(hits.rows) <= HEAVIEST:
        return hits
    scale = PassageWeights(question, hits)
    weights = {words: scale(words & scale.words) for words in set(hits.rows.values())}
    kept = nlargest(HEAVIEST, hits.rows.items(), key=lambda pair: (weights[pair[1]], pair[0]))
    return Hits(dict(kept), hits.counts, hits.total)


def _rows(db: ArchiveRows, ids: Iterable[int]) -> dict[int, PassageRow]:
    """Return passages of any thread."""
    wanted = sorted(ids)
    threads = sorted({row >> BITS for row in wanted})
    if db.bound == UNBOUND:
        return rows_of(db, wanted)
    rows: dict[int, PassageRow] = {}
    for (thread,) in _parts(db, threads):
        rows |= rows_of(db, [row for row in wanted if row >> BITS == thread])
    return rows
