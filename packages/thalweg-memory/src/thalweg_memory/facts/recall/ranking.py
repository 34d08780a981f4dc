"""Which of a scope's turns and facts answer a question: a pure function over search results.

Items have words by which the index finds them; a question has significant words, people and
a time. The score of an item is a sum of named features times a few factors (`RecallFeatures`), so
that every choice can be explained. In three steps, so that little is read: `shortlist` by words
alone, `worth_reading` with neighbouring turns, `rank` with the items themselves.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

from thalweg.engine.data_files import read_table
from thalweg.engine.words import (
    STOP_WORDS,
    WEAK_WORDS,
    Weights,
    find_tokens,
    is_particle,
    rarity,
    stem,
    token_words,
    words,
)
from thalweg_memory.facts.values import Fact, Statement, day_in_words, local

MOST_WORDS = 80
"""Words of a piece, as `engine.words.words` counts them; a single long token may have more."""
_SENTENCE = re.compile(r"[^\n]*?(?:[.!?\u2026][\"')\]]*(?=\s)|[\u3002\uff01\uff1f]|\n|$)\s*")
_PARTS_OF_ONE = re.compile(rf"\s*\S{{1,{MOST_WORDS}}}\s*")


def pieces(text: str) -> list[tuple[int, int]]:
    """Cut a text where sentences or lines end, into pieces of about the same length.

    Returns:
        Where each begins and ends; they add up to the text. One for a text that is short.

    Example:
        >>> pieces("I hiked."), pieces("word " * 79 + "end. " + "more " * 80)
        ([(0, 8)], [(0, 400), (400, 800)])
    """
    total = _size(text)
    if total <= MOST_WORDS:
        return [(0, len(text))]
    enough = total / math.ceil(total / MOST_WORDS)
    found: list[tuple[int, int]] = []
    start = held = 0
    for at, size in _stretches(text):
        if held and (held >= enough or held + size > MOST_WORDS):
            found.append((start, at))
            start, held = at, 0
        held += size
    return [*found, (start, len(text))]


def _stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and size of sentences with words; of long ones those of their parts."""
    for sentence in _SENTENCE.finditer(text):
        size = _size(sentence[0])
        if 0 < size <= MOST_WORDS:
            yield sentence.start(), size
        elif size:
            for part in _PARTS_OF_ONE.finditer(sentence[0]):
                yield sentence.start() + part.start(), _size(part[0])


def _size(text: str) -> int:
    return sum(len(token_words(token)) for token in find_tokens(text))


@dataclass(frozen=True, slots=True)
class RecallItem:
    """Something that can be recalled: a fact, or a piece of a turn.

    A short turn is one piece. A long one is several, with numbers in a row, so that a long
    answer does not outweigh a short one with the same words.
    """

    number: int
    """In its scope; newer items have higher numbers."""
    turn: Statement | None = None
    """The whole turn, for any piece of it."""
    fact: Fact | None = None
    start: int = 0
    """Character of `turn.text` at which the piece begins."""
    end: int | None = None
    """Character of `turn.text` before which it ends; `None` for the end of the text."""

    @property
    def text(self) -> str:
        """Its text: the fact's content, or its piece of the turn."""
        if self.fact is not None:
            return self.fact.content
        return "" if self.turn is None else self.turn.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class WordOccurrences:
    """Positions of the words of a question in a scope, as far as the search was worthwhile."""

    places: Mapping[str, Mapping[int, int]]
    """For each word the items that contain it, and how often.

    Of the items that any word found, it has at most about `limit`, those with the most significant
    words; each of them is there with all its words.
    """
    counts: Mapping[str, int]
    """For each word how many items of the scope have it."""
    lengths: Mapping[int, int]
    """Words of each item that was found, as it is indexed under them; 255 means 255 or more."""
    total: int
    """Items of the scope that can be recalled."""
    mean_words: float
    """Words of an item on the average."""


def without(found: WordOccurrences, numbers: Collection[int]) -> WordOccurrences:
    """Remove items from the search results; the rarity of words does not change."""
    if not numbers:
        return found
    left_out = set(numbers)
    places = {
        word: {number: count for number, count in there.items() if number not in left_out}
        for word, there in found.places.items()
    }
    return replace(found, places=places)


def index_words(text: str) -> list[str]:
    """List the words of a text as memory's index has them: folded, then stemmed.

    Example:
        >>> index_words("Educational hikes, 2023")
        ['educ', 'hik', '2023']
    """
    return [stem(word) for word in words(text)]


_NO_CONTENT = {stem(word) for word in STOP_WORDS} | set(index_words("user users user's 用户"))


def content_words(text: str) -> list[str]:
    """List the words of a text that carry its content, as the index has them, each once.

    Example:
        >>> content_words("User's lucky number is 42")
        ['lucki', 'number', '42']
    """
    return [word for word in dict.fromkeys(index_words(text)) if word not in _NO_CONTENT]


def turn_words(turn: Statement, start: int = 0, end: int | None = None) -> list[str]:
    """List the words that a piece of a turn is indexed under: its speaker, its text, its day.

    Example:
        >>> from thalweg_memory.facts.values import Trust
        >>> turn_words(
        ...     Statement("t", 0, "user", "I hiked", "2023-05-08T13:56:00Z", Trust.USER, "Ann")
        ... )
        ['ann', 'i', 'hik', '8', 'mai', '2023', 'mondai']
    """
    return index_words(
        f"{turn.author} {turn.text[start:end]} {day_in_words(local(turn.said_at, turn.zone))}"
    )


def fact_words(fact: Fact) -> list[str]:
    """List the words that a fact is indexed under.

    They are those of all its wordings, of its subject and attribute as a learner read them, and of
    the day of its statement.
    """
    stated_at = fact.observed_at or fact.created_at
    read = (fact.subject, fact.attribute) if fact.attribute else ()
    quotes = (each.quote for each in fact.evidence) if fact.claim else ()
    texts = (fact.statement, *fact.aliases, *quotes, *read, day_in_words(stated_at))
    return index_words(" ".join(texts))


def read_patterns(package: str, name: str) -> dict[str, str]:
    """Read regular expressions by name; in a table, a long one has several lines.

    Args:
        package: The package that holds the table: `__package__` of the caller.
        name: Of the table, without its ending.
    """
    table = read_table(package, f"{name}.toml")
    return {key: text.replace("\n", "") for key, text in table.items()}


MAX_CHARS = 4_000
"""So much of a text is read: half of it from the beginning, half from the end."""
MAX_WORDS = 64
"""Maximum number of words that are looked up; those of the latest text come first."""
WEAK = 0.3
"""Weight of a word that only shapes a question, and of a pair with a particle in it."""
EARLIER = 0.8
"""Weight of the words of a turn relative to those of the turn after it."""

_WORDS = read_patterns(__package__, "question")
_TIME_QUESTION = re.compile(_WORDS["asks_time"], re.IGNORECASE)
_PAST_QUESTION = re.compile(_WORDS["asks_past"], re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A question, or the last turns of a conversation, read."""

    words: tuple[str, ...]
    """The words to look up, as `index_words` returns them, each once."""
    weights: tuple[float, ...]
    """The weight of each of them in addition to its rarity, 0 to 1."""
    mentions: frozenset[str] = frozenset()
    """Every word in it, as the index has it: names of people are found among them."""
    expects_time: bool = False
    """Whether a time answers it."""
    expects_past: bool = False
    """Whether what held once may answer it, and no more does."""

    def names(self, name: str) -> bool:
        """Return whether a person is named in it."""
        found = index_words(name)
        return bool(found) and self.mentions.issuperset(found)


def ask(text: str, *earlier: str) -> RecallQuery:
    """Read a question. One that is all filler is taken literally.

    Args:
        text: The latest text.
        earlier: The texts before it, the newest first. The older one is, the lower its weight.

    Example:
        >>> question = ask("When did Melanie paint a sunrise?")
        >>> question.words, question.expects_time, question.names("Melanie")
        (('melani', 'paint', 'sunri'), True, True)
    """
    weights: dict[str, float] = {}
    filler: list[str] = []
    mentions: set[str] = set()
    for age, turn_text in enumerate(map(_bounded, (text, *earlier))):
        for word, weight in _weighed(turn_text):
            mentions.add(word)
            if not weight:
                filler.append(word)
            elif weight * EARLIER**age > weights.get(word, 0):
                weights[word] = weight * EARLIER**age
    if not weights:
        weights = dict.fromkeys(filler, 1.0)
    chosen = sorted(weights, key=lambda word: -weights[word])[:MAX_WORDS]
    last = _bounded(text)
    return RecallQuery(
        words=tuple(chosen),
        weights=tuple(weights[word] for word in chosen),
        mentions=frozenset(mentions),
        expects_time=bool(_TIME_QUESTION.search(last)),
        expects_past=bool(_PAST_QUESTION.search(last)),
    )


def ask_further(question: RecallQuery, hits: Iterable[tuple[str, float]]) -> RecallQuery:
    """Ask for items that share words with the first hits of a question, beyond its own words.

    Pseudo-relevance feedback (Rocchio 1971): a word weighs more, the better the hits that hold it.

    Args:
        question: The first question.
        hits: Texts that were found, with the score of each.

    Example:
        >>> first = ask("Any news of Piet?")
        >>> ask_further(first, [("Piet looks after my beehive", 1.0)]).words
        ('beehiv', 'look')
    """
    weights: dict[str, float] = {}
    for text, score in hits:
        for word, weight in dict(_weighed(text)).items():
            if weight and word not in question.mentions:
                weights[word] = weights.get(word, 0.0) + weight * score
    most = max(weights.values(), default=1.0)
    chosen = sorted(weights, key=lambda word: -weights[word])[:MAX_WORDS]
    return RecallQuery(
        words=tuple(chosen),
        weights=tuple(weights[word] / most for word in chosen),
        mentions=question.mentions,
    )


def _bounded(text: str) -> str:
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[: MAX_CHARS // 2]} {text[-MAX_CHARS // 2 :]}"


def _weighed(text: str) -> Iterator[tuple[str, float]]:
    """List the words of a text, each with its weight; 0 for filler."""
    for token in find_tokens(text):
        found = token_words(token)
        if any(map(is_particle, token)):
            pairs = [token[at : at + 2] for at in range(len(token) - 1)] or [token]
            shares = [1 - sum(map(is_particle, pair)) / len(pair) for pair in pairs]
            weights: Iterable[float] = (
                1.0 if share == 1 else WEAK if share else 0.0 for share in shares
            )
        else:
            weights = (WEAK if word in WEAK_WORDS else 1.0 for word in found)
        for word, weight in zip(found, weights, strict=True):
            yield stem(word), 0.0 if word in STOP_WORDS else weight


_TIMES = frozenset(_WORDS["times"].split())
_LETTERS = re.compile(r"[a-z]+")
_FIGURES = re.compile(r"(?<!\d)(?:(?:19|20)\d\d|\d{1,2}:\d\d)(?!\d)")
_TIMES_IN_CHINESE = re.compile(_WORDS["times_in_chinese"])


def tells_time(text: str) -> bool:
    """Return whether something in a text may answer when, or how long.

    Example:
        >>> tells_time("I went last week"), tells_time("I went there"), tells_time("昨天去了")
        (True, False, True)
    """
    if not _TIMES.isdisjoint(_LETTERS.findall(text.lower())) or _FIGURES.search(text):
        return True
    return not text.isascii() and _TIMES_IN_CHINESE.search(text) is not None


SHORTLIST = 48
"""Items whose neighbours are looked for."""
READ = 100
"""Items that are read."""
REACH = 2
"""Turns before and after an item whose words count for it."""
_K1, _B = 1.2, 0.75
_BEFORE, _AFTER = (0.4, 0.2), (0.3, 0.2)
"""Weights of the words of the two turns before, and of the two turns after."""
_LEARNED = 0.3
"""Weight of the words of the turn that a fact was learned from."""
_NOTHING: Mapping[str, Sequence[str]] = MappingProxyType({})
_ALONE: Mapping[int, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class RecallFeatures:
    """Why an item was recalled; the defaults are the weights in the score."""

    words: float = 1.0
    """BM25 of its words, as a share of the best."""
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
    """

    def __init__(self, question: RecallQuery, found: WordOccurrences) -> None:
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
        """Scores of items without their neighbours, 0 to 1."""

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
