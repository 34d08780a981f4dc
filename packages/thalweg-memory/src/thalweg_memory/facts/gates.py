"""The decision about a proposed fact, for any proposal of a model: by its origin, not its meaning.

A proposal whose quote stands in the user's own words is kept, told as these words until a model has
verified it (see `learning.lesson.verified`). One of another origin waits for the user's review.
Secrets, hidden characters, markup and commands are dropped, with the reason. A date without a day
is stored as the first or the last day that it may name.
"""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple, NoReturn

from thalweg.redaction.secrets import REDACTION, redact
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import (
    Category,
    Evidence,
    Proposal,
    Statement,
    Trust,
    day_in_words,
    local,
)

_SYMBOL = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf"
    "\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff#*0-9"
)
_JOINING = "\u0600-\u06ff\u0700-\u074f\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\u1820-\u18aa"
"""Scripts whose spelling needs joiners: Arabic, Syriac, those of India, Burmese, Khmer, Mongol."""
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f"
_SPELLING_CHARACTERS = (
    f"{_FLAG}"
    f"|(?:(?<=[{_SYMBOL}])|(?<=[{_SYMBOL}]\ufe0f))\u200d(?=[{_SYMBOL}])"
    f"|(?<=[{_JOINING}])[\u200c\u200d](?=[{_JOINING}])"
    f"|(?<=[{_SYMBOL}])[\ufe0e\ufe0f]"
    f"|(?<=[{_HAN}])[\U000e0100-\U000e01ef]"
)
"""Where characters without a shape are spelling: flags, joined emoji, Persian, Hindi, names."""
_SHAPELESS = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_HIDDEN = re.compile(f"({_SPELLING_CHARACTERS})|{_SHAPELESS}")
_BREAKS = re.compile("\r\n?|[\u0085\u2028\u2029]")


def visible(text: str) -> str:
    r"""Return a text without invisible characters: zero widths, direction marks, tags, controls.

    Joiners are kept where spelling needs them. Lines end in line feeds.

    Example:
        >>> visible("ig\u200bnore\u202e this\r\n")
        'ignore this\n'
    """
    return _HIDDEN.sub(lambda found: found[1] or "", _BREAKS.sub("\n", text))


def normalize_compatible(text: str) -> str:
    """Write a text as it is compared: compatible forms (`ＡＢ`, `𝐀𝐁`) are plain letters.

    Example:
        >>> normalize_compatible("ＡＢＣ 𝐝𝐞𝐟 ①")
        'ABC def 1'
    """
    return unicodedata.normalize("NFKC", visible(text))


_HARMLESS_CHARACTERS = frozenset("\u00ad\u061c\u200e\u200f\ufe0e\ufe0f\x7f")
_PRIVATE_USE = re.compile("[\ud800-\udfff\ue000-\uf8ff]")
_STATEMENT = re.compile(r"[^.!?\n。！？]*(?:[.!?\n。！？]+|$)")


def find_hidden_text(text: str) -> list[tuple[int, int]]:
    r"""Return the statements with hidden characters, which are not typed but from elsewhere.

    Soft hyphens, single direction marks and icons of a vendor are ignored.

    Example:
        >>> find_hidden_text("Hello. My bank\u200b is Fox. Bye.")
        [(6, 23)]
    """
    if not _HIDDEN.search(text):
        return []
    return [
        found.span()
        for found in _STATEMENT.finditer(text)
        if any(
            not (hidden[1] or hidden[0] in _HARMLESS_CHARACTERS or _PRIVATE_USE.match(hidden[0]))
            and not (hidden.start() == 0 and hidden[0] == "\ufeff")
            for hidden in _HIDDEN.finditer(text, *found.span())
        )
    ]


REMOVED_CHARACTER = "\ue000"
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


def stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a range without the space around it; nothing for a range of spaces.

    Example:
        >>> [*stripped("a b  c", 1, 5)], [*stripped("a b  c", 3, 5)]
        ([(2, 3)], [])
    """
    inner = text[start:end]
    if inner.strip():
        yield start + len(inner) - len(inner.lstrip()), start + len(inner.rstrip())


def find_others_text(text: str) -> list[QuotedSpan]:
    r"""Find text whose form marks it as not the speaker's own.

    Example:
        >>> find_others_text("see\n```\nx\n```")
        [QuotedSpan(start=4, end=13, kind='code')]
    """
    return [
        *_fences(text),
        *_tags(text),
        *_data(text),
        *_line_runs(text),
        *_ruled(text),
        *_transcripts(text),
    ]


_FENCE = re.compile(r"^[ \t>]*(?:```|~~~|\"\"\"|''').*$", re.MULTILINE)


def _fences(text: str) -> Iterator[QuotedSpan]:
    """Take everything from the first fence to the last, or to the end when one is open.

    Text between two blocks is taken as well: a pasted text could have closed the first.
    """
    marks = [mark for mark in _FENCE.finditer(text) if not _is_inline(mark[0])]
    if marks:
        end = marks[-1].end() if len(marks) % 2 == 0 else len(text)
        yield QuotedSpan(marks[0].start(), end, "code")


def _is_inline(line: str) -> bool:
    """Return whether the fence is closed on its own line, like inline code in a sentence."""
    return line.strip()[:3] in line.strip()[3:]


_ROLE = (
    r"(?:system|user|assistant|human|ai|bot|developer|tool|function|memory|memories|instructions?"
    r"|prompt|admin|im_start|im_end|inst|sys|facts?|untrusted|override|thinking"
    r"|(?:system|user|assistant|tool|memory|function)[_-]\w+)"
)
"""Names of roles in the markup of chat templates."""
_DELIMITER = re.compile(
    rf"</?\s*{_ROLE}(?:[\s_:-][^<>\n]{{0,80}})?>"
    r"|<\|[^|<>\n]{1,40}\|>|</?s>|<<\s*+(?:/\s*+)?SYS\s*>>"
    r"|\[\s*+(?:/\s*+)?(?:INST|SYSTEM|SYS|USER|ASSISTANT)"
    rf"[^\]\n]{{0,40}}\]|^[ \t]*#{{1,6}}[ \t]*{_ROLE}(?: {_ROLE})?[ \t]*(?:[:：][^\n]*)?$"
    r"|^[ \t]*(?:[-=~]{2,}|[*_]{3,})[ \t]*"
    r"(?:begin|end|start|stop|system|user|assistant|memory|new)\b[^\n]*$"
    r"|^[ \t#]*(?-i:(?:BEGIN|END|START|STOP|SYSTEM|MEMORY|NEW)[A-Z :_-]*)[-=*_#~]*[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_ELEMENT = re.compile(r"<([A-Za-z][\w:-]*)(?:\s[^<>]*)?>")
_CLOSING = re.compile(r"</([A-Za-z][\w:-]*)")
_COMMENT = re.compile(r"<!--[\s\S]*?(?:-->|$(?![\s\S]))|^\[//\]: #.*$", re.MULTILINE)


def _tags(text: str) -> Iterator[QuotedSpan]:
    """Yield elements with their content; from a turn's delimiter on yield everything."""
    if found := _DELIMITER.search(text):
        yield QuotedSpan(found.start(), len(text), "quoted text")
    closed = {found[1]: found.start() for found in _CLOSING.finditer(text)}
    done = 0
    for found in _ELEMENT.finditer(text):
        close = closed.get(found[1], -1)
        if found.start() >= done and close > found.start():
            done = (text.find(">", close) + 1) or len(text)
            yield QuotedSpan(found.start(), done, "quoted text")
    for found in _COMMENT.finditer(text):
        yield QuotedSpan(*found.span(), "quoted text")


_DATA = re.compile(r"[\[{]\s*(?:[\"'{\[]|\w+[\"']?\s*:\s*[\"'{\[\d])")
_BRACKETS = re.compile(r"[\[\]{}]")


SHORT_DATA = re.compile(
    r"\{\s*[\"']?\w{1,30}[\"']?\s*:\s*(?:[\"'][A-Za-z0-9_-]{0,30}[\"']|\d{1,12}|true|false|null)\s*\}"
)
"""An object of one field with a one-word value: too small to be a statement."""


def _data(text: str) -> Iterator[QuotedSpan]:
    """Take JSON and its like, to the bracket that closes it, or to the end."""
    done = 0
    for found in _DATA.finditer(text):
        if found.start() >= done:
            done = _closing(text, found.start())
            if SHORT_DATA.fullmatch(text, found.start(), done):
                continue
            if re.search(r"[\"'\w]\s*:", text[found.start() : done]) or done == len(text):
                yield QuotedSpan(found.start(), done, "quoted text")


def _closing(text: str, start: int) -> int:
    depth = 0
    for found in _BRACKETS.finditer(text, start):
        depth += 1 if found[0] in "[{" else -1
        if depth == 0:
            return found.end()
    return len(text)


_TIME = (
    r"\(?(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{2,4}|[A-Z][a-z]{2} +\d\d?)?"
    r",?[ T]*\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z| ?[AP]M)?\)?\]?"
)
_TIME_OF_SECOND = _TIME.replace(r"(?::\d\d)?", r":\d\d")
_HEADER = re.compile(
    r"[ \t*]*(?:From|To|Cc|Bcc|Sent|Date|Subject|Reply-To)[ \t*]*[:：][ \t*]*\S", re.IGNORECASE
)
"""Fields of a mail, as RFC 5322 names them."""
_AMOUNT = re.compile(r"[ \t]*>[ \t]*[$€£¥]?\d+(?:[.,]\d+)*(?![\d.)\]/-]|:\d)")
"""The start of a comparison such as `> 50 kg`; list numbers, dates and times do not match."""
_RUNS: tuple[tuple[re.Pattern[str], int, Kind], ...] = (
    (_HEADER, 2, "quoted text"),
    (re.compile(r"[ \t]*[>＞](?!=\s)"), 1, "quoted text"),
    (re.compile(rf"[ \t]*+{_TIME}[ ,\-–—]+(?:<|[^\n:：]{{1,30}}[:：]\s)"), 2, "quoted text"),
    (re.compile(rf"[ \t]*+{_TIME_OF_SECOND}[ ,\-–—:]+\S"), 2, "quoted text"),
    (re.compile(rf"[ \t]*+\[{_TIME}[ ,\-–—:\]]+\S"), 1, "quoted text"),
    (re.compile(r"[^(\n]*\w\([^)\n]*\)[^\n]*;[ \t]*$"), 1, "code"),
)
"""Forms of lines, how many of them in a row are taken for one, and for what."""


def _line_runs(text: str) -> Iterator[QuotedSpan]:
    """Take runs of lines of one form, each from the first to the last; a mail to the end."""
    for form, least, kind in _RUNS:
        run: list[tuple[int, int]] = []
        for start, end in (*lines(text), (-1, -1)):
            inside = start >= 0 and (
                form.match(text, start, end) is not None
                or (bool(run) and kind == "quoted text" and _runs_on(text, run[-1], start, end))
            )
            if inside:
                run.append((start, end))
                continue
            if len(run) >= least and not _are_amounts(text, run):
                yield QuotedSpan(run[0][0], len(text) if form is _HEADER else run[-1][1], kind)
            run = []


def _are_amounts(text: str, run: Sequence[tuple[int, int]]) -> bool:
    """Return whether all lines compare with a number.

    Below a colon they quote ("Bob wrote:"), and so does a line that goes on in the next one.
    """
    start = run[0][0]
    is_below_colon = text[max(start - 100, 0) : start].rstrip().endswith((":", "："))
    return not is_below_colon and all(_AMOUNT.match(text, *place) for place in run)


def _runs_on(text: str, last: tuple[int, int], start: int, end: int) -> bool:
    """Return whether a line continues a quoted one after a wrap: it starts in lower case."""
    is_quote = text[last[0] : last[1]].lstrip().startswith((">", "＞"))
    return is_quote and text[start : start + 1].islower() and end > start


_RULE = re.compile(
    r"^[ \t]*+(?:[-=*_#~—]{3,}+|[-=*#~]{2,}+[^\n]{1,80}?[-=*#~]{2,}+)[ \t]*$", re.MULTILINE
)


def _ruled(text: str) -> Iterator[QuotedSpan]:
    """Yield text below a rule."""
    if (rule := _RULE.search(text)) and text[rule.end() :].strip():
        yield QuotedSpan(rule.start(), len(text), "pasted text")


_LABEL = re.compile(
    r"[ \t]*(?:[-*•][ \t]+)?[*_]{0,2}"  # a list's mark, bold
    r"([^\s:：\[\](){}<>\"'`*_/\\.,][^\n:：.!?。！？/\\,，]{0,28}?)[*_]{0,2}[:：](?!//|(?<=\d.)\d)"
)
_ROLE_LABEL = re.compile(r"system|assistant|developer|prompt", re.IGNORECASE)


def _transcripts(text: str) -> Iterator[QuotedSpan]:
    """Yield speech in lines that begin with a speaker's label, to the message's end.

    A label is one if it is there twice, or if it is the role of a chat template: then the labels
    before it are as well.
    """
    seen: dict[str, int] = {}
    for start, end in lines(text):
        if (label := _LABEL.match(text, start, end)) is None:
            continue
        name = label[1].strip().casefold()
        if name in seen or _ROLE_LABEL.fullmatch(name):
            first = seen[name] if name in seen else min((start, *seen.values()))
            yield QuotedSpan(first, len(text), "quoted text")
            return
        seen[name] = start


MARKER = re.compile(
    r"\[(?:quoted text|pasted text|code|hidden text)(?:, (\d+) characters)?\]|\[…\]"
)
"""The replacement of removed text."""
_MARKER_OR_REDACTION = re.compile(f"{MARKER.pattern}|{REDACTION.pattern}")
MAX_CHARS = 20_000
"""Of a longer text only the beginning and the end are read: one message is never typed so long."""
_END_CHARS = 9_900
"""Characters at each end; with the marker between them they are fewer than `MAX_CHARS`."""


def own_words(text: str) -> str:
    r"""Return a message without others' text: quotations, pasted text, code, logs.

    Quotation marks around a name are kept ("I call it 'Atlas'"), and so are commands in backticks.
    The result is never longer than the text, and has no hidden characters.

    Example:
        >>> own_words("> the meeting is moved to Friday, do come\n\nFriday is fine with me.")
        '[quoted text, 41 characters]\n\nFriday is fine with me.'
    """
    text = _bounded(_BREAKS.sub("\n", text))
    hidden = [QuotedSpan(*place, "hidden text") for place in find_hidden_text(text)]
    text = visible(_marked(text, hidden))
    while (shorter := _remove_quoted_text(text)) != text:
        text = shorter
    return text


def _bounded(text: str) -> str:
    if len(text) <= MAX_CHARS:
        return text
    start = text.rfind("\n", 0, _END_CHARS) + 1 or _END_CHARS
    end = text.find("\n", len(text) - _END_CHARS)
    return _marked(
        text, [QuotedSpan(start, end if end >= 0 else len(text) - _END_CHARS, "pasted text")]
    )


def without_markers(text: str) -> str:
    """Take the markers out of own words.

    Example:
        >>> without_markers("[code, 40 characters] I wrote that").strip()
        'I wrote that'
    """
    return MARKER.sub(" ", text)


def _remove_quoted_text(text: str) -> str:
    left = _MARKER_OR_REDACTION.sub(lambda found: REMOVED_CHARACTER * len(found[0]), text)
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
def storable(text: str) -> str:
    r"""Return the part of a turn's text to store and show: own words, redacted, nothing hidden.

    Example:
        >>> storable("my password is hunter2\u200b")
        '[hidden text]'
    """
    return visible(redact(own_words(text)))


MAX_FACT_CHARS = 400
"""Longest content of a fact."""
ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,15}://\S+|\bwww\.\S+|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w.@/-])(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|app|ai|co|cn|de|fr|es|jp|ru|uk|eu|us"
    r"|info|xyz|me|example|test|invalid|local|internal|top|site|online|shop|biz|tk|ml|link"
    r"|click)(?![\w-])(?:[/:]\S*)?|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b",
    re.IGNORECASE,
)
"""URLs, e-mail addresses, hosts."""
_DANGEROUS_COMMAND = re.compile(
    r"(?:curl|wget)\s+\S|\|\s*(?:ba|z|da)?sh\b|\brm\s+-[rf]{1,2}\b|--no-verify|--force\b.*\bpush"
    r"|\bpush\b.*--force|chmod\s+(?:-R\s+)?7|\bsudo\s+\S|base64\s+-d|\beval\s*[($]|powershell\s+-"
    r"|Invoke-WebRequest|nc\s+-e",
    re.IGNORECASE,
)
"""Commands that no memory should bring to mind."""
MARKUP = re.compile(
    r"</?\s*(?:system|user|assistant|memory|human|tool|instructions?|prompt)\b|<\|[^|]{1,30}\|>"
    r"|\[/?INST\]|<<SYS>>|^\W*(?:system|assistant|user|human)\s*:",
    re.IGNORECASE,
)


class ValidationRefusedError(Exception):
    """A validator refused, for a reason that continues "it"; it becomes a `Verdict`."""


def refuse(why: str) -> NoReturn:
    """Raise a refusal, with the reason as a phrase that continues "it"."""
    raise ValidationRefusedError(why)


def clean_content(content: str, *, is_manual: bool = False, most: int = MAX_FACT_CHARS) -> str:
    """Return a content in its stored form, or refuse it for its own form.

    Args:
        content: The content.
        is_manual: Whether a person typed it: then any wording is allowed, and only invisible
            characters, excessive length, and missing content are refused.
        most: Its longest length in characters.
    """
    if find_hidden_text(content):
        refuse("has hidden characters")
    content = redact(" ".join(visible(content).split()))
    if len(content) > most:
        refuse(f"is {len(content)} characters long, and {most} are the most")
    if not re.search(r"\w", REDACTION.sub(" ", content)):
        refuse("has no content")
    if not is_manual:
        plain = normalize_compatible(content)
        if REDACTION.search(content):
            refuse("has a secret")
        if MARKER.search(plain) or MARKUP.search(plain):
            refuse("has the marks of a message's frame in it")
        if _DANGEROUS_COMMAND.search(plain):
            refuse("holds a command that does harm when it is run")
    return content


def new_address(content: str, source: str) -> str:
    """Return an address in a content that a text does not have; empty for none.

    Example:
        >>> new_address("User's page is ada.example", "my page is ada.example!")
        ''
    """
    lowered = normalize_compatible(source).casefold()
    found = (match[0] for match in ADDRESS.finditer(normalize_compatible(content)))
    return next((one for one in found if one.casefold().rstrip(".,;)/") not in lowered), "")


_DAY = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?(?![\d-])")
LEAST_CONFIDENCE = 0.5
"""Below it a proposal is a guess, for any settings."""
Decision = Literal["keep", "quarantine", "drop"]
_ORIGIN_TEXT = {
    Trust.ASSISTANT: "an answer of the model, or another person's message",
    Trust.TOOL: "a tool's result, or an answer after one",
    Trust.WEB: "a web page",
}
_MAX_FIELD_CHARS = 80
_PLAIN_FORMS = str.maketrans(
    "’‘‛`´“”„‟«»「」『』–—‐‑‒−…", '\'\'\'\'\'""""""""""------.', "\ufe0e\ufe0f"
)


def first_day(text: str) -> str:
    """Return the first day of a date, a month or a year in ISO 8601; empty for anything else.

    Example:
        >>> first_day("2026-03"), first_day("2026"), first_day("soon")
        ('2026-03-01', '2026-01-01', '')
    """
    found = _DAY.match(text)
    if found is None:
        return ""
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1)).isoformat()
    except ValueError:
        return ""


def last_day(text: str) -> str:
    """Return the end of the last day of a date, a month or a year in ISO 8601.

    Example:
        >>> last_day("2026-02"), last_day("soon")
        ('2026-02-28T23:59:59Z', '')
    """
    found = _DAY.match(text)
    if found is None or not first_day(text):
        return ""
    year, month = int(found[1]), int(found[2] or 12)
    day = int(found[3] or monthrange(year, month)[1])
    return f"{date(year, month, day).isoformat()}T23:59:59Z"


def find_quote(quote: str, text: str) -> Iterator[tuple[int, int]]:
    r"""Yield the start and the end of each occurrence of a quote as whole words.

    Case, spaces, line feeds, widths, kinds of quotation marks and dashes, and whether accents are
    characters of their own do not matter. A combining mark belongs to its letter.

    Example:
        >>> [*find_quote("i'm  vegan", "Well, I’m\nvegan. I'm vegangelist")]
        [(6, 15)]
    """
    target = "".join(letter for letter, *_ in _letters(quote)).strip()
    letters = [*_letters(text)]
    plain = "".join(letter for letter, *_ in letters)
    start = plain.find(target) if target else -1
    while start >= 0:
        end = start + len(target)
        if not (_splits(plain, start) or _splits(plain, end)):
            yield letters[start][1], letters[end - 1][2]
        start = plain.find(target, start + 1)


def plain_form(text: str) -> str:
    """Return a text without case and variants of letters, quotation marks and dashes.

    Example:
        >>> plain_form("ADA’s Ｎotes")
        "ada's notes"
    """
    return unicodedata.normalize("NFKC", text).casefold().translate(_PLAIN_FORMS)


def _letters(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each letter in its form for comparison, with its range; a run of spaces is one."""
    starts = [place for place, letter in enumerate(text) if place == 0 or not _is_mark(letter)]
    space = True
    for start, end in pairwise([*starts, len(text)]):
        cluster = text[start:end]
        if not cluster.isspace():
            for plain in plain_form(cluster):
                yield plain, start, end
        elif not space:
            yield " ", start, end
        space = cluster.isspace()


def _is_mark(letter: str) -> bool:
    """Return whether a character belongs to the one before it: accents, vowels of a syllable."""
    return unicodedata.category(letter)[0] == "M" or "\u1160" <= letter <= "\u11ff"  # Hangul


def _splits(text: str, place: int) -> bool:
    """Return whether a place is inside a letter, or inside a word of a script with spaces."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    return _is_mark(after) or (_is_spaced(before) and _is_spaced(after))


UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\u3040-\ud7af\uf900-\U0010ffff]"
)
"""Scripts without spaces between words: those of East Asia, and of class SA in Unicode's UAX 14,
such as Thai, Burmese and Khmer. Hangul, too: particles follow a noun without a space."""


def _is_spaced(letter: str) -> bool:
    return (letter.isalnum() or _is_mark(letter)) and not UNSPACED.match(letter)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a proposal."""

    decision: Decision
    """`keep`: an active fact. `quarantine`: one that waits for `review`. `drop`: none."""
    why: str
    """The reason, for `review` and `explain`: a phrase that continues "it"."""
    proposal: Proposal
    """The proposal in storable form: redacted, fields that cannot be stored emptied.

    Unchanged if it is dropped.
    """
    evidence: tuple[Evidence, ...] = ()
    trust: Trust = Trust.WEB
    """Of the fact; never above that of its evidence."""
    words: str = ""
    """The user's own words that it rests on, as they are told; empty if there are none."""

    @property
    def kept(self) -> bool:
        """Whether it becomes a fact that is recalled."""
        return self.decision == "keep"


def judge(
    proposal: Proposal,
    turns: Sequence[Statement],
    *,
    settings: MemorySettings | None = None,
    cited: Collection[str] = (),
) -> Verdict:
    """Return the verdict on a proposal.

    Args:
        proposal: The proposal of the model; nothing in it is trusted.
        turns: Turns of its thread, oldest first: the one it cites, and those around it.
        settings: The threshold of confidence.
        cited: Turns that facts rest on, by `Statement.uid`: they are told by these facts, and are
            not told again before the words of the next message.

    Example:
        >>> said = Statement("t", 0, "user", "I live in Porto.", "", Trust.USER, uid="m1")
        >>> fact = Proposal("User lives in Porto", "context", 0.9, "m1", "I live in Porto.")
        >>> judge(fact, [said]).decision
        'keep'
        >>> judge(replace(fact, quote="in Rome"), [said]).why
        'quotes words that are in no message'
    """
    cleaned = proposal
    try:
        least = least_confidence(settings or MemorySettings())
        if not least <= proposal.confidence <= 1:
            refuse(f"has a confidence of {proposal.confidence:g}, not between {least:g} and 1")
        cleaned = replace(proposal, content=clean_content(proposal.content))
        turn = next((turn for turn in turns if turn.uid == proposal.uid), None)
        if turn is None:
            refuse("cites a turn that is not there")
        if find_hidden_text(proposal.quote):
            refuse("quotes hidden characters")
    except ValidationRefusedError as refused:
        return Verdict("drop", str(refused), proposal)
    trust = min(turn.trust, Trust.ASSISTANT) if turn.role == "assistant" else turn.trust
    own, sought = storable(turn.text), redact(visible(proposal.quote))
    start, end = next(find_quote(sought, own), (0, 0))
    problem = ""
    if not without_markers(own[start:end]).strip():
        pasted = any(find_quote(sought, visible(turn.text)))
        problem = f"quotes {'pasted text' if pasted else 'words that are in no message'}"
        trust, end = Trust.WEB, start
    elif trust < Trust.IMPORT:
        problem = f"was learned from {_ORIGIN_TEXT[trust]}, not from the user"
    else:
        said = " ".join(storable(one.text) for one in turns if one.trust == Trust.USER)
        if address := new_address(cleaned.content, said):
            problem, trust = f"has {address!r}, which is in no message of the user's", Trust.WEB
    evidence = Evidence(turn.thread, turn.uid, own[start:end], turn.said_at, trust, turn.position)
    stored = _storable_proposal(cleaned, evidence.quote)
    if problem:
        return Verdict("quarantine", problem, stored, (evidence,), trust)
    words = _quotation(turn, own, start, end, _previous_start(turn, turns, cited))
    return Verdict("keep", "is in the user's own words", stored, (evidence,), trust, words)


_LEAD_CHARS = 80
"""Characters of the beginning of a message that precede a quotation from it."""
_QUOTATION_CHARS = 300
"""Characters of a quotation."""
_QUOTES = str.maketrans(dict.fromkeys('"“”„‟«»「」『』', "'"))


def _quotation(turn: Statement, own: str, start: int, end: int, before: str) -> str:
    """Quote the sentences of a message that hold a quote, after the beginning of the message."""
    held = [f.span() for f in _STATEMENT.finditer(own) if f.start() < end and start < f.end()]
    first, last = held[0][0], held[-1][1]
    lead = _shortened(own[:first], _LEAD_CHARS)
    day = day_in_words(local(turn.said_at, turn.zone)).rpartition(" ")[0]
    text = f"{lead} {_shortened(own[first:last], _QUOTATION_CHARS)}".strip().translate(_QUOTES)
    about = f' (after "{before}")' if before else ""
    return f'User\'s words{f" of {day}" if day else ""}: "{text}"{about}'


def _previous_start(turn: Statement, turns: Sequence[Statement], cited: Collection[str]) -> str:
    """Return the beginning of the user's message before one, unless a fact rests on it."""
    earlier = [
        one
        for one in turns
        if one.thread == turn.thread and one.seq < turn.seq and one.trust == Trust.USER
    ]
    last = max(earlier, key=lambda one: one.seq, default=None)
    return "" if last is None or last.uid in cited else message_start(storable(last.text))


def message_start(text: str) -> str:
    """Return the beginning of a message as it is quoted before the next one."""
    return _shortened(text, _LEAD_CHARS).translate(_QUOTES)


def _shortened(text: str, most: int) -> str:
    """Return the beginning of a text, cut after a word, in one line."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return f"{text[:most].rpartition(' ')[0] or text[:most]} […]"


def least_confidence(settings: MemorySettings) -> float:
    """Return the confidence below which a proposal is refused."""
    return max(LEAST_CONFIDENCE, settings.fact_confidence_threshold)


def _field(text: str) -> str:
    text = " ".join(text.split())
    if len(text) > 2 * _MAX_FIELD_CHARS or find_hidden_text(text):
        return ""  # a redaction may be shorter than its secret
    plain = redact(visible(text))
    return plain if len(plain) <= _MAX_FIELD_CHARS and not MARKUP.search(plain) else ""


def _storable_proposal(proposal: Proposal, quote: str) -> Proposal:
    """Empty the fields that cannot be stored: hidden letters, markup, and invalid dates."""
    language = proposal.language if re.fullmatch(r"[a-z]{2,3}", proposal.language) else ""
    return replace(
        proposal,
        quote=quote,
        language=language,
        subject=_field(proposal.subject),
        attribute=_field(proposal.attribute),
        value=_field(proposal.value),
        valid_from=first_day(proposal.valid_from),
        valid_to=last_day(proposal.valid_to),
    )


def judge_statement(
    content: str,
    turns: Sequence[Statement] = (),
    *,
    author: Literal["user", "agent"] = "user",
    lowest_trust: Trust = Trust.USER,
    category: Category = "context",
    quote: str = "",
) -> Verdict:
    """Return the verdict on a fact that is to be stored directly.

    Args:
        content: The fact.
        turns: The turns of the run, for an agent's fact.
        author: A user's fact is kept in any wording; an agent's is kept as the user's own
            words, if it quotes them, or, where the run had read nothing else, as the newest ones.
        lowest_trust: The lowest trust of all content that the run had read before.
        category: The fact's category.
        quote: The user's words that an agent's fact rests on.

    Example:
        >>> judge_statement("I live in Porto").decision
        'keep'
        >>> judge_statement("User banks at Fox", author="agent", lowest_trust=Trust.TOOL).decision
        'quarantine'
    """
    proposal = Proposal(content, category, 1.0, "", quote)
    try:
        proposal = replace(proposal, content=clean_content(content, is_manual=author == "user"))
    except ValidationRefusedError as refused:
        return Verdict("drop", str(refused), proposal)
    if author == "user":
        return Verdict("keep", "was stated by the user", proposal, (), Trust.USER)
    own = [turn for turn in reversed(turns) if turn.role == "user" and turn.trust == Trust.USER]
    for turn in own if quote else own[:1] if lowest_trust >= Trust.ASSISTANT else ():
        cited = replace(proposal, uid=turn.uid, quote=quote or without_markers(storable(turn.text)))
        verdict = judge(cited, turns)
        if verdict.kept:
            return verdict
    why = "was written by the agent, without the user's own words that it rests on"
    return Verdict("quarantine", why, proposal, (), min(lowest_trust, Trust.ASSISTANT))
