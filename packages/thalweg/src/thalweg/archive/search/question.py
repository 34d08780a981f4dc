"""Parse a query: its significant words."""

from dataclasses import dataclass

from thalweg.engine.words import STOP_WORDS, WEAK_WORDS, find_tokens, words

MAX_CHARS = 4_000
"""Characters of a query that are read."""
MAX_WORDS = 48
"""Most words of a query that are searched for; a longer text is no question."""

LONGER_CHARS = 4
"""Characters of a longer word."""
WEAK_IMPORTANCE = 0.3
"""Importance of a word that only shapes a question."""


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A query, parsed."""

    words: tuple[str, ...]
    """Significant words, folded, each once."""
    tokens: tuple[str, ...] = ()
    """Its longer words as they are written, in lower case."""

    @staticmethod
    def importance(word: str) -> float:
        """Return the importance of a word besides its rarity, from 0 to 1."""
        return WEAK_IMPORTANCE if word in WEAK_WORDS else 1.0


def ask(query: str) -> SearchQuery:
    """Parse a query. If all of its words are filler, they are used.

    Example:
        >>> ask("How many deletions did the user's 'fix typo' commit report?").words
        ('deletion', 'user', 'fix', 'typo', 'commit', 'report')
    """
    query = query[:MAX_CHARS]
    all_words = list(dict.fromkeys(words(query)))
    keywords = [word for word in all_words if word not in STOP_WORDS]
    return SearchQuery(
        words=tuple((keywords or all_words)[:MAX_WORDS]),
        tokens=tuple({t.lower(): t for t in find_tokens(query) if len(t) >= LONGER_CHARS})[
            :MAX_WORDS
        ],
    )
