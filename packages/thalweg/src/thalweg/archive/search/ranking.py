"""Rank the passages that answer a query.

A pure function over candidates. The score of a passage is a sum of named features
(`PassageFeatures`), most of them a share of the total weight of the query's words, so that every
choice can be explained.
"""

import math
from bisect import bisect_right
from collections import Counter as Counted
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import mul, or_
from typing import NamedTuple

from thalweg.archive.base import Span
from thalweg.archive.search.excerpts import NARROWEST, Stretch, best_window, segments, widen
from thalweg.archive.search.index import BITS, Hits, PassageRow
from thalweg.archive.search.question import SearchQuery
from thalweg.archive.search.shapes import SHAPE_WORDS, has_shape
from thalweg.engine.words import Weights, find_tokens, rarity, token_words

SHORTLIST = 240
"""Passages that are read."""
FINALISTS = 100
"""Passages whose lines are evaluated."""
FOLLOWERS = 3
"""Passages that are always read after one with the text about its message."""
FOLLOWED = 30
"""Passages after it that are read if they contain a word of the query."""
NEIGHBOUR_SHARE = 0.25
"""Weight in the shortlist of a word in the passage before or after."""


class PassageFeatures(NamedTuple):
    """Why a passage was chosen; the defaults are the weights in the score."""

    window: float = 1.0
    """Share of the words that occur together in a few lines."""
    passage: float = 0.5
    """Share that occurs elsewhere in the passage, or in its speaker's name."""
    about: float = 0.5
    """Share that occurs only in the call which a tool result answers."""
    around: float = 0.25
    """Share that occurs only in the passage before or after, or before the answered call."""
    phrase: float = 0.4
    """Share of the query's quotations that it contains verbatim."""
    shape: float = 1.0
    """Weight of the specific shapes of an answer in those lines."""
    common_shape: float = 0.25
    """Weight of its other shapes: each like a word, by its rarity."""
    speaker: float = 1.0
    """Weight of the speaker, if the query names one: like a word, by rarity."""
    end: float = 0.1
    """Proximity to the end of the thread that the query asks about, 0 to 1."""
    thread: float = 0.5
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
    """Weighs sets of words: rare words weigh more, words that only shape a question less.

    Specific shapes of an answer count as words here, after those of the query.
    """

    def __init__(self, question: SearchQuery, hits: Hits) -> None:
        super().__init__(
            [
                rarity(count, hits.total) * question.importance(word)
                for word, count in zip(question.sought, hits.counts, strict=True)
            ]
        )
        self._bits = {word: 1 << bit for bit, word in enumerate(question.words)}
        self._starts = {word.removesuffix("i"): bit for word, bit in self._bits.items()}
        self._masks: dict[str, int] = {}
        indexed = [shape for shape in question.shapes if shape in SHAPE_WORDS]
        self._shapes = {shape: 1 << bit for bit, shape in enumerate(indexed, len(question.words))}
        self.words = (1 << len(question.words)) - 1
        """All words except the shapes."""
        self.all = self(self.words) or 1.0
        self._threads = hits.threads

    def of_thread(self, row: int) -> float:
        """Return the weight of the thread of a passage, in the score before division."""
        return WEIGHTS.thread * self.all * self._threads.get(row >> BITS, 0.0)

    def words_in(self, text: str) -> int:
        """Return the words of the query in a text."""
        found = 0
        for token in find_tokens(text):
            if (mask := self._masks.get(token)) is None:
                mask = self._masks[token] = self._mask(token)
            found |= mask
        return found

    def _mask(self, token: str) -> int:
        return reduce(or_, [self._bits.get(word, 0) for word in token_words(token)], 0)

    def words_in_lines(self, text: str, lines: Sequence[Stretch], words: int) -> list[int]:
        """Return the words of the query, and the shapes of an answer, in each line of a text.

        Args:
            text: A passage.
            lines: The ranges of its lines.
            words: The words that the index has for it. Words without spaces between them begin
                anywhere: then each line is read word for word.
        """
        found = self._words_at_starts(text, lines, words)
        if not text.isascii() and words & self.words & ~reduce(or_, found, 0):
            found = [self.words_in(text[start:end]) for start, end in lines]
        for shape, bit in self._shapes.items():
            if has_shape(text, shape):
                for index, (start, end) in enumerate(lines):
                    found[index] |= bit if has_shape(text[start:end], shape) else 0
        return found

    def _words_at_starts(self, text: str, lines: Sequence[Stretch], words: int) -> list[int]:
        """Read the tokens that begin or have a part that begins like a word of the query."""
        starts, found = [start for start, _ in lines], [0] * len(lines)
        lower = text.lower().translate(_GAPS)
        if len(lower) != len(text):
            return found
        for beginning, bit in self._starts.items():
            at = lower.find(beginning) if words & bit else -1
            while at >= 0:
                line = bisect_right(starts, at) - 1
                first, end = lines[line]
                if not found[line] & bit:
                    first = max(first, lower.rfind(" ", first, at) + 1)
                    gap = lower.find(" ", at, end)
                    found[line] |= self.words_in(text[first : gap if gap >= 0 else end])
                at = lower.find(beginning, end if found[line] & bit else at + 1)
        return found


_GAPS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in "_.-'")}
"""What ends a token, as a space."""


def shortlist(question: SearchQuery, hits: Hits) -> list[int]:
    """Return the passages worth reading, by the words in them and in their neighbours."""
    scale, rows = PassageWeights(question, hits), hits.rows

    def score(row: int) -> tuple[float, int]:
        own = rows[row]
        near = (rows.get(row - 1, 0) | rows.get(row + 1, 0)) & ~own & scale.words
        # A shape alone is no evidence: the passage needs another match.
        own = own if (own | near) & scale.words else 0
        around = NEIGHBOUR_SHARE * scale(near)
        return scale(own) + around + scale.of_thread(row), row

    return sorted(rows, key=score, reverse=True)[:SHORTLIST]


def surroundings(rows: Iterable[PassageRow], hits: Hits) -> set[int]:
    """Return the passages to read with some: neighbours, calls answered, results of calls."""
    found: set[int] = set()
    for row in rows:
        if row.start < 0:
            found.update(range(row.id + 1, row.id + 1 + FOLLOWERS))
            found.update(
                near for near in range(row.id + 1, row.id + 1 + FOLLOWED) if near in hits.rows
            )
        else:
            found.update((row.id - 1, row.id + 1))
            if row.about:
                found.add(row.about)
    return found


def rank(
    question: SearchQuery,
    hits: Hits,
    rows: Mapping[int, PassageRow],
    within: Sequence[Span] | None = None,
) -> list[PassageCandidate]:
    """Rank the passages that contain words of the query, or whose answered calls do.

    Words next to a passage that has the shape of an answer count as well.
    """
    scale = PassageWeights(question, hits)
    possible = [
        row
        for row in rows.values()
        if row.start >= 0 and _is_spoken_for(row, scale, hits) and _is_within(row.position, within)
    ]
    shown = [
        _ShownPassage.of(row, scale, question, hits)
        for row in _promising(question, scale, hits, possible)
    ]
    traits = Counted(trait for one in shown for trait in one.traits)
    rare = {trait: rarity(count, len(shown)) for trait, count in traits.items()}
    last = max((one.row.position for one in shown), default=0) or 1
    found = [
        PassageCandidate(
            one.row,
            one.first,
            one.last,
            _features(question, scale, hits, one, rare=rare, last_position=last),
        )
        for one in shown
    ]
    return sorted(found, key=lambda one: (-one.features.score, -one.row.id))


def _is_spoken_for(row: PassageRow, scale: "PassageWeights", hits: Hits) -> bool:
    own, about, near = _words(hits, row)
    return bool((own | about | (near if own else 0)) & scale.words)


def _promising(
    question: SearchQuery, scale: "PassageWeights", hits: Hits, rows: Sequence[PassageRow]
) -> list[PassageRow]:
    """Return the passages to evaluate, chosen without reading their lines."""
    speakers = Counted(_role(row) for row in rows)

    def score(row: PassageRow) -> tuple[float, int]:
        own, about, near = _words(hits, row)
        total = scale(own) + WEIGHTS.about * scale(about & scale.words)
        total += WEIGHTS.around * scale(near & scale.words)
        if _role(row) in question.speakers:
            total += WEIGHTS.speaker * rarity(speakers[_role(row)], len(rows))
        return total + scale.of_thread(row.id), row.id

    return sorted(rows, key=score, reverse=True)[:FINALISTS]


def _role(row: PassageRow) -> str:
    return row.speaker.partition(" ")[0]


def _words(hits: Hits, row: PassageRow) -> tuple[int, int, int]:
    """Return the words in a passage, those only in its call, those only in its neighbours."""
    own = hits.rows.get(row.id, 0)
    about = hits.rows.get(row.about, 0) & ~own
    return own, about, _near(hits, row) & ~own & ~about


def _near(hits: Hits, row: PassageRow) -> int:
    """Return the words next to a passage; for a result also those before its call."""
    near = hits.rows.get(row.id - 1, 0) | hits.rows.get(row.id + 1, 0)
    return near | hits.rows.get(row.about - 1, 0) if row.about else near


def _is_within(position: int, within: Sequence[Span] | None) -> bool:
    return within is None or any(span.first <= position <= span.last for span in within)


@dataclass(frozen=True, slots=True)
class _ShownPassage:
    """A passage with its lines to show."""

    row: PassageRow
    first: int
    last: int
    window: int
    """Words in those lines, and specific shapes."""
    whole: int
    """Words in the passage and its speaker's name."""
    traits: frozenset[str]
    """Common shapes of an answer in it, and its speaker if the query names that one."""

    @classmethod
    def of(
        cls, row: PassageRow, scale: "PassageWeights", question: SearchQuery, hits: Hits
    ) -> "_ShownPassage":
        """Choose the lines of a passage to show."""
        lines = segments(row.text)
        found = scale.words_in_lines(row.text, lines, hits.rows.get(row.id, 0))
        first, last = best_window(lines, found, scale)
        window = whole = 0
        for index, words in enumerate(found):
            whole |= words
            window |= words if first <= index <= last else 0
        stretch = row.text[slice(*widen(lines, first, last, NARROWEST))]
        whole |= hits.rows.get(row.id, 0)
        common = [shape for shape in question.shapes if shape not in SHAPE_WORDS]
        traits = {shape for shape in common if has_shape(stretch, shape)}
        traits |= {_role(row)} & set(question.speakers)
        return cls(row, first, last, window, whole, frozenset(traits))


def _features(
    question: SearchQuery,
    scale: PassageWeights,
    hits: Hits,
    one: _ShownPassage,
    *,
    rare: Mapping[str, float],
    last_position: int,
) -> PassageFeatures:
    row, whole, window = one.row, one.whole & scale.words, one.window & scale.words
    about = hits.rows.get(row.about, 0) & ~whole & scale.words
    near = _near(hits, row) & ~whole & ~about & scale.words
    text = row.text.lower() if question.phrases else ""
    matches = [phrase in text for phrase in question.phrases]
    passages = hits.sizes.get(row.id >> BITS)
    offset = row.id - (row.id >> BITS << BITS)
    place = offset / passages if passages else row.position / last_position
    return PassageFeatures(
        window=scale(window) / scale.all,
        passage=scale(whole & ~window) / scale.all,
        about=scale(about) / scale.all,
        around=scale(near) / scale.all,
        phrase=sum(matches) / len(matches) if matches else 0.0,
        shape=scale(one.window & ~scale.words) / scale.all,
        common_shape=_weight(one.traits.intersection(question.shapes), rare) / scale.all,
        speaker=_weight(one.traits.intersection(question.speakers), rare) / scale.all,
        end=(0.0, place, 1 - place)[question.end],
        thread=hits.threads.get(row.id >> BITS, 0.0),
    )


def _weight(traits: Iterable[str], rare: Mapping[str, float]) -> float:
    # The order of a set differs between processes; `fsum` returns the same sum in any order.
    return math.fsum(rare[trait] for trait in traits)
