"""The times that a text tells, and facts told so that they are understood on any day."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from thalweg.facts.dates import chinese as when_chinese
from thalweg.facts.dates import english as when_english
from thalweg.facts.dates.spans import Grain, Span

MAX_CHARS = 20_000
"""Of a longer text the rest is not looked at."""
_HAN = re.compile(r"[\u3400-\u9fff]")
_QUOTED = re.compile(r"\"[^\"\n]{0,200}\"|\u201c[^\u201d\n]{0,200}\u201d|\u300c[^\u300d\n]*\u300d")


@dataclass(frozen=True, slots=True)
class When:
    """A time told in a text."""

    start: int
    """Where it stands."""
    end: int
    first: date
    last: date
    """The last day, included."""
    grain: Grain = "day"
    is_relative: bool = False
    """Whether only the day it was said on tells what it means."""


def find_times(text: str, today: date) -> list[When]:
    """List the times that an English or Chinese text tells, in order.

    What comes every year or week (`in May`, `on Friday`) is the last one that began, or the
    next one where the text speaks of the future. `since` goes up to today; `from A to B` is one.

    Example:
        >>> found = find_times("Where was I last Friday?", date(2023, 5, 8))
        >>> [(str(when.first), str(when.last)) for when in found]
        [('2023-05-05', '2023-05-05')]
        >>> [str(when.first) for when in find_times("去年夏天我在哪里", date(2023, 5, 8))]
        ['2022-06-01']
    """
    found: list[When] = []
    for place, end, span in _spans(text[:MAX_CHARS], today):
        start, before = place, text[:place]
        first, last, grain = span.first, span.last, span.grain
        if found and _joins(text[: found[-1].start], text[found[-1].end : start]):
            start, first, grain = found[-1].start, min(found[-1].first, first), "range"
            found.pop()
        elif _SINCE.search(before) or text.startswith(("以来", "起"), end):
            last, grain = max(last, today), "range"
        found.append(When(start, end, first, last, grain, span.is_relative))
    return found


def dated(text: str, said_at: str) -> str:
    """Do as `absolute` does, by a time in ISO 8601; without one the text stays as it is."""
    try:
        return absolute(text, date.fromisoformat(said_at[:10]))
    except ValueError:
        return text


_OF_A_PERIOD = re.compile(r"\s+(?:of|in) (?:the|each|every|a) ")


def absolute(text: str, said: date) -> str:
    """Put the date in the place of every time that was told from the day it was said on.

    What is quoted stays, and so does what comes again (`on Fridays`) or has a date already.

    Example:
        >>> absolute("I ran a race last Friday", date(2023, 5, 8))
        'I ran a race on 5 May 2023'
        >>> absolute("用户上周五跑了比赛", date(2023, 5, 8))
        '用户2023年5月5日跑了比赛'
    """
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    pieces, done = [], 0
    for start, end, span in _spans(text[:MAX_CHARS], said):
        if not span.is_relative or any(a <= start < b for a, b in quoted):
            continue
        if _OF_A_PERIOD.match(text, end):
            continue  # it comes again: the last Thursday of the month
        if _HAN.search(text, start, end):
            told = when_chinese.written(span, said)
        else:
            told = when_english.written(span, said, text[:start], text[end:])
        pieces += [text[done:start], told]
        done = end
    return "".join((*pieces, text[done:]))


_SINCE = re.compile(r"\bsince\s+$|(?:自|自从|从)$", re.IGNORECASE)
_BETWEEN = re.compile(r"\b(?:between|from)\s+$|从$|自$", re.IGNORECASE)
_LINK = re.compile(
    r"\s*(?:to|until|till|through|and|[-\u2013\u2014~]|到|至|直到)\s*", re.IGNORECASE
)
_STRONG_LINK = re.compile(r"\s*(?:[-\u2013~]|到|至)\s*")


def _joins(before: str, between: str) -> bool:
    """Say whether two times with a text between them are the ends of one."""
    if _STRONG_LINK.fullmatch(between):
        return True
    return bool(_LINK.fullmatch(between)) and bool(_BETWEEN.search(before))


def _spans(text: str, today: date) -> list[tuple[int, int, Span]]:
    """Find every time, the longer one where two overlap."""
    found = sorted(_candidates(text, today), key=lambda item: (item[0] - item[1], item[0]))
    kept: list[tuple[int, int, Span]] = []
    for start, end, span in found:
        if all(end <= other[0] or start >= other[1] for other in kept):
            kept.append((start, end, span))
    return sorted(kept, key=lambda item: item[0])


def _candidates(text: str, today: date) -> Iterator[tuple[int, int, Span]]:
    languages = (when_english, when_chinese) if _HAN.search(text) else (when_english,)
    for language in languages:
        is_future: bool | None = None
        for hint, forms in language.FAMILIES:
            if not hint.search(text):
                continue
            if is_future is None:
                is_future = bool(language.FUTURE.search(text))
            for pattern, reader in forms:
                for match in pattern.finditer(text):
                    span = _read(reader, match, today, is_future)
                    if span:
                        yield *match.span("told" if "told" in pattern.groupindex else 0), span


def _read(
    reader: when_english.Reader,
    match: re.Match[str],
    today: date,
    is_future: bool,  # noqa: FBT001
) -> Span | None:
    """Read a match; nothing where the calendar has no such day."""
    try:
        return reader(match, today, is_future)
    except (ValueError, OverflowError, IndexError, StopIteration):
        return None
