"""Cutting a long turn into pieces, each of which is found by its own words."""

import math
import re
from collections.abc import Iterator

from thalweg.engine.words import find_tokens, token_words

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
