"""Constraints: the sentences of a request that must survive its shortening."""

import re
from functools import lru_cache

from thalweg.engine.data_files import read_table
from thalweg.engine.prompts import prompt

_CONSTRAINT_WORDS = {
    name: "|".join(words) for name, words in read_table(__package__, "constraints.toml").items()
}
_CONSTRAINT = re.compile(
    rf"\b(?:{_CONSTRAINT_WORDS['english']}|{_CONSTRAINT_WORDS['other']})\b|(?:^|[-*•])\s*no\b|{_CONSTRAINT_WORDS['chinese']}",
    re.IGNORECASE | re.MULTILINE,
)
_STRICT_CONSTRAINT = re.compile(
    rf"\b(?:{_CONSTRAINT_WORDS['strict_english']})\b|{_CONSTRAINT_WORDS['strict_chinese']}",
    re.IGNORECASE,
)
"""Matches a strict constraint: kept before others if not all can be."""

MAX_LINE_CHARS = 600
"""A longer line is read sentence by sentence; a longer sentence is pasted text."""
MAX_PARAGRAPH_CHARS = 20_000
"""A longer line was not written by a person."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[\u3002\uff01\uff1f])")


@lru_cache(1_024)  # every compaction reads them several times
def constraint_lines(text: str) -> tuple[tuple[int, int], ...]:
    r"""Return the lines of a request that set a constraint; of a long line, the sentences.

    Returns:
        Start and end character of each line, ascending, line ends excluded.

    Example:
        >>> text = "Fix it.\n- Never touch the tests.\nThanks"
        >>> [text[start:end] for start, end in constraint_lines(text)]
        ['- Never touch the tests.']
    """
    spans: list[tuple[int, int]] = []
    start = 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        if len(bare) <= MAX_PARAGRAPH_CHARS:
            spans += [
                (start + first, start + last)
                for first, last in _sentences(bare)
                if last - first <= MAX_LINE_CHARS and _CONSTRAINT.search(bare, first, last)
            ]
        start += len(line)
    return tuple(spans)


def strict_constraint_lines(text: str) -> tuple[str, ...]:
    r"""Return the lines of a request that set a strict constraint.

    Example:
        >>> strict_constraint_lines("Fix it, please.\n- Never touch the tests.\nKeep it short.")
        ('- Never touch the tests.',)
    """
    lines = constraint_lines(text)
    return tuple(
        text[start:end] for start, end in lines if _STRICT_CONSTRAINT.search(text, start, end)
    )


def _sentences(line: str) -> list[tuple[int, int]]:
    """Split a long line into sentences; a short one is kept whole."""
    if len(line) <= MAX_LINE_CHARS:
        return [(0, len(line))]
    ends = [(match.start(), match.end()) for match in _SENTENCE_END.finditer(line)]
    starts = [0, *(end for _, end in ends)]
    return [*zip(starts, [*(start for start, _ in ends), len(line)], strict=True)]


def excerpt(
    text: str,
    head_chars: int,
    tail_chars: int,
    pinned: tuple[str, ...],
    pointer: str,
    *,
    max_constraint_chars: int | None = None,
) -> str:
    """Shorten a request: its beginning, its constraints and pins, its end, in order.

    Args:
        text: The request.
        head_chars: Characters to keep from the beginning, up to the end of a line.
        tail_chars: Characters to keep from the end.
        pinned: Quotes that must remain verbatim.
        pointer: How to read the whole; inserted where text was omitted.
        max_constraint_chars: Most characters of lines that set a constraint, strict ones first;
            `None` keeps all.

    Returns:
        The text itself if shortening would save nothing.
    """
    if len(text) <= head_chars + tail_chars + 200:
        return text
    kept_spans = [
        (0, _line_end(text, head_chars)),
        *_strongest_constraints(text, max_constraint_chars),
    ]
    for quote in pinned:
        quote_start = text.find(quote)
        if quote_start >= 0:
            kept_spans.append((quote_start, quote_start + len(quote)))
    if tail_chars:
        kept_spans.append((len(text) - tail_chars, len(text)))
    pieces: list[str] = []
    shown_end = 0
    for start, end in _merged_spans(text, kept_spans):
        if start > shown_end:
            pieces.append(prompt("left_out").render(chars=start - shown_end, pointer=pointer))
        pieces.append(text[start:end].strip("\n"))
        shown_end = end
    if shown_end < len(text):
        pieces.append(prompt("left_out").render(chars=len(text) - shown_end, pointer=pointer))
    result = "\n".join(pieces)
    return result if len(result) < len(text) else text


def _strongest_constraints(text: str, max_chars: int | None) -> list[tuple[int, int]]:
    lines = constraint_lines(text)
    if max_chars is None:
        return [*lines]
    kept_spans: list[tuple[int, int]] = []
    for start, end in sorted(lines, key=lambda span: not _STRICT_CONSTRAINT.search(text, *span)):
        if end - start <= max_chars:
            max_chars -= end - start
            kept_spans.append((start, end))
    return kept_spans


def _merged_spans(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that overlap or have only a line end between them, so that none is split."""
    joined_spans: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined_spans and not text[joined_spans[-1][1] : start].strip("\r\n"):
            joined_spans[-1] = (joined_spans[-1][0], max(end, joined_spans[-1][1]))
        else:
            joined_spans.append((start, end))
    return joined_spans


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return offset if end < 0 or end > offset + 200 else end
