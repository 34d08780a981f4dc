"""Parse a query: its significant words, its quotations, and the shape of an answer to it."""

import re
from dataclasses import dataclass

from thalweg.archive.search.shapes import SHAPE_WORDS, answer_shapes, is_shape_word
from thalweg.engine.words import STOP_WORDS, WEAK_WORDS, find_tokens, words

MAX_CHARS = 4_000
"""Characters of a query that are read."""
MAX_WORDS = 48
"""Most words of a query that are searched for; a longer text is no question."""

_SPEAKERS = {
    "user": re.compile(r"\buser(?:'s)?\b|用户", re.IGNORECASE),
    "assistant": re.compile(r"\bassistant(?:'s)?\b|\byou\b|助手", re.IGNORECASE),
    "tool": re.compile(r"\btool\b|\boutput\b|\breport(?:ed)?\b|\bcommand\b", re.IGNORECASE),
}
_QUOTED = re.compile(r"(?<!\w)['\"`\u2018“「『](.{3,120}?)['\"`\u2019”」』](?!\w)")
LONGER_CHARS = 4
"""Characters of a longer word."""
WEAK_IMPORTANCE = 0.3
"""Importance of a word that only shapes a question."""
SHAPE_IMPORTANCE = 0.75
"""Importance of the shape of an answer."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A query, parsed."""

    words: tuple[str, ...]
    """Significant words, folded, each once."""
    tokens: tuple[str, ...] = ()
    """Its longer words as they are written, in lower case."""
    phrases: tuple[str, ...] = ()
    """Texts in quotation marks, in lower case."""
    shapes: tuple[str, ...] = ()
    """Shapes of a possible answer, as in `has_shape`."""
    speakers: tuple[str, ...] = ()
    """Roles that the question names."""
    end: int = 0
    """The end of the thread that it concerns: -1 the beginning, 1 the newest, 0 unspecified."""

    @property
    def index_words(self) -> tuple[str, ...]:
        """The words to search for: its own, then the index's word of each shape that has one."""
        return self.words + tuple(SHAPE_WORDS[name] for name in self.shapes if name in SHAPE_WORDS)

    def importance(self, word: str) -> float:
        """Return the importance of a word besides its rarity, from 0 to 1."""
        if is_shape_word(word):
            return SHAPE_IMPORTANCE
        return WEAK_IMPORTANCE if word in WEAK_WORDS or word in self.speakers else 1.0


def ask(query: str) -> SearchQuery:
    """Parse a query. If all of its words are filler, they are used.

    Example:
        >>> question = ask("How many deletions did the user's 'fix typo' commit report?")
        >>> question.words
        ('deletion', 'user', 'fix', 'typo', 'commit', 'report')
        >>> question.phrases, question.shapes, question.speakers
        (('fix typo',), ('number', 'id'), ('user', 'tool'))
    """
    query = query[:MAX_CHARS]
    all_words = list(dict.fromkeys(words(query)))
    keywords = [word for word in all_words if word not in STOP_WORDS]
    return SearchQuery(
        words=tuple((keywords or all_words)[:MAX_WORDS]),
        tokens=tuple({t.lower(): t for t in find_tokens(query) if len(t) >= LONGER_CHARS}),
        phrases=tuple(phrase.lower() for phrase in _QUOTED.findall(query)),
        shapes=answer_shapes(query),
        speakers=tuple(role for role, names in _SPEAKERS.items() if names.search(query)),
    )
