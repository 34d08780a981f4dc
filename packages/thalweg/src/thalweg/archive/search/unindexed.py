"""Search in messages that the index does not have yet, as those of an imported thread.

The newest are searched as they are stored, for the beginnings of the query's words; the best are
split into passages, which `ranking` orders with those of the index.
"""

import json
import math
from collections.abc import Iterator, Sequence
from heapq import nlargest

from thalweg.archive.base import Span
from thalweg.archive.search.index import PASSAGE_BITS, Hits, PassageRow, passages_of
from thalweg.archive.search.question import SearchQuery
from thalweg.archive.search.ranking import MAX_FOLLOWERS, WEIGHTS, PassageWeights
from thalweg.archive.table_rows import (
    ArchiveRows,
    large_text_hashes,
    large_texts,
    logged_messages,
)
from thalweg.database.base import decode
from thalweg.engine.words import stem, token_words

SCANNED_CHARS = 6_000_000
"""Stored characters that one search reads."""
SPLIT_CHARS = 150_000
"""Characters of the messages that are split into passages; the last may exceed it."""
SPLIT_MESSAGES = 100
_PAGE_MESSAGES = 256


def scan(
    db: ArchiveRows,
    thread: int,
    first_passage: int,
    unindexed: Span,
    question: SearchQuery,
    within: Sequence[Span] | None,
) -> tuple[Hits, dict[int, PassageRow]]:
    """Return passages with words of a query, under ids that follow those of the index.

    Args:
        db: In a transaction.
        thread: The thread's number.
        first_passage: Number of its indexed passages.
        unindexed: Its other messages, of which the newest `SCANNED_CHARS` are searched.
        question: The query.
        within: Return passages of these spans only; `None` means any.
    """
    beginnings = _beginnings(question)
    found = {
        position: (_words_in(text, beginnings), len(text))
        for position, text in _newest_texts(db, thread, unindexed)
        if within is None or any(span.first <= position <= span.last for span in within)
    }
    counts = [
        sum(words >> bit & 1 for words, _ in found.values()) for bit in range(len(question.words))
    ]
    total = unindexed.last - unindexed.first + 1
    weigh = PassageWeights(question, Hits({}, tuple(counts), total))

    def score(position: int) -> float:
        words, chars = found[position]
        return weigh(words) / weigh.all + WEIGHTS.depth * math.log1p(chars) / 10

    chosen: list[int] = []
    chars_left = SPLIT_CHARS
    for position in nlargest(
        SPLIT_MESSAGES, (p for p, (words, _) in found.items() if words), score
    ):
        if chars_left > 0:
            chosen.append(position)
        chars_left -= found[position][1]
    rows: dict[int, PassageRow] = {}
    next_id = (thread << PASSAGE_BITS) + first_passage
    for position in sorted(chosen):
        next_id += MAX_FOLLOWERS + 1  # passages of different messages are not adjacent
        (logged,) = logged_messages(db, thread, Span(position, position))
        rows |= {row.id: row for row in passages_of(logged, position, next_id)}
        next_id = max(rows, default=next_id)
    words_by_row = {
        row.id: _words_in(f"{row.speaker}\n{row.text}", beginnings) for row in rows.values()
    }
    hits = {row: words for row, words in words_by_row.items() if words}
    return Hits(hits, tuple(counts), total), rows


def _newest_texts(db: ArchiveRows, thread: int, span: Span) -> Iterator[tuple[int, str]]:
    """Yield messages as they are stored, the newest first, with their positions."""
    end, chars_left = span.last, SCANNED_CHARS
    while end >= span.first and chars_left > 0:
        start = max(span.first, end - _PAGE_MESSAGES + 1)
        page = list(
            db.rows(
                "SELECT position, body, holes, about FROM archive_log"
                " WHERE thread = ? AND position BETWEEN ? AND ? ORDER BY position DESC",
                (thread, start, end),
            )
        )
        hashes = {position: large_text_hashes(holes) for position, _, holes, _ in page}
        texts = large_texts(db, {digest for digests in hashes.values() for digest in digests})
        for position, body, _, about in page:
            text = "\n".join((body, decode(about), *map(texts.__getitem__, hashes[position])))
            yield position, text
            chars_left -= len(text)
        end = start - 1


def _words_in(text: str, beginnings: Sequence[tuple[str, int]]) -> int:
    """Return the words of a query that may be in a text, as bits."""
    lower, words = text.lower(), 0
    for beginning, bits in beginnings:
        if beginning in lower:
            words |= bits
    return words


def _beginnings(question: SearchQuery) -> list[tuple[str, int]]:
    """Return how the words of a query begin in stored messages, in small letters, with their bits.

    JSON has escapes for letters outside of ASCII, large texts and the texts about messages do not.
    """
    bits = {word: 1 << bit for bit, word in enumerate(question.words)}
    found = [(stem(word).rstrip("ei") or word, bit) for word, bit in bits.items()]
    foreign = [(letters_of(word), bit) for word, bit in bits.items()]
    foreign += [
        (token, sum(bits.get(word, 0) for word in set(token_words(token))))
        for token in question.tokens
        if not token.isascii()
    ]
    for letters, words in foreign:
        if letters and words:
            found += [(letters, words), (json.dumps(letters)[1:-1], words)]
    return found


def letters_of(word: str) -> str:
    """Return the letters of a word outside of ASCII, as the index has it; empty of any other.

    Example:
        >>> from thalweg.engine.words import words
        >>> [letters_of(word) for word in words("书 book")]
        ['书', '']
    """
    try:
        return bytes.fromhex(word[1:-1]).decode() if word[0] + word[-1] == "u0" else ""
    except ValueError:
        return ""
