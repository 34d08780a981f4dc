"""Choose the lines of a passage to show: those with the words, then adjacent ones.

Words are bit sets here: bit i represents word i of the query.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

NARROWEST = 220
"""Characters of the narrowest excerpt."""
WINDOW_LINES = 4
WINDOW_CHARS = 400
SEGMENT_CHARS = 200
"""Longer lines are split into pieces of about this length."""

_LINE_END = re.compile(r"\n|\\n")
"""Includes escaped line ends, for JSON in one line."""

CharRange = tuple[int, int]
"""Range of characters of a text: the first, and one past the last."""


@lru_cache(maxsize=1 << 10)
def segments(text: str) -> tuple[CharRange, ...]:
    r"""Split a text into its lines, very long ones into pieces.

    Example:
        >>> segments("one\ntwo"), segments("x" * 450)
        (((0, 4), (4, 7)), ((0, 200), (200, 450)))
    """
    ranges: list[CharRange] = []
    start = 0
    ends = [match.end() for match in _LINE_END.finditer(text)]
    for end in ends if ends and ends[-1] == len(text) else [*ends, len(text)]:
        while end - start > SEGMENT_CHARS * 1.5:
            space = text.rfind(" ", start + SEGMENT_CHARS // 2, start + SEGMENT_CHARS)
            cut = space + 1 if space >= 0 else start + SEGMENT_CHARS
            ranges.append((start, cut))
            start = cut
        ranges.append((start, end))
        start = end
    return tuple(ranges)


def best_window(
    lines: Sequence[CharRange], words_by_line: Sequence[int], weigh: Callable[[int], float]
) -> tuple[int, int]:
    """Return the few lines with the greatest weight of words.

    Args:
        lines: Lines of a text, in order.
        words_by_line: The words in each line.
        weigh: Returns the weight of a set of words.

    Returns:
        First and last line, both included; of equals the shortest, then the first.


    Example:
        >>> best_window([(0, 9), (9, 18), (18, 27)], [1, 6, 1], lambda words: words.bit_count())
        (0, 1)
    """
    best = (-1.0, 0, 0, 0)
    # A line without words begins no best window: the one after it has the same, and is shorter.
    for first in [index for index, words in enumerate(words_by_line) if words]:
        words = 0
        for last in range(first, min(len(lines), first + WINDOW_LINES)):
            if last > first and lines[last][1] - lines[first][0] > WINDOW_CHARS:
                break
            if words_by_line[last] | words != words:
                words |= words_by_line[last]
                best = max(best, (weigh(words), first - last, -first, last))
    return -best[2], best[3]


def widen(lines: Sequence[CharRange], first: int, last: int, chars: int) -> CharRange:
    """Add lines after and before, in turn, while they fit: an answer may be adjacent.

    Example:
        >>> widen([(0, 10), (10, 20), (20, 30), (30, 40), (40, 90)], 2, 2, 35)
        (10, 40)
    """
    while True:
        has_grown = False
        for more_before, more_after in ((0, 1), (1, 0)):
            before, after = first - more_before, last + more_after
            if before >= 0 and after < len(lines) and lines[after][1] - lines[before][0] <= chars:
                first, last, has_grown = before, after, True
        if not has_grown:
            return lines[first][0], lines[last][1]
