"""The speaker's own words of a message: text that its form marks as others' becomes a marker.

The author of a page, a mail or a file that a user pastes controls its text and its end: so a
fence that is not closed, a transcript and a mail extend to the end of the message.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from thalweg.redaction.secrets import REDACTION, redact
from thalweg_memory.facts.gates.form import TAKEN, QuotedSpan, find_others_text, stripped
from thalweg_memory.facts.gates.letters import hiding, visible, with_plain_lines

MARKER = re.compile(
    r"\[(?:quoted text|pasted text|code|hidden text)(?:, (\d+) characters)?\]|\[…\]"
)
"""The replacement of removed text."""
_OUT = re.compile(f"{MARKER.pattern}|{REDACTION.pattern}")
MAX_CHARS = 20_000
"""Of a longer text only the beginning and the end are read: one message is never typed so long."""
_KEPT_CHARS = 9_900
"""Characters at each end; with the marker between them they are fewer than `MAX_CHARS`."""


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
    return _marked(text, find_others_text(left))


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


@lru_cache(maxsize=64)
def shown(text: str) -> str:
    r"""Return the part of a turn's text to store and show: own words, redacted, nothing hidden.

    Example:
        >>> shown("my password is hunter2\u200b")
        '[hidden text]'
    """
    return visible(redact(own_words(text)))
