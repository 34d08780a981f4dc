"""Choosing the passages that answer a question, and packing them into a budget.

A pure function over candidates. The score of an excerpt is a sum of named features
(`Features`), each a share of what the words of the question weigh together, so that every
choice can be explained.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass

from thalweg.archive.base import Passage, Span, render_passages
from thalweg.archive.index import Hits, Row
from thalweg.archive.question import Question, looks_like
from thalweg.archive.words import token_words, tokens
from thalweg.tokens import Counter

SHORTLIST = 160
"""Passages that are read and looked at closely."""
FOLLOWERS = 4
"""Passages read after one that tells what its message is about."""
NEIGHBOUR_SHARE = 0.25
"""What a word counts that stands in the passage before or after, in the shortlist."""
EXCERPT_CHARS = 420
WINDOW_LINES = 4
SEGMENT_CHARS = 200
"""Longer lines are excerpted in pieces of about this length."""
ABOUT_CHARS = 100
"""So much of what a message is about is shown in a hit."""


@dataclass(frozen=True, slots=True)
class Features:
    """Why an excerpt was chosen; the fields' defaults are their weights in the score."""

    window: float = 1.0
    """Share of the question's words that stand close together in the excerpt."""
    passage: float = 0.5
    """Share that stands elsewhere in its passage."""
    about: float = 0.5
    """Share that stands only in the call that a tool result answers."""
    around: float = 0.25
    """Share that stands only in the passage before or after."""
    phrase: float = 0.5
    """Share of the question's quotations that stand in it, word for word."""
    shape: float = 0.15
    """Share of the wanted shapes that something in it has which is not in the question."""
    speaker: float = 0.1
    """Whether it is said by one whom the question names."""


WEIGHTS = Features()


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A stretch of a passage that may be shown."""

    row: Row
    start: int
    end: int
    score: float
    features: Features


def weigh(hits: Hits) -> dict[str, float]:
    """Weigh words by rarity in the thread: what is everywhere tells nothing.

    Example:
        >>> weights = weigh(Hits({}, {"rare": 1, "common": 900}, 1_000))
        >>> weights["rare"] > 10 * weights["common"]
        True
    """
    return {
        word: math.log(1 + (hits.total - min(count, hits.total) + 0.5) / (count + 0.5))
        for word, count in hits.counts.items()
    }


def shortlist(hits: Hits) -> list[int]:
    """Pick the passages worth reading, by the words in them and in their neighbours."""
    weights = weigh(hits)

    def score(item: tuple[int, Collection[str]]) -> tuple[float, int]:
        row, own = item
        near = {*hits.rows.get(row - 1, ()), *hits.rows.get(row + 1, ())}.difference(own)
        return _sum(weights, own) + NEIGHBOUR_SHARE * _sum(weights, near), row

    best = sorted(hits.rows.items(), key=score, reverse=True)
    return [row for row, _ in best[:SHORTLIST]]


def _sum(weights: Mapping[str, float], words: Iterable[str]) -> float:
    return math.fsum(weights[word] for word in words)


def surroundings(rows: Iterable[Row]) -> set[int]:
    """List the passages to read beside some: neighbours, calls answered, results of calls."""
    found: set[int] = set()
    for row in rows:
        if row.start < 0:
            found.update(range(row.id + 1, row.id + 1 + FOLLOWERS))
        else:
            found.update((row.id - 1, row.id + 1))
            if row.about:
                found.add(row.about)
    return found


def choose(
    question: Question,
    hits: Hits,
    rows: Mapping[int, Row],
    max_tokens: int,
    count: Counter,
    within: Sequence[Span] | None = None,
) -> list[Passage]:
    """Choose excerpts, best first, as many different ones as fit.

    Args:
        question: What was asked.
        hits: Where its words occur.
        rows: The passages worth a look, by id, with their surroundings.
        max_tokens: Bound on `render_passages` of the result.
        count: Counts tokens.
        within: Show messages of these spans only; `None` means any.
    """
    weights = weigh(hits)
    excerpts = [
        excerpt
        for row in rows.values()
        if row.start >= 0 and _is_within(row.position, within)
        for excerpt in [_best_excerpt(question, weights, hits, rows, row)]
        if excerpt.features.window + excerpt.features.passage + excerpt.features.about > 0
    ]
    excerpts.sort(key=lambda excerpt: (-excerpt.score, -excerpt.row.id))
    return _pack(excerpts, rows, max_tokens, count)


def _is_within(position: int, within: Sequence[Span] | None) -> bool:
    return within is None or any(span.first <= position <= span.last for span in within)


def _best_excerpt(
    question: Question,
    weights: Mapping[str, float],
    hits: Hits,
    rows: Mapping[int, Row],
    row: Row,
) -> Excerpt:
    segments = _segments(row.text)
    found = [_matched(row.text[start:end], weights) for start, end in segments]
    first, last = _best_window(segments, found, weights)
    start, end = _padded(segments, first, last)
    own = set().union(*found[first : last + 1])
    features = _features(question, weights, hits, rows, row, (start, end), own, found)
    parts = zip(astuple(features), astuple(WEIGHTS), strict=True)
    return Excerpt(row, start, end, math.fsum(f * w for f, w in parts), features)


def _segments(text: str) -> list[tuple[int, int]]:
    """Cut a passage into its lines, very long ones into pieces."""
    found: list[tuple[int, int]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        end = at + len(line)
        while end - at > SEGMENT_CHARS * 1.5:
            space = text.rfind(" ", at + SEGMENT_CHARS // 2, at + SEGMENT_CHARS)
            cut = space + 1 if space >= 0 else at + SEGMENT_CHARS
            found.append((at, cut))
            at = cut
        found.append((at, end))
        at = end
    return found


def _matched(text: str, weights: Mapping[str, float]) -> set[str]:
    return {
        word for token in tokens(text) for word in token_words(token.group()) if word in weights
    }


def _best_window(
    segments: Sequence[tuple[int, int]],
    found: Sequence[set[str]],
    weights: Mapping[str, float],
) -> tuple[int, int]:
    """Find the few lines that hold most of the words; of equals the shortest, then the first."""
    best = (-1.0, 0, 0, 0)
    for first in range(len(segments)):
        words: set[str] = set()
        for last in range(first, min(len(segments), first + WINDOW_LINES)):
            if last > first and segments[last][1] - segments[first][0] > EXCERPT_CHARS:
                break
            words |= found[last]
            best = max(best, (_sum(weights, words), first - last, -first, last))
    return -best[2], best[3]


def _padded(segments: Sequence[tuple[int, int]], first: int, last: int) -> tuple[int, int]:
    """Take lines after and before, in turn, while there is room: the answer may stand beside."""
    while True:
        grown = False
        for before, after in ((first, last + 1), (first - 1, last)):
            if before < 0 or after >= len(segments):
                continue
            if segments[after][1] - segments[before][0] <= EXCERPT_CHARS:
                first, last, grown = before, after, True
        if not grown:
            return segments[first][0], segments[last][1]


def _features(
    question: Question,
    weights: Mapping[str, float],
    hits: Hits,
    rows: Mapping[int, Row],
    row: Row,
    stretch: tuple[int, int],
    own: set[str],
    found: Sequence[set[str]],
) -> Features:
    total = _sum(weights, weights) or 1.0
    passage = set().union(*found) - own
    known = own | passage
    about = (hits.rows.get(row.about, set()) if row.about else set()) - known
    known |= about
    around: set[str] = set()
    for near in (row.id - 1, row.id + 1):
        if near in rows:
            around |= hits.rows.get(near, set())
    text = row.text[slice(*stretch)]
    lower = text.lower()
    said = [phrase in lower for phrase in question.phrases]
    shaped = [looks_like(text, shape) for shape in question.shapes]
    return Features(
        window=_sum(weights, own) / total,
        passage=_sum(weights, passage) / total,
        about=_sum(weights, about) / total,
        around=_sum(weights, around - known) / total,
        phrase=sum(said) / len(said) if said else 0.0,
        shape=sum(shaped) / len(shaped) if shaped else 0.0,
        speaker=float(row.speaker.split(" ")[0] in question.speakers),
    )


def _pack(
    excerpts: Sequence[Excerpt], rows: Mapping[int, Row], max_tokens: int, count: Counter
) -> list[Passage]:
    chosen: list[Passage] = []
    seen: set[str] = set()
    left = max_tokens
    for excerpt in excerpts:
        text = excerpt.row.text[excerpt.start : excerpt.end].strip("\n")
        lines = {_bare(line) for line in text.splitlines()} - {""}
        if not lines - seen:
            continue
        passage = _passage(excerpt, rows)
        cost = count(render_passages([passage]) + "\n\n") + 1
        if cost > left:
            continue
        left -= cost
        seen |= lines
        chosen.append(passage)
    while chosen and count(render_passages(chosen)) > max_tokens:
        chosen.pop()
    return chosen


_NUMBERED = re.compile(r"\s*\d+\s*[→|:\t]\s*")


def _bare(line: str) -> str:
    """Take off what numbers a line, so that one file read twice is seen to be the same."""
    return _NUMBERED.sub("", line, count=1).strip()


def _passage(excerpt: Excerpt, rows: Mapping[int, Row]) -> Passage:
    row = excerpt.row
    about = rows[row.about].text if row.about in rows else ""
    if len(about) > ABOUT_CHARS:
        about = f"{about[: ABOUT_CHARS - 1]}…"
    text = row.text[excerpt.start : excerpt.end]
    start = row.start + excerpt.start + len(text) - len(text.lstrip("\n"))
    return Passage(row.position, row.speaker, text.strip("\n"), start, about)
