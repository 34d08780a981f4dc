"""Text of a message that its form marks as not its author's own: code, data, logs, mails, markup.

A quotation inside of a sentence and a table are not: they are told as they are in the message.
No word of any language decides: only marks, brackets, line forms, and the names of roles and of
mail headers that protocols define.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

TAKEN = "\ue000"
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


def paragraph_end(text: str, start: int) -> int:
    """Find the end of the paragraph that a place is in."""
    end = text.find("\n\n", start)
    return len(text) if end < 0 else end


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
        *_whole(text),
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
    r"|<\|[^|<>\n]{1,40}\|>|</?s>|<<\s*/?\s*SYS\s*>>|\[\s*/?\s*(?:INST|SYSTEM|SYS|USER|ASSISTANT)"
    r"[^\]\n]{0,40}\]|\[\[[^\]\n]{0,60}\]\]"
    rf"|^[ \t]*#{{1,6}}[ \t]*{_ROLE}\b[^\n]*$"
    r"|^[ \t]*[-=*_#~]{2,}[ \t]*(?:begin|end|start|stop|system|user|assistant|memory|new)\b[^\n]*$"
    r"|^[ \t]*(?:BEGIN|END|START|STOP|SYSTEM|MEMORY|NEW)[A-Z :_-]*[-=*_#~]{0,}[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_CAPITALS = re.compile(r"^[ \t]*(?:BEGIN|END|START|STOP|SYSTEM|MEMORY|NEW)", re.IGNORECASE)
_ELEMENT = re.compile(r"<([A-Za-z][\w:-]*)(?:\s[^<>]*)?>")
_CLOSING = re.compile(r"</([A-Za-z][\w:-]*)")
_COMMENT = re.compile(r"<!--[\s\S]*?(?:-->|$(?![\s\S]))|^\[//\]: #.*$", re.MULTILINE)
_IMAGE = re.compile(r"!\[[^\]\n]{0,500}\]\([^)\n]{0,2000}\)")


def _tags(text: str) -> Iterator[QuotedSpan]:
    """Yield elements with their content; from a turn's delimiter on yield everything."""
    for found in _DELIMITER.finditer(text):
        if _CAPITALS.match(found[0]) and found[0] != found[0].upper():
            continue
        yield QuotedSpan(found.start(), len(text), "quoted text")
        break
    closed = {found[1]: found.start() for found in _CLOSING.finditer(text)}
    done = 0
    for found in _ELEMENT.finditer(text):
        close = closed.get(found[1], -1)
        if found.start() >= done and close > found.start():
            done = (text.find(">", close) + 1) or len(text)
            yield QuotedSpan(found.start(), done, "quoted text")
    for form in (_COMMENT, _IMAGE):
        for found in form.finditer(text):
            yield QuotedSpan(found.start(), found.end(), "quoted text")


_DATA = re.compile(r"[\[{]\s*(?:[\"'{\[]|\w+[\"']?\s*:\s*[\"'{\[\d])")
_BRACKETS = re.compile(r"[\[\]{}]")
_BLOB = re.compile(r"(?<![^\s(\"'=,])(?:data:[^\s]{40,}|[A-Za-z0-9+/=_-]{100,})")


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
    for found in _BLOB.finditer(text):
        yield QuotedSpan(found.start(), found.end(), "code")


def _closing(text: str, start: int) -> int:
    depth = 0
    for found in _BRACKETS.finditer(text, start):
        depth += 1 if found[0] in "[{" else -1
        if depth == 0:
            return found.end()
    return len(text)


_STAMP = (
    r"\[?\(?(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{2,4}|[A-Z][a-z]{2} +\d\d?)?"
    r",?[ T]*\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z| ?[AP]M)?\)?\]?"
)
_HEADER = re.compile(
    r"[ \t*]*(?:From|To|Cc|Bcc|Sent|Date|Subject|Reply-To)[ \t*]*[:：][ \t*]*\S", re.IGNORECASE
)
"""Fields of a mail, as RFC 5322 names them."""
_RUNS: tuple[tuple[re.Pattern[str], int, Kind], ...] = (
    (_HEADER, 2, "quoted text"),
    (re.compile(r"[ \t]*[>＞](?![=>]\s)"), 1, "quoted text"),
    (re.compile(rf"[ \t]*+{_STAMP}[ ,\-–—:\]]+\S"), 2, "quoted text"),
    (re.compile(rf"[ \t]*+\[{_STAMP[3:]}[ ,\-–—:\]]+\S"), 1, "quoted text"),
    (re.compile(r"\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|TRACE|FATAL|CRITICAL)\b\]?[: ]"), 1, "code"),
    (re.compile(r"(?:\s+at .+[:(]|\s+File \".+\", line \d+|Traceback \(most recent)"), 1, "code"),
    (re.compile(r"(?:diff --git |@@ -|\+\+\+ |--- [ab]/|index [0-9a-f]{7})"), 1, "code"),
    (re.compile(r"(?:\.\.\. |#!/)"), 1, "code"),
    (re.compile(r"(?:export )?[A-Za-z_][\w.]*=\S*$"), 2, "code"),
    (re.compile(r"[^(\n]*\([^)\n]*\)[^\n]*;[ \t]*$"), 1, "code"),
    (re.compile(r"[A-Za-z_.]+(?:Error|Exception)\b.*:"), 1, "code"),
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
            if len(run) >= least:
                yield QuotedSpan(run[0][0], len(text) if form is _HEADER else run[-1][1], kind)
            run = []


def _runs_on(text: str, last: tuple[int, int], start: int, end: int) -> bool:
    """Return whether a line continues a quoted one after a wrap: it starts in lower case."""
    is_quote = text[last[0] : last[1]].lstrip().startswith((">", "＞"))
    return is_quote and text[start : start + 1].islower() and end > start


_RULE = re.compile(
    r"^[ \t]*(?:[-=*_#~—]{3,}|[-=*#~]{2,}[^\n]{1,80}?[-=*#~]{2,})[ \t]*$", re.MULTILINE
)
_PROMPT = re.compile(r"^(?:\$ |>>> |PS [A-Z]:\\|[\w.-]+@[\w.-]+:[^\n$#]*[$#] )", re.MULTILINE)


def _ruled(text: str) -> Iterator[QuotedSpan]:
    """Yield text below a rule, and output of a terminal below its prompt."""
    if (rule := _RULE.search(text)) and text[rule.end() :].strip():
        yield QuotedSpan(rule.start(), len(text), "pasted text")
    for found in _PROMPT.finditer(text):
        yield QuotedSpan(found.start(), paragraph_end(text, found.start()), "code")


def _whole(text: str) -> Iterator[QuotedSpan]:
    """Take paragraphs that are indented as code is, under a line that is not."""
    for found in re.finditer(r"(?:^|\n)[ \t]*\n((?:(?: {4}|\t).*(?:\n|$))+)", text):
        if text[: found.start(1)].strip():
            yield QuotedSpan(found.start(1), found.end(1), "code")


_LABEL = re.compile(
    r"[ \t]*(?:[-*•][ \t]+)?[*_]{0,2}"  # a list's mark, bold
    r"([^\s:：\[\](){}<>\"'`*_/\\.,][^\n:：.!?。！？/\\,，]{0,28}?)[*_]{0,2}[:：](?!//)"
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
