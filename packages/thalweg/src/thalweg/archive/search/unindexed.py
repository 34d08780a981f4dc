"""Search in messages that the index does not have yet, as those of an imported thread.

The newest are searched as they are stored, for the beginnings of the query's words; the best are
split into passages, which `ranking` orders with those of the index.
"""

import json
import math
from collections.abc import Iterator, Sequence
from heapq import nlargest
from itertools import chain
from unicodedata import normalize

from thalweg.archive.base import Span, intersect_spans
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
        unindexed: Its other messages.
        question: The query.
        within: Search only in these spans, in the newest `SCANNED_CHARS` of them; `None` means any.
    """
    beginnings = _beginnings(question)
    spans = [unindexed] if within is None else intersect_spans(within, unindexed)
    found = {
        position: (_words_in(text, beginnings), len(text))
        for position, text in _newest_texts(db, thread, spans)
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


def _newest_texts(db: ArchiveRows, thread: int, spans: Sequence[Span]) -> Iterator[tuple[int, str]]:
    """Yield messages as they are stored, the newest first, with their positions."""
    pages = (
        (max(span.first, end - _PAGE_MESSAGES + 1), end)
        for span in sorted(spans, key=lambda span: span.last, reverse=True)
        for end in range(span.last, span.first - 1, -_PAGE_MESSAGES)
    )
    statement = (
        "SELECT position, body, holes, about FROM archive_log"
        " WHERE thread = ? AND position BETWEEN ? AND ? ORDER BY position DESC"
    )
    chars_left = SCANNED_CHARS
    for row in chain.from_iterable(db.rows(statement, (thread, *page)) for page in pages):
        position, body, holes, about = row
        hashes = large_text_hashes(holes)
        texts = large_texts(db, set(hashes)) if hashes else {}
        text = "\n".join((body, decode(about), *map(texts.__getitem__, hashes)))
        yield position, text
        chars_left -= len(text)
        if chars_left <= 0:
            break


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
        for form in {letters, normalize("NFD", letters)} if letters and words else ():
            found += [(form, words), (json.dumps(form)[1:-1], words)]
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
