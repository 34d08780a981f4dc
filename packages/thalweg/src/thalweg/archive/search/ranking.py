"""Rank the passages that answer a query.

A pure function over candidates. The score of a passage is a sum of named features
(`PassageFeatures`), most of them a share of the total weight of the query's words, so that every
choice can be explained.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul, or_
from typing import NamedTuple

from thalweg.archive.base import Span
from thalweg.archive.search.excerpts import CharRange, best_window, segments
from thalweg.archive.search.index import PASSAGE_BITS, Hits, PassageRow
from thalweg.archive.search.question import SearchQuery
from thalweg.engine.words import Weights, find_tokens, rarity, token_words

SHORTLIST = 240
"""Passages that are read."""
FINALISTS = 100
"""Passages whose lines are evaluated."""
MIN_FOLLOWERS = 3
"""Passages that are always read after one with the text about its message."""
MAX_FOLLOWERS = 30
"""Passages after it that are read if they contain a word of the query."""
REACH = 8
"""Passages before and after in which words count as around."""
FADING = 0.8
FOLLOWING = 0.5
"""What a word after a passage counts of one before it: an answer follows its question."""
NEIGHBOUR_SHARE = 0.25
"""Weight in the shortlist of a word in the passage before or after."""


class PassageFeatures(NamedTuple):
    """Why a passage was chosen; the defaults are the weights in the score."""

    window: float = 1.0
    """Share of the words that occur together in a few lines."""
    about: float = 1.0
    """Share that occurs only in the call which a tool result answers."""
    around: float = 0.7
    """Share that occurs only in the passages before and after, or before the answered call; each
    passage further away counts `FADING` as much."""
    exact: float = 0.5
    """Share of the query's longer words that it contains letter by letter."""
    together: float = 0.75
    """Share of the weight that pairs of words have which stand together in those lines."""
    depth: float = -0.4
    """Logarithm of the characters before its end in its message: long ones are files."""
    thread: float = 0.25
    """Share of the words that occur anywhere in its thread, each by its rarity among threads."""

    @property
    def score(self) -> float:
        """The weighted sum of the features."""
        return math.fsum(map(mul, self, WEIGHTS))


WEIGHTS = PassageFeatures()


@dataclass(frozen=True, slots=True)
class PassageCandidate:
    """A passage that may be shown, and its features."""

    row: PassageRow
    first: int
    """First segment of the lines with the words."""
    last: int
    features: PassageFeatures


class PassageWeights(Weights):
    """Weighs sets of words: rare words weigh more, words that only shape a question less."""

    def __init__(self, question: SearchQuery, hits: Hits) -> None:
        super().__init__(
            [
                rarity(count, hits.total) * question.importance(word)
                for word, count in zip(question.words, hits.counts, strict=True)
            ]
        )
        self._bits = {word: 1 << bit for bit, word in enumerate(question.words)}
        self._bits_by_start = {
            word.removesuffix("i") or word: bit for word, bit in self._bits.items()
        }
        self._words_by_token: dict[str, int] = {}
        self.all = self.all or 1.0
        self._threads = hits.threads

    def thread_weight(self, row: int) -> float:
        """Return the weight of the thread of a passage, in the score before division."""
        return WEIGHTS.thread * self.all * self._threads.get(row >> PASSAGE_BITS, 0.0)

    def words_in(self, text: str) -> int:
        """Return the words of the query in a text."""
        return reduce(or_, map(self._words_of, find_tokens(text)), 0)

    def weight_together(self, text: str) -> float:
        """Return the weight of the pairs of words that stand together, at most a word apart."""
        pairs: set[int] = set()
        earlier = previous = 0
        for words in map(self._words_of, find_tokens(text)):
            if words:
                near = words | previous | earlier
                pairs |= {
                    a | b for a in _single_words(words) for b in _single_words(near) if a != b
                }
            earlier, previous = previous, words
        return math.fsum(min(map(self, _single_words(pair))) for pair in pairs)

    def _words_of(self, token: str) -> int:
        if (words := self._words_by_token.get(token)) is None:
            words = reduce(or_, [self._bits.get(word, 0) for word in token_words(token)], 0)
            self._words_by_token[token] = words
        return words

    def words_in_lines(self, text: str, lines: Sequence[CharRange], words: int) -> list[int]:
        """Return the words of the query in each line of a text.

        Args:
            text: A passage.
            lines: The ranges of its lines.
            words: The words that the index has for it. Words without spaces between them begin
                anywhere: then each line is read word for word.
        """
        words_by_line = self._words_at_starts(text, lines, words)
        if not text.isascii() and words & ~reduce(or_, words_by_line, 0):
            words_by_line = [self.words_in(text[start:end]) for start, end in lines]
        return words_by_line

    def _words_at_starts(self, text: str, lines: Sequence[CharRange], words: int) -> list[int]:
        """Read the tokens that begin or have a part that begins like a word of the query."""
        starts, words_by_line = [start for start, _ in lines], [0] * len(lines)
        lower = text.lower().translate(_TOKEN_GAPS)
        if len(lower) != len(text):
            return words_by_line
        for beginning, bit in self._bits_by_start.items():
            index = lower.find(beginning) if words & bit else -1
            while index >= 0:
                line = bisect_right(starts, index) - 1
                first, end = lines[line]
                if not words_by_line[line] & bit:
                    first = max(first, lower.rfind(" ", first, index) + 1)
                    gap = lower.find(" ", index, end)
                    words_by_line[line] |= self.words_in(text[first : gap if gap >= 0 else end])
                index = lower.find(beginning, end if words_by_line[line] & bit else index + 1)
        return words_by_line


def _single_words(words: int) -> Iterator[int]:
    """Yield the words of a set, each as a set of its own."""
    while words:
        yield words & -words
        words &= words - 1


_TOKEN_GAPS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_.-'")}
"""Translates the characters that end a token into spaces."""


def shortlist(question: SearchQuery, hits: Hits) -> list[int]:
    """Return the passages worth reading, by the words in them and in their neighbours."""
    scale, rows = PassageWeights(question, hits), hits.rows

    def score(row: int) -> tuple[float, int]:
        own_words = rows[row]
        neighbour_words = (rows.get(row - 1, 0) | rows.get(row + 1, 0)) & ~own_words
        neighbour_score = NEIGHBOUR_SHARE * scale(neighbour_words)
        return scale(own_words) + neighbour_score + scale.thread_weight(row), row

    return sorted(rows, key=score, reverse=True)[:SHORTLIST]


def surroundings(rows: Iterable[PassageRow], hits: Hits) -> set[int]:
    """Return the passages to read with some: neighbours, calls answered, results of calls."""
    row_ids: set[int] = set()
    for row in rows:
        if row.start < 0:
            row_ids.update(range(row.id + 1, row.id + 1 + MIN_FOLLOWERS))
            row_ids.update(
                neighbour
                for neighbour in range(row.id + 1, row.id + 1 + MAX_FOLLOWERS)
                if neighbour in hits.rows
            )
        else:
            row_ids.update((row.id - 1, row.id + 1))
            if row.about:
                row_ids.add(row.about)
    return row_ids


def rank(
    question: SearchQuery,
    hits: Hits,
    rows: Mapping[int, PassageRow],
    within: Sequence[Span] | None = None,
) -> list[PassageCandidate]:
    """Rank the passages that contain words of the query, or whose answered calls do."""
    scale = PassageWeights(question, hits)

    def first_score(row: PassageRow) -> tuple[float, int]:
        """Score a passage without reading its lines."""
        words = hits.rows.get(row.id, 0)
        call_words = hits.rows.get(row.about, 0) & ~words
        near = hits.rows.get(row.id - 1, 0) | hits.rows.get(row.id + 1, 0)
        near |= hits.rows.get(row.about - 1, 0) if row.about else 0
        total = scale(words) + WEIGHTS.about * scale(call_words)
        total += NEIGHBOUR_SHARE * scale(near & ~words & ~call_words)
        return total + scale.thread_weight(row.id), row.id

    possible = [
        row
        for row in rows.values()
        if row.start >= 0
        and (hits.rows.get(row.id, 0) or hits.rows.get(row.about, 0))
        and (within is None or any(span.first <= row.position <= span.last for span in within))
    ]
    finalists = sorted(possible, key=first_score, reverse=True)[:FINALISTS]
    candidates = [_candidate(row, question, scale, hits) for row in finalists]
    return sorted(candidates, key=lambda one: (-one.features.score, -one.row.id))


def _candidate(
    row: PassageRow, question: SearchQuery, scale: PassageWeights, hits: Hits
) -> PassageCandidate:
    """Choose the lines of a passage to show, and compute its features."""
    lines, words = segments(row.text), hits.rows.get(row.id, 0)
    words_by_line = scale.words_in_lines(row.text, lines, words)
    first, last = best_window(lines, words_by_line, scale)
    window = reduce(or_, words_by_line[first : last + 1], 0)
    words |= reduce(or_, words_by_line, 0)
    call_words = hits.rows.get(row.about, 0) & ~words
    text = row.text.lower()
    shown_text = row.text[lines[first][0] : lines[last][1]] if lines else ""
    features = PassageFeatures(
        window=scale(window) / scale.all,
        about=scale(call_words) / scale.all,
        around=_faded_weight(hits, row, scale, words | call_words) / scale.all,
        exact=sum(token in text for token in question.tokens) / max(1, len(question.tokens)),
        together=scale.weight_together(shown_text) / scale.all,
        depth=math.log1p(max(0, row.start) + len(text)) / 10,
        thread=hits.threads.get(row.id >> PASSAGE_BITS, 0.0),
    )
    return PassageCandidate(row, first, last, features)


def _faded_weight(hits: Hits, row: PassageRow, scale: PassageWeights, known: int) -> float:
    """Return the weight of the words around a passage, by their distance."""
    before, total = hits.rows.get(row.about - 1, 0) if row.about else 0, 0.0
    for distance in range(1, REACH + 1):
        before |= hits.rows.get(row.id - distance, 0)
        for words, share in ((before, 1.0), (hits.rows.get(row.id + distance, 0), FOLLOWING)):
            new = words & ~known
            total += FADING**distance * share * scale(new)
            known |= new
    return total
