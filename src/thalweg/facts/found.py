"""What can be recalled, the words it is found by, and where those of a question were found."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from thalweg.facts.values import Fact, Turn
from thalweg.words import stem, words

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Item:
    """Something that can be recalled: a turn or a fact."""

    number: int
    """In its scope; newer items have higher numbers."""
    turn: Turn | None = None
    fact: Fact | None = None
    words: int = 0
    """How many it is indexed under: the length of `turn_words` or `fact_words`."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where the words of a question occur in a scope, as far as it was worth looking."""

    numbers: Mapping[int, Mapping[str, int]]
    """Items with the words that stand in each, and how often."""
    counts: Mapping[str, float]
    """For each word how many items of the scope have it; may be an estimate for common ones."""
    total: int
    """Items of the scope that can be recalled."""
    mean_words: float
    """Words that an item is indexed under, on the average."""
    near: Mapping[int, float]
    """Items that vectors found, with their cosine; empty without vectors."""


def index_words(text: str) -> list[str]:
    """List the words of a text as memory's index has them: folded, then stemmed.

    Example:
        >>> index_words("Educational hikes, 2023")
        ['educ', 'hik', '2023']
    """
    return [stem(word) for word in words(text)]


def turn_words(turn: Turn) -> list[str]:
    """List the words that a turn is indexed under: who said it, what, and on which day.

    Example:
        >>> from thalweg.facts.values import Trust
        >>> turn_words(Turn("t", 0, "user", "I hiked", "2023-05-08T13:56:00Z", Trust.USER, "Ann"))
        ['ann', 'i', 'hik', '8', 'mai', '2023', 'mondai']
    """
    return index_words(f"{turn.author} {turn.text} {day_in_words(turn.said_at)}")


def fact_words(fact: Fact) -> list[str]:
    """List the words that a fact is indexed under: all its wordings, and the day it was said."""
    said = fact.observed_at or fact.created_at
    return index_words(" ".join((fact.content, *fact.aliases, day_in_words(said))))


def day_in_words(at: str) -> str:
    """Write the day of a time as people write it; empty where the time is not known.

    Example:
        >>> day_in_words("2023-05-08T13:56:00Z"), day_in_words("")
        ('8 May 2023 Monday', '')
    """
    try:
        day = date.fromisoformat(at[:10])
    except ValueError:
        return ""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year} {_WEEKDAYS[day.weekday()]}"
