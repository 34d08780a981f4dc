"""Pack excerpts of ranked passages into a token budget."""

import re
from collections.abc import Mapping, Sequence

from thalweg.archive.base import Passage, render_passages
from thalweg.archive.search.excerpts import NARROWEST, segments, widen
from thalweg.archive.search.index import BITS, PassageRow
from thalweg.archive.search.ranking import PassageCandidate
from thalweg.engine.tokens import Counter
from thalweg.engine.transcript import clip

ABOUT_CHARS = 80
"""Most characters of the text about a message in a hit."""
WIDTHS = ((3, 900), (7, 420), (1_000, NARROWEST))
"""Number of hits by their width in characters: the better, the wider."""
LEAST_TOKENS = 24
"""Fewer remaining tokens than this are not filled."""


def pack(
    candidates: Sequence[PassageCandidate],
    rows: Mapping[int, PassageRow],
    max_tokens: int,
    count: Counter,
) -> list[tuple[int, Passage]]:
    """Return excerpts of ranked passages, as many different ones as fit, with row ids."""
    chosen: list[tuple[int, Passage]] = []
    seen: set[str] = set()
    covered: set[tuple[int, int]] = set()
    left = max_tokens
    for candidate in candidates:
        if left < LEAST_TOKENS:
            break
        width = next(chars for upto, chars in WIDTHS if len(chosen) < upto)
        core = _excerpt(candidate, rows, 0)
        if not _lines(core.text) - seen:
            continue
        row = candidate.row
        message = (row.id >> BITS, row.position)
        with_about = message not in covered
        for chars in (width, NARROWEST, 0):
            passage = _excerpt(candidate, rows, chars, with_about=with_about)
            cost = count(render_passages([passage]) + "\n\n") + 1
            if cost <= left:
                break
        else:
            continue
        left -= cost
        seen |= _lines(passage.text)
        covered.add(message)
        chosen.append((row.id, passage))
    while chosen and count(render_passages([passage for _, passage in chosen])) > max_tokens:
        chosen.pop()
    return chosen


_NUMBERED = re.compile(r"\s*\d+\s*[→|:\t]\s*")


def _lines(text: str) -> set[str]:
    """Return lines without their numbers, to recognize a file that was read twice."""
    lines = (text[start:end] for start, end in segments(text))
    return {_NUMBERED.sub("", line, count=1).strip() for line in lines} - {""}


def _excerpt(
    candidate: PassageCandidate,
    rows: Mapping[int, PassageRow],
    width: int,
    *,
    with_about: bool = True,
) -> Passage:
    """Return the lines with the words, and adjacent ones, across passages."""
    row = candidate.row
    before, after = rows.get(row.id - 1), rows.get(row.id + 1)
    text, start, first, last = row.text, row.start, candidate.first, candidate.last
    if after is not None and after.start == row.start + len(row.text):
        text += after.text
    if before is not None and 0 <= before.start == row.start - len(before.text):
        text, start = before.text + text, before.start
        shift = len(segments(before.text))
        first, last = first + shift, last + shift
    lines = [
        (a + piece.start - start, b + piece.start - start)
        for piece in (before, row, after)
        if piece is not None
        and start <= piece.start < start + len(text)
        and piece.position == row.position
        for a, b in segments(piece.text)
    ]
    begin, end = widen(lines, first, last, width)
    shown = text[begin:end]
    begin += len(shown) - len(shown.lstrip("\n"))
    about = clip(rows[row.about].text, ABOUT_CHARS) if row.about in rows and with_about else ""
    return Passage(row.position, row.speaker, shown.strip("\n"), start + begin, about)
