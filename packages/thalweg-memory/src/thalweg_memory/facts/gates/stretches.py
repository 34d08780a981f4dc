"""Stretches of a text."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

TAKEN = "\ue000"
"""Replaces each character that was already removed; no visible text contains it."""

Kind = Literal["quoted text", "pasted text", "code", "hidden text"]


class QuotedSpan(NamedTuple):
    """A stretch that is not its speaker's own words."""

    start: int
    end: int
    """The index after its last character."""
    kind: Kind


def lines(text: str) -> Iterator[tuple[int, int]]:
    r"""Yield the start and the end of each line, without its line feed.

    Example:
        >>> list(lines("a\nbc"))
        [(0, 1), (2, 4)]
    """
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield start, end
        start = end + 1
    yield start, len(text)


def paragraph_end(text: str, start: int) -> int:
    """Find the end of the paragraph that a place is in."""
    end = text.find("\n\n", start)
    return len(text) if end < 0 else end


def stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a range without the space around it; nothing for a range of spaces.

    Example:
        >>> [*stripped("a b  c", 1, 5)], [*stripped("a b  c", 3, 5)]
        ([(2, 3)], [])
    """
    inner = text[start:end]
    if inner.strip():
        yield start + len(inner) - len(inner.lstrip()), start + len(inner.rstrip())
