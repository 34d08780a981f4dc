"""What can be recalled, the words it is found by, and where those of a question were found."""

import math
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from thalweg.engine.words import STOP_WORDS, find_tokens, stem, token_words, words
from thalweg_memory.facts.days import day_in_words, local
from thalweg_memory.facts.values import Fact, Statement

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
    near: Mapping[int, float]
    """Items that vectors found, with their cosine; empty without vectors."""


def without(found: WordOccurrences, numbers: Collection[int]) -> WordOccurrences:
    """Remove items from the search results; the rarity of words does not change."""
    if not numbers:
        return found
    left_out = set(numbers)
    places = {
        word: {number: count for number, count in there.items() if number not in left_out}
        for word, there in found.places.items()
    }
    near = {number: like for number, like in found.near.items() if number not in left_out}
    return replace(found, places=places, near=near)


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
