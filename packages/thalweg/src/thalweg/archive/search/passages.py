"""Split the text of a message into passages: the pieces that search ranks."""

from collections.abc import Iterator

MAX_CHARS = 600
MAX_LINES = 10
MAX_LINE_CHARS = 1_200
"""A longer line is split, at a space if there is one."""


def cut(text: str) -> list[tuple[int, str]]:
    """Split a text into passages that add up to it, each with the index of its first character.

    A passage ends at an empty line if it is long enough by itself, else when it is full. It has
    whole lines, or a part of a very long one.

    Example:
        >>> [start for start, _ in cut("word " * 500)]
        [0, 1200, 2400]
    """
    pieces: list[tuple[int, str]] = []
    start = end = lines = 0
    for line in _lines(text):
        full = end - start + len(line) > MAX_CHARS or lines == MAX_LINES
        if lines and (full or (not line.strip() and end - start > MAX_CHARS // 2)):
            pieces.append((start, text[start:end]))
            start, lines = end, 0
        end += len(line)
        lines += 1
    return [*pieces, (start, text[start:end])] if lines else pieces


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text with their ends, split if they are too long."""
    at = 0
    while at < len(text):
        newline = text.find("\n", at, at + MAX_LINE_CHARS)
        stop = newline + 1 if newline >= 0 else min(len(text), at + MAX_LINE_CHARS)
        if newline < 0 and stop < len(text):
            space = text.rfind(" ", at + MAX_LINE_CHARS // 2, stop)
            stop = space + 1 if space >= 0 else stop
        yield text[at:stop]
        at = stop
