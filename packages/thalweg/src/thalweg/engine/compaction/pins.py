"""Constraints: the sentences of a request that must survive its shortening."""

import re
from functools import lru_cache

from thalweg.engine.data_files import read_table
from thalweg.engine.prompts import prompt

_WORDS = {
    name: "|".join(words) for name, words in read_table(__package__, "constraints.toml").items()
}
_CONSTRAINT = re.compile(
    rf"\b(?:{_WORDS['english']}|{_WORDS['other']})\b|(?:^|[-*•])\s*no\b|{_WORDS['chinese']}",
    re.IGNORECASE | re.MULTILINE,
)
_STRONG = re.compile(
    rf"\b(?:{_WORDS['strict_english']})\b|{_WORDS['strict_chinese']}", re.IGNORECASE
)
"""Matches a strict constraint: kept before others if not all can be."""

MAX_LINE = 600
"""A longer line is read sentence by sentence; a longer sentence is pasted text."""
MAX_PARAGRAPH = 20_000
"""A longer line was not written by a person."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])")


SCANNED_TEXTS = 1_024
"""Long requests whose lines are cached: every compaction reads them several times."""


@lru_cache(SCANNED_TEXTS)
def constraint_lines(text: str) -> tuple[tuple[int, int], ...]:
    r"""Return the lines of a request that set a constraint; of a long line, the sentences.

    Returns:
        Start and end character of each line, ascending, line ends excluded.

    Example:
        >>> text = "Fix it.\n- Never touch the tests.\nThanks"
        >>> [text[start:end] for start, end in constraint_lines(text)]
        ['- Never touch the tests.']
    """
    found: list[tuple[int, int]] = []
    start = 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if len(bare) <= MAX_PARAGRAPH:
            found += [
                (start + first, start + last)
                for first, last in _sentences(bare)
                if last - first <= MAX_LINE and _CONSTRAINT.search(bare, first, last)
            ]
        start += len(line)
    return tuple(found)


def binding_lines(text: str) -> tuple[str, ...]:
    r"""Return the lines of a request that set a strict constraint.

    Example:
        >>> binding_lines("Fix it, please.\n- Never touch the tests.\nKeep it short.")
        ('- Never touch the tests.',)
    """
    lines = constraint_lines(text)
    return tuple(text[start:end] for start, end in lines if _STRONG.search(text, start, end))


def _sentences(line: str) -> list[tuple[int, int]]:
    """Split a long line into sentences; a short one is kept whole."""
    if len(line) <= MAX_LINE:
        return [(0, len(line))]
    ends = [(match.start(), match.end()) for match in _SENTENCE_END.finditer(line)]
    starts = [0, *(end for _, end in ends)]
    return [*zip(starts, [*(start for start, _ in ends), len(line)], strict=True)]


def excerpt(
    text: str,
    head: int,
    tail: int,
    pinned: tuple[str, ...],
    pointer: str,
    *,
    constraints: int | None = None,
) -> str:
    """Shorten a request: its beginning, its constraints and pins, its end, in order.

    Args:
        text: The request.
        head: Characters to keep from the beginning, up to the end of a line.
        tail: Characters to keep from the end.
        pinned: Quotes that must remain verbatim.
        pointer: How to read the whole; inserted where text was omitted.
        constraints: Most characters of lines that set a constraint, strict ones first; `None`
            keeps all.

    Returns:
        The text itself if shortening would save nothing.
    """
    if len(text) <= head + tail + 200:
        return text
    keep = [(0, _line_end(text, head)), *_strongest_constraints(text, constraints)]
    for quote in pinned:
        at = text.find(quote)
        if at >= 0:
            keep.append((at, at + len(quote)))
    if tail:
        keep.append((len(text) - tail, len(text)))
    shown: list[str] = []
    done = 0
    for start, end in _joined(text, keep):
        if start > done:
            shown.append(prompt("left_out").render(chars=start - done, pointer=pointer))
        shown.append(text[start:end].strip("\n"))
        done = end
    if done < len(text):
        shown.append(prompt("left_out").render(chars=len(text) - done, pointer=pointer))
    result = "\n".join(shown)
    return result if len(result) < len(text) else text


def _strongest_constraints(text: str, most: int | None) -> list[tuple[int, int]]:
    lines = constraint_lines(text)
    if most is None:
        return [*lines]
    kept: list[tuple[int, int]] = []
    for start, end in sorted(lines, key=lambda at: not _STRONG.search(text, *at)):
        if end - start <= most:
            most -= end - start
            kept.append((start, end))
    return kept


def _joined(text: str, keep: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that overlap or have only a line end between them, so that none is split."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(keep):
        if joined and not text[joined[-1][1] : start].strip("\r\n"):
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return at if end < 0 or end > at + 200 else end
