"""The question to a memory: significant words, its people and its time."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from thalweg.engine.data_files import read_table
from thalweg.engine.words import STOP_WORDS, WEAK_WORDS, find_tokens, is_particle, stem, token_words
from thalweg_memory.facts.recall.found import index_words


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
    """The words to look up, as `found.index_words` returns them, each once."""
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


def ask(text: str, *earlier: str, as_of: str = "") -> RecallQuery:
    """Read a question. One that is all filler is taken literally.

    Args:
        text: The latest text.
        earlier: The texts before it, the newest first. The older one is, the lower its weight.
        as_of: A time in ISO 8601 that the question is about.

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
        expects_past=bool(as_of or _PAST_QUESTION.search(last)),
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
