"""Which of a scope's turns and facts answer a question: a pure function over what was found.

The score of an item is a sum of named features times a few factors (`Features`), so that every
choice can be explained. In three steps, so that little is read: `shortlist` by words and vectors
alone, `worth_reading` with what was said beside, `rank` with the items themselves.
"""

import heapq
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from thalweg.facts.found import Found, Item
from thalweg.facts.question import Question
from thalweg.facts.values import Fact, Turn
from thalweg.words.shapes import looks_like

SHORTLIST = 100
"""Items whose neighbours are looked for."""
READ = 120
"""Items that are read."""
REACH = 2
"""Turns before and after one that speak for it."""
_K1, _B = 1.2, 0.75
_BEFORE, _AFTER, _FAR = 0.4, 0.3, 0.2
"""What the words of the turn before say, of the turn after, and of those next to them."""
_BESIDE = {-2: _FAR, -1: _BEFORE, 1: _AFTER, 2: _FAR}
_LEARNED = 0.3
"""What the words of a turn say that a fact was learned from."""
_FLOOR = 0.5
"""Share of the similarities found that says nothing: a vector is near to something always."""


@dataclass(frozen=True, slots=True)
class Features:
    """Why an item was recalled; the defaults are the weights in the score."""

    words: float = 1.0
    """BM25 of its words, as a share of the best; with the likeness of vectors where there are."""
    around: float = 1.0
    """The same of the turns just before and after it, or of the turns a fact was learned from."""
    together: float = 0.6
    """Share of the question's words that stand in it or beside it."""
    session: float = 0.3
    """The best that was said in the same thread on the same day."""
    author: float = 0.2
    """1 where it was said by somebody whom the question names."""
    role: float = -0.2
    """1 where the assistant said it, and the question does not ask for that."""
    asking: float = -0.3
    """Share of its sentences that ask: a question seldom answers one."""
    shape: float = 0.2
    """1 where it has the shape of an answer: a time, for a question that asks when."""
    period: float = 0.3
    """1 where it was said, or held, in the time that is asked about."""
    stale: float = -0.5
    """1 where it tells what was true once, and the question does not ask for that."""

    @property
    def relevance(self) -> float:
        """What it says to the question: the features before the factors."""
        return (
            self.words * WEIGHTS.words
            + self.around * WEIGHTS.around
            + self.together * WEIGHTS.together
            + self.session * WEIGHTS.session
        )

    @property
    def score(self) -> float:
        """Relevance, times a factor for each of the rest."""
        return (
            self.relevance
            * (1 + self.author * WEIGHTS.author)
            * (1 + self.role * WEIGHTS.role)
            * (1 + self.asking * WEIGHTS.asking)
            * (1 + self.shape * WEIGHTS.shape)
            * (1 + self.period * WEIGHTS.period)
            * (1 + self.stale * WEIGHTS.stale)
        )


WEIGHTS = Features()


@dataclass(frozen=True, slots=True)
class Ranked:
    """An item with why it was recalled."""

    item: Item
    features: Features

    @property
    def score(self) -> float:
        """See `Features.score`."""
        return self.features.score


class Scale:
    """What is known of items by number: their words, and how telling those are.

    Built once for a question, and handed from step to step.
    """

    def __init__(self, question: Question, found: Found, *, similarity: float = 0.6) -> None:
        self.question = question
        self._places = [found.places.get(word, {}) for word in question.words]
        self._rarity = [
            weight * rarity(found.counts.get(word, 0), found.total)
            for word, weight in zip(question.words, question.weights, strict=True)
        ]
        self._all = math.fsum(
            one for one, places in zip(self._rarity, self._places, strict=True) if places
        )
        self._masks: dict[int, float] = {}
        scores = self._bm25(found)
        best = max(scores.values(), default=0.0) or 1.0
        self.own = {number: score / best for number, score in scores.items()}
        """What an item says by itself, 0 to about 1."""
        for number, share in _stretched(found.near).items():
            self.own[number] = self.own.get(number, 0.0) + similarity * share

    def _bm25(self, found: Found) -> dict[int, float]:
        mean = found.mean_words or 1.0
        norms = [_K1 * (1 - _B + _B * length / mean) for length in range(256)]
        lengths = found.lengths
        scores: dict[int, float] = {}
        for places, weight in zip(self._places, self._rarity, strict=True):
            full = weight * (_K1 + 1)
            for number, often in places.items():
                scores[number] = scores.get(number, 0.0) + full * often / (
                    often + norms[lengths[number]]
                )
        return scores

    def words_in(self, numbers: Iterable[int]) -> int:
        """Tell which words stand in some items, a bit for each."""
        return sum(
            1 << bit
            for bit, places in enumerate(self._places)
            if any(number in places for number in numbers)
        )

    def share(self, words: int) -> float:
        """Weigh some of the words against all that were found anywhere, 0 to 1."""
        if (known := self._masks.get(words)) is None:
            told = math.fsum(one for bit, one in enumerate(self._rarity) if words >> bit & 1)
            known = self._masks[words] = told / self._all if self._all else 0.0
        return known


def rarity(count: int, total: int) -> float:
    """Weigh a word by how few items have it, as BM25 does.

    Example:
        >>> rarity(1, 1_000) > 10 * rarity(900, 1_000)
        True
    """
    count = min(count, total)
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _stretched(near: Mapping[int, float]) -> dict[int, float]:
    """Stretch similarities to 0 to 1; the lower half of those found says nothing."""
    if not near:
        return {}
    ordered = sorted(near.values())
    low, high = ordered[int(len(ordered) * _FLOOR)], ordered[-1]
    span = (high - low) or 1.0
    return {number: (value - low) / span for number, value in near.items() if value > low}


def shortlist(scale: Scale, limit: int = SHORTLIST) -> list[int]:
    """Pick the items that say most by themselves, best first; of equals the newest."""
    own = scale.own
    return heapq.nlargest(limit, own, key=lambda number: (own[number], number))


Links = Mapping[int, Mapping[int, int]]
"""For items the numbers of those near them, with how many turns later they were said."""


def links(beside: Mapping[int, Sequence[int]]) -> Links:
    """Tell how far apart turns were said.

    Args:
        beside: For turns the numbers of those within `REACH`, see `MemoryStore.beside`.

    Example:
        >>> links({7: [6, 8]})
        {7: {6: -1, 8: 1}, 6: {7: 1}, 8: {7: -1}}
    """
    found: dict[int, dict[int, int]] = {}
    for number, others in beside.items():
        before = sorted((other for other in others if other < number), reverse=True)
        after = sorted(other for other in others if other > number)
        for sign, side in ((-1, before), (1, after)):
            for distance, other in enumerate(side[:REACH], start=1):
                found.setdefault(number, {})[other] = sign * distance
                found.setdefault(other, {})[number] = -sign * distance
    return found


def worth_reading(scale: Scale, short: Iterable[int], near: Links, limit: int = READ) -> list[int]:
    """Pick the items to read, best first: of the shortlist, and of what was said beside them."""
    own = scale.own
    heard = {
        number: own.get(number, 0.0) + _around(own, near.get(number, {}))
        for number in {*short, *near}
    }
    return heapq.nlargest(limit, heard, key=lambda number: (heard[number], number))


def _around(own: Mapping[int, float], near: Mapping[int, int]) -> float:
    return math.fsum(own.get(other, 0.0) * _BESIDE[distance] for other, distance in near.items())


def rank(
    scale: Scale, items: Iterable[Item], near: Links, *, stale: Iterable[str] = ()
) -> list[Ranked]:
    """Rank items, best first; the more confident of equals, then the newer.

    Args:
        scale: What is known of them by their numbers.
        items: As they were read, in any order.
        near: Which were said near each other.
        stale: Turns (`Turn.uid`) that facts were learned from which hold no more.
    """
    read = {item.number: item for item in items}
    told = {
        item.turn.uid: number
        for number, item in read.items()
        if item.turn is not None and item.turn.uid
    }
    best: dict[tuple[str, str], float] = {}
    for number, item in read.items():
        if (session := _session(item)) is not None:
            best[session] = max(best.get(session, 0.0), scale.own.get(number, 0.0))
    gone = frozenset(stale)
    ranked = []
    for number, item in read.items():
        if item.fact is not None:
            features = _of_fact(scale, number, item.fact, told, best, read)
        elif item.turn is not None:
            heard = {
                other: distance
                for other, distance in near.get(number, {}).items()
                if other not in read or _session(read[other]) == _session(item)
            }
            features = _of_turn(scale, item, item.turn, heard, best, gone)
        else:
            continue
        if features.relevance > 0:
            ranked.append(Ranked(item, features))
    return sorted(ranked, key=_order)


def _order(one: Ranked) -> tuple[float, float, int]:
    confidence = one.item.fact.confidence if one.item.fact is not None else 0.0
    return -one.score, -confidence, -one.item.number


def _session(item: Item) -> tuple[str, str] | None:
    return None if item.turn is None else (item.turn.thread, item.turn.said_at[:10])


def _of_turn(
    scale: Scale,
    item: Item,
    turn: Turn,
    near: Mapping[int, int],
    sessions: Mapping[tuple[str, str], float],
    stale: frozenset[str],
) -> Features:
    question = scale.question
    text = item.text
    session = _session(item)
    asks_other = turn.role == "assistant" and not turn.author and question.role != "assistant"
    return Features(
        words=scale.own.get(item.number, 0.0),
        around=_around(scale.own, near),
        together=scale.share(scale.words_in((item.number, *near))),
        session=sessions[session] if session is not None else 0.0,
        author=float(question.names(turn.author)),
        role=float(asks_other),
        asking=_asking(text),
        shape=float(any(looks_like(text, shape) for shape in question.shapes)),
        period=float(_is_within(turn.said_at[:10], turn.said_at[:10], question.periods)),
        stale=float(turn.uid in stale and not question.asks_past),
    )


def _of_fact(
    scale: Scale,
    number: int,
    fact: Fact,
    told: Mapping[str, int],
    sessions: Mapping[tuple[str, str], float],
    read: Mapping[int, Item],
) -> Features:
    question = scale.question
    turns = [told[one.uid] for one in fact.evidence if one.uid in told]
    met = [session for turn in turns if (session := _session(read[turn])) is not None]
    since, until = (fact.valid_from or fact.observed_at)[:10], fact.valid_to[:10]
    return Features(
        words=scale.own.get(number, 0.0),
        around=_LEARNED * max((scale.own.get(turn, 0.0) for turn in turns), default=0.0),
        together=scale.share(scale.words_in((number, *turns))),
        session=max((sessions[session] for session in met), default=0.0),
        author=0.0,
        role=0.0,
        asking=0.0,
        shape=float(any(looks_like(fact.content, shape) for shape in question.shapes)),
        period=float(_is_within(since, until or since, question.periods)),
        stale=float(fact.status == "superseded" and not question.asks_past),
    )


_SENTENCE_ENDS = re.compile(r"[.!?。！？…]+")


def _asking(text: str) -> float:
    """Tell which share of the sentences of a text are questions.

    Example:
        >>> _asking("Nice! Where was it?"), _asking("in Rome")
        (0.5, 0.0)
    """
    ends = _SENTENCE_ENDS.findall(text)
    return sum("?" in end or "？" in end for end in ends) / len(ends) if ends else 0.0


def _is_within(first: str, last: str, periods: Iterable[tuple[str, str]]) -> bool:
    return bool(first) and any(since <= last and first <= until for since, until in periods)
