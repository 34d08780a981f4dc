"""The words of a text, in any language, as every search compares them.

Two rules: a text and a question about it go through the same function; nothing here knows what
the words are looked up in.
"""

from thalweg.words.stems import stem
from thalweg.words.stop import STOP_WORDS, WEAK_WORDS, is_particle
from thalweg.words.words import find_tokens, fold, token_words, words

__all__ = [
    "STOP_WORDS", "WEAK_WORDS", "find_tokens", "fold", "is_particle", "stem", "token_words",
    "words",
]  # fmt: skip
