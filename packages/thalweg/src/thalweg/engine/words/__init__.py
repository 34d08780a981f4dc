"""The words of a text, in any language, normalized for search.

Two rules: a text and a query use the same function; nothing here depends on the index in which
the words are searched.
"""

from thalweg.engine.words.words import (
    STOP_WORDS,
    TOKEN,
    WEAK_WORDS,
    Weights,
    find_tokens,
    fold,
    is_particle,
    rarity,
    stem,
    token_words,
    words,
)

__all__ = [
    "STOP_WORDS", "TOKEN", "WEAK_WORDS", "Weights", "find_tokens", "fold", "is_particle", "rarity",
    "stem", "token_words", "words",
]  # fmt: skip
