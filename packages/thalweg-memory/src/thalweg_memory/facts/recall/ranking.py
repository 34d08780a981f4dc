"""Which of a scope's turns and facts answer a question: a pure function over search results.

The score of an item is a sum of named features times a few factors (`RecallFeatures`), so that
every choice can be explained. In three steps, so that little is read: `shortlist` by words and
vectors alone, `worth_reading` with neighbouring turns, `rank` with the items themselves.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType

from thalweg.engine.words import Weights, rarity
from thalweg_memory.facts.recall.found import RecallItem, WordOccurrences
from thalweg_memory.facts.recall.question import RecallQuery, tells_time
from thalweg_memory.facts.values import Fact, Statement

SHORTLIST = 48
"""Items whose neighbours are looked for."""
READ = 100
"""Items that are read."""
REACH = 2
"""Turns before and after an item whose words count for it."""
_K1, _B = 1.2, 0.75
_BEFORE, _AFTER = (0.4, 0.2), (0.3, 0.2)
"""Weights of the words of the two turns before, and of the two turns after."""
SIMILARITY = 0.6
"""Weight of vector similarity, relative to that of words."""
_LEARNED = 0.3
"""Weight of the words of the turn that a fact was learned from."""
_NOTHING: Mapping[str, Sequence[str]] = MappingProxyType({})
_ALONE: Mapping[int, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RecallFeatures:
    """Why an item was recalled; the defaults are the weights in the score."""

    words: float = 1.0
    """BM25 of its words, as a share of the best; with vector similarity if there are vectors."""
    around: float = 1.0
    """The same of the turns just before and after it, or of the turns a fact was learned from."""
    together: float = 1.0
    """Share of the question's words in it or in neighbouring turns."""
    session: float = 0.5
    """The best score in the same thread on the same day."""
    author: float = 0.2
    """1 if the question names its author."""
    role: float = -0.3
    """1 if its author is the assistant, and the question does not name it."""
    asking: float = -0.5
    """Share of its sentences that are questions: a question seldom answers one."""
    time: float = 0.2
    """1 if it contains a time and the question asks when."""
    stale: float = -1.0
    """Share of it that is outdated, if the question does not ask for the past."""

    @classmethod
    def none(cls) -> "RecallFeatures":
        """Return the features of an item without any relevance."""
        return cls(*(0.0 for _ in fields(cls)))

    @property
    def relevance(self) -> float:
        """Return the relevance to the question: the features before the factors."""
        return (
            self.words * WEIGHTS.words
            + self.around * WEIGHTS.around
            + self.together * WEIGHTS.together
            + self.session * WEIGHTS.session
        )

    @property
    def score(self) -> float:
        """Return the relevance, times a factor for each other feature."""
        return (
            self.relevance
            * (1 + self.author * WEIGHTS.author)
            * (1 + self.role * WEIGHTS.role)
            * (1 + self.asking * WEIGHTS.asking)
            * (1 + self.time * WEIGHTS.time)
            * (1 + self.stale * WEIGHTS.stale)
        )


WEIGHTS = RecallFeatures()


@dataclass(frozen=True, slots=True)
class Ranked:
    """An item with the reasons for its recall."""

    item: RecallItem
    features: RecallFeatures

    @property
    def score(self) -> float:
        """See `RecallFeatures.score`."""
        return self.features.score


class ItemWeights:
    """The words of items by number, with the weights of those words.

    Built once per question and passed from step to step.

    Args:
        question: The question.
        found: The positions of its words.
        similarity: Weight of the likeness of vectors relative to the words.
    """

    def __init__(
        self, question: RecallQuery, found: WordOccurrences, *, similarity: float = SIMILARITY
    ) -> None:
        self.question = question
        self._places = [found.places.get(word, {}) for word in question.words]
        self._rarity = [
            weight * rarity(found.counts.get(word, 0), found.total)
            for word, weight in zip(question.words, question.weights, strict=True)
        ]
        self._weigh = Weights(
            [
                rare if places else 0.0
                for rare, places in zip(self._rarity, self._places, strict=True)
            ]
        )
        self._all = self._weigh.all or 1.0
        self._masks: dict[int, int] = {}
        self._authors: dict[str, float] = {}
        scores = self._bm25(found)
        best = max(scores.values(), default=0.0) or 1.0
        self.own = {number: score / best for number, score in scores.items()}
        """Scores of items without their neighbours, 0 to about 1."""
        for number, share in _stretched(found.near).items():
            self.own[number] = self.own.get(number, 0.0) + similarity * share

    def _bm25(self, found: WordOccurrences) -> dict[int, float]:
        mean = found.mean_words or 1.0
        norms = [_K1 * (1 - _B + _B * length / mean) for length in range(256)]
        lengths = found.lengths
        scores: dict[int, float] = {}
        for places, weight in zip(self._places, self._rarity, strict=True):
            full = weight * (_K1 + 1)
            for number, often in places.items():
                gain = full * often / (often + norms[lengths[number]])
                scores[number] = scores.get(number, 0.0) + gain
        return scores

    def around(self, near: Mapping[int, float]) -> float:
        """Return the score of an item's neighbours."""
        own = self.own
        # Exact, so that the order of what is near does not matter.
        return math.fsum([own[other] * near[other] for other in near if other in own])

    def together(self, number: int, near: Iterable[int]) -> float:
        """Return the share of the question's words in an item or near it, 0 to 1."""
        own, masks = self.own, self._masks
        words = masks[number] if number in masks else self._mask(number)
        for other in near:
            if other in own:
                words |= masks[other] if other in masks else self._mask(other)
        return self._weigh(words) / self._all

    def _mask(self, number: int) -> int:
        mask = sum([1 << bit for bit, places in enumerate(self._places) if number in places])
        self._masks[number] = mask
        return mask

    def names(self, author: str) -> float:
        """Return 1 if the question names an author, else 0."""
        if (known := self._authors.get(author)) is None:
            known = self._authors[author] = float(self.question.names(author))
        return known


def _stretched(near: Mapping[int, float]) -> dict[int, float]:
    """Scale similarities to 0 to 1: every vector is similar to some other."""
    low, high = min(near.values(), default=0.0), max(near.values(), default=0.0)
    span = (high - low) or 1.0
    return {number: (value - low) / span for number, value in near.items() if value > low}


def shortlist(scale: ItemWeights, limit: int = SHORTLIST) -> list[int]:
    """Return the items with the best scores without neighbours, best first, ties by the newest."""
    return _largest(scale.own, limit)


def _largest(scores: Mapping[int, float], limit: int) -> list[int]:
    # A few hundred are sorted faster than a heap of the best is kept.
    best = sorted(zip(scores.values(), scores, strict=True), reverse=True)[:limit]
    return [number for _, number in best]


Links = Mapping[int, Mapping[int, float]]
"""For each turn its neighbours, with the weight of their words."""


def links(neighbours: Mapping[int, Sequence[int]]) -> Links:
    """Return the weights of neighbouring turns for each other.

    Args:
        neighbours: For each turn the numbers of those within `REACH`, see `MemoryStore.neighbours`.

    Example:
        >>> links({7: [6, 8]})
        {7: {6: 0.4, 8: 0.3}, 6: {7: 0.3}, 8: {7: 0.4}}
    """
    found: dict[int, dict[int, float]] = {}
    for number, others in neighbours.items():
        before = sorted((other for other in others if other < number), reverse=True)
        after = sorted(other for other in others if other > number)
        for side, weights, backward in ((before, _BEFORE, _AFTER), (after, _AFTER, _BEFORE)):
            for distance, other in enumerate(side[:REACH]):
                found.setdefault(number, {})[other] = weights[distance]
                found.setdefault(other, {})[number] = backward[distance]
    return found


def worth_reading(
    scale: ItemWeights, short: Iterable[int], near: Links, limit: int = READ
) -> list[int]:
    """Return the items to read, best first: of the shortlist and their neighbours."""
    own = scale.own
    scores = {
        number: own.get(number, 0.0) + scale.around(near.get(number, _ALONE))
        for number in {*short, *near}
    }
    return _largest(scores, limit)


def rank(
    scale: ItemWeights,
    items: Iterable[RecallItem],
    near: Links,
    *,
    stale: Mapping[str, Sequence[str]] = _NOTHING,
) -> list[Ranked]:
    """Rank items, best first; the more confident of equals, then the newer.

    Irrelevant and outdated items are dropped.

    Args:
        scale: Their weights by their numbers.
        items: The items as read, in any order.
        near: Which were stated near each other.
        stale: Quotes from turns, by `Statement.uid`, that support facts no longer valid.
    """
    circle = _ReadItems(scale, {item.number: item for item in items}, near, stale)
    scored = []
    for item in circle.read.values():
        features = circle.features(item)
        if (score := features.score) > 0:
            confidence = item.fact.confidence if item.fact is not None else 0.0
            scored.append((score, confidence, item.number, features))
    scored.sort(key=lambda one: one[:3], reverse=True)
    return [Ranked(circle.read[number], features) for *_, number, features in scored]


class _ReadItems:
    """The items that were read, with their weights for each other."""

    def __init__(
        self,
        scale: ItemWeights,
        read: dict[int, RecallItem],
        near: Links,
        stale: Mapping[str, Sequence[str]],
    ) -> None:
        self.read = read
        self._scale = scale
        self._near = near
        self._stale = stale
        self._numbers: dict[str, int] = {}
        self._days: dict[int, tuple[str, str]] = {}
        self._best: dict[tuple[str, str], float] = {}
        for number, item in read.items():
            if item.turn is not None:
                day = self._days[number] = (item.turn.thread, item.turn.said_at[:10])
                self._best[day] = max(self._best.get(day, 0.0), scale.own.get(number, 0.0))
                self._numbers[item.turn.uid] = min(number, self._numbers.get(item.turn.uid, number))

    def features(self, item: RecallItem) -> RecallFeatures:
        """Return the features of an item."""
        if item.fact is not None:
            return self._of_fact(item.number, item.fact)
        return RecallFeatures.none() if item.turn is None else self._of_turn(item, item.turn)

    def _of_turn(self, item: RecallItem, turn: Statement) -> RecallFeatures:
        scale, question, number = self._scale, self._scale.question, item.number
        day, days = self._days[number], self._days
        near = self._near.get(number, _ALONE)
        # Of what was not read nobody knows the day.
        near = {other: near[other] for other in near if days.get(other, day) == day}
        text = item.text
        names = scale.names(turn.author)
        return RecallFeatures(
            words=scale.own.get(number, 0.0),
            around=scale.around(near),
            together=scale.together(number, near),
            session=self._best[day],
            author=names,
            role=float(turn.role == "assistant" and not names),
            asking=_asking(text),
            time=float(question.expects_time and tells_time(text)),
            stale=self._stale_share(text, turn.uid),
        )

    def _stale_share(self, text: str, uid: str) -> float:
        if self._scale.question.expects_past or uid not in self._stale or not text:
            return 0.0
        gone = {quote for quote in self._stale[uid] if quote and (quote in text or text in quote)}
        # Nobody can tell from the rest of a piece that a part of it holds no more.
        return 1.0 if gone else 0.0

    def _of_fact(self, number: int, fact: Fact) -> RecallFeatures:
        scale, question = self._scale, self._scale.question
        turns = [self._numbers[one.uid] for one in fact.evidence if one.uid in self._numbers]
        return RecallFeatures(
            words=scale.own.get(number, 0.0),
            around=max((_LEARNED * scale.own.get(turn, 0.0) for turn in turns), default=0.0),
            together=scale.together(number, turns),
            session=max((self._best[self._days[turn]] for turn in turns), default=0.0),
            author=0.0,
            role=0.0,
            asking=0.0,
            time=float(question.expects_time and tells_time(fact.content)),
            stale=float(fact.status == "superseded" and not question.expects_past),
        )


_SENTENCE_ENDS = re.compile(r"[.!?。！？…]+")


def _asking(text: str) -> float:
    """Return the share of the sentences of a text that are questions.

    Example:
        >>> _asking("Nice! Where was it?"), _asking("in Rome")
        (0.5, 0.0)
    """
    if "?" not in text and "？" not in text:
        return 0.0
    ends = _SENTENCE_ENDS.findall(text)
    return sum(["?" in end or "？" in end for end in ends]) / len(ends)
