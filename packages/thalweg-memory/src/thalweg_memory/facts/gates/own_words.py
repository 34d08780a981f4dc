"""The speaker's own words of a message: text of others is replaced by a marker with its length.

The author of a page, a mail or a file that a user pastes controls its text and its apparent end. So
an end that only the pasted text marks is not trusted: a quotation extends to the last closing mark,
or to the end of the message. Quotations inside a sentence are replaced as well; names in quotation
marks, which only look like quotations, are kept.
"""

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from thalweg.redaction.secrets import REDACTION
from thalweg_memory.facts.gates.blocks import SHORT_DATA, find_blocks, is_named_data
from thalweg_memory.facts.gates.letters import hiding, visible, with_plain_lines
from thalweg_memory.facts.gates.pasted import find_pasted
from thalweg_memory.facts.gates.stretches import TAKEN, QuotedSpan, paragraph_end, stripped
from thalweg_memory.facts.patterns import read_patterns

_PAIRS = (
    ("“", "”"), ("„", "“”"), ("«", "»"), ("»", "«"), ("‹", "›"), ("「", "」"), ("『", "』"),
    ("《", "》"), ("〈", "〉"), ("‘", "’"), ("＂", "＂"), ("〝", "〟"),
)  # fmt: skip
_SINGLE = re.compile(r"(?<![\w'’])'(?=\S)(.{1,300}?)(?<=\S)'(?!\w)")
MAX_NAME_WORDS = 6
MAX_NAME_CHARS = 60
_WORDS = read_patterns(__package__, "quotations")
_PERSON = re.compile(_WORDS["person"], re.IGNORECASE)
_INTRODUCED = re.compile(_WORDS["introduced"], re.IGNORECASE)
_OWN_READING = re.compile(
    r"\b(?:I|we)(?:['’](?:ve|m|d))?(?: \w+){0,3} (?:read|reading|reread|write|wrote|writing)"
    r"(?: \w+){0,5}\s*$"
)
MARKER = re.compile(
    r"\[(?:quoted text|pasted text|code|hidden text)(?:, (\d+) characters)?\]|\[…\]"
)
"""The replacement of removed text."""
_OUT = re.compile(f"{MARKER.pattern}|{REDACTION.pattern}")
MAX_CHARS = 20_000
"""Of a longer text only the beginning and the end are read: one message is never typed so long."""
_KEPT_CHARS = 9_900
"""Characters at each end; with the marker between them they are fewer than `MAX_CHARS`."""


def find_quotations(text: str) -> list[QuotedSpan]:
    """Find what others are quoted with inside a sentence.

    Short names in quotation marks are the speaker's own, and so is code in backticks.

    Example:
        >>> find_quotations('I call it "Atlas".'), len(find_quotations('He said "use Atlas".'))
        ([], 1)
    """
    named = _named_data(text)
    found = [*_paired(text), *_straight(text), *_single(text)]
    outside = [quotation for quotation in found if not _is_inside(quotation, named)]
    return [span for one in outside for span in _judged(text, one)]


class _Quotation(NamedTuple):
    """A stretch from an opening mark to its closing one."""

    start: int
    end: int
    last: int
    """After the last possible closing mark: an inner one could be forged."""


def _named_data(text: str) -> list[tuple[int, int]]:
    """List the data that are named as the speaker's own, in order: they may hold quotations."""
    spans = (found.span() for found in SHORT_DATA.finditer(text))
    return [span for span in spans if is_named_data(text, *span)]


def _is_inside(quotation: _Quotation, data: list[tuple[int, int]]) -> bool:
    at = bisect_left(data, (quotation.start, 0)) - 1
    return at >= 0 and quotation.end <= data[at][1]


def _paired(text: str) -> Iterator[_Quotation]:
    for opening, closing in _PAIRS:
        start = text.find(opening)
        while start >= 0:
            limit = paragraph_end(text, start)
            ends = [place for mark in closing if (place := text.find(mark, start + 1)) >= 0]
            is_apostrophe = opening == "‘" and (not ends or min(ends) > limit)
            if is_apostrophe or _closes_another(text, start):
                start = text.find(opening, start + 1)
                continue
            end = min(ends) + 1 if ends else limit
            yield _Quotation(start, end, _last_mark(text, closing, end, limit))
            start = text.find(opening, end)


def _closes_another(text: str, place: int) -> bool:
    """Return whether a mark that may also open a quotation closes one: the second of `«so»`."""
    for opening, closing in _PAIRS:
        before = text.rfind(opening, 0, place)
        if text[place] in closing and before >= 0 and opening != text[place]:
            return not any(mark in text[before + 1 : place] for mark in closing)
    return False


def _straight(text: str) -> Iterator[_Quotation]:
    """Pair straight marks by paragraph; an unpaired one extends to the paragraph's end."""
    is_odd = text.count('"') % 2 == 1
    places = [found.start() for found in re.finditer('"', text)]
    marks = deque(
        place for place in places if not (is_odd and text[max(0, place - 1) : place].isdigit())
    )
    limit = -1
    while marks:
        start = marks.popleft()
        limit = limit if start < limit else paragraph_end(text, start)
        if not marks and not text[start + 1 : start + 2].strip():
            return
        end = marks.popleft() + 1 if marks else limit
        yield _Quotation(start, end, _last_mark(text, '"', end, limit))


def _last_mark(text: str, closing: str, end: int, limit: int) -> int:
    """Find the last closing mark of the paragraph: an inner one could have been made to close."""
    return max(end, *(text.rfind(mark, end, max(end, limit)) + 1 for mark in closing))


def _single(text: str) -> Iterator[_Quotation]:
    for found in _SINGLE.finditer(text):
        yield _Quotation(*found.span(), found.end())


def _judged(text: str, quotation: _Quotation) -> Iterator[QuotedSpan]:
    """Yield a quotation, unless it is a name; to the last mark if it is introduced as speech."""
    start, end, last = quotation
    inner = text[start + 1 : end - 1].strip()
    before = text[max(0, start - 80) : start]
    is_speech = _INTRODUCED.search(before) is not None and not _OWN_READING.search(before)
    if not inner or (not is_speech and _is_name(inner)):
        return
    yield QuotedSpan(start, last if is_speech else end, "quoted text")


def _is_name(inner: str) -> bool:
    return (
        len(inner) <= MAX_NAME_CHARS
        and len(inner.split()) <= MAX_NAME_WORDS
        and not _PERSON.search(inner)
        and not re.search(r"[?？!！。\n]|(?<!\b\w)\.\s", inner)
    )


def own_words(text: str) -> str:
    r"""Return a message without others' text: quotations, pasted text, code, logs.

    Quotation marks around a name are kept ("I call it 'Atlas'"), and so are commands in backticks.
    The result is never longer than the text, and has no hidden characters.

    Example:
        >>> own_words("> the meeting is moved to Friday, do come\n\nFriday is fine with me.")
        '[quoted text, 41 characters]\n\nFriday is fine with me.'
    """
    text = _bounded(with_plain_lines(text))
    hidden = [QuotedSpan(*place, "hidden text") for place in hiding(text)]
    text = visible(_marked(text, hidden))
    while (shorter := _left_out(text)) != text:
        text = shorter
    return text


def _bounded(text: str) -> str:
    if len(text) <= MAX_CHARS:
        return text
    start = text.rfind("\n", 0, _KEPT_CHARS) + 1 or _KEPT_CHARS
    end = text.find("\n", len(text) - _KEPT_CHARS)
    return _marked(
        text, [QuotedSpan(start, end if end >= 0 else len(text) - _KEPT_CHARS, "pasted text")]
    )


def without_markers(text: str) -> str:
    """Take the markers out of own words.

    Example:
        >>> without_markers("[code, 40 characters] I wrote that").strip()
        'I wrote that'
    """
    return MARKER.sub(" ", text)


def _left_out(text: str) -> str:
    left = _OUT.sub(lambda found: TAKEN * len(found[0]), text)
    return _marked(text, [*find_blocks(left), *find_pasted(left), *find_quotations(left)])


def _marked(text: str, found: Iterable[QuotedSpan]) -> str:
    """Replace all found ranges by markers; existing markers are kept."""
    pieces: list[str] = []
    done = 0
    for span in _joined(text, found):
        pieces += text[done : span.start], _marker(span, text[span.start : span.end])
        done = span.end
    return "".join((*pieces, text[done:]))


def _joined(text: str, spans: Iterable[QuotedSpan]) -> list[QuotedSpan]:
    """Join spans that overlap or have only space between them; markers alone are no span."""
    joined: list[QuotedSpan] = []
    for span in sorted(_trimmed(text, spans)):
        last = joined[-1] if joined else None
        if last and not text[last.end : span.start].strip():
            joined[-1] = QuotedSpan(last.start, max(last.end, span.end), last.kind)
        else:
            joined.append(span)
    return [span for span in joined if without_markers(text[span.start : span.end]).strip()]


def _trimmed(text: str, spans: Iterable[QuotedSpan]) -> Iterable[QuotedSpan]:
    for span in spans:
        for start, end in stripped(text, span.start, span.end):
            yield QuotedSpan(start, end, span.kind)


def _marker(span: QuotedSpan, inner: str) -> str:
    """Return the longest marker that is not longer than the text it replaces."""
    withheld = sum(int(found[1] or 0) - len(found[0]) for found in MARKER.finditer(inner))
    for marker in (f"[{span.kind}, {len(inner) + withheld} characters]", f"[{span.kind}]", "[…]"):
        if len(marker) <= len(inner):
            return marker
    return ""
