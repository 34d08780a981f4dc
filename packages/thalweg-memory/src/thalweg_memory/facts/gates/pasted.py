"""Pasted text without a mark of its own: what comes after "summarize this:" and its like."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from thalweg_memory.facts.gates.stretches import TAKEN, QuotedSpan, lines, paragraph_end
from thalweg_memory.facts.patterns import read_patterns


def find_pasted(text: str) -> list[QuotedSpan]:
    """Return the parts of a message from other authors: passed on, forwarded or reported.

    Example:
        >>> find_pasted("Summarize this: the moon is made of cheese.")
        [QuotedSpan(start=15, end=43, kind='pasted text')]
    """
    return [*_text_after_task(text), *_text_before_task(text), *_set_off(text),
            *_letters(text), *_transcripts(text), *_reported(text)]  # fmt: skip


_WORDS = read_patterns(__package__, "pasted")
_STRONG = _WORDS["strong"]
"""Actions that are only ever done to a text that is present."""
_WEAK = _WORDS["weak"]
_THIS = _WORDS["this"]
_TASK = re.compile(rf"(?:\b|(?<=[^\W\d_]))(?:{_STRONG})", re.IGNORECASE)
_WEAK_TASK = re.compile(
    rf"(?:(?:{_WEAK})[^\n:：]{{0,60}}?(?:{_THIS}))|(?:(?:{_THIS})[^\n:：]{{0,40}}?(?:{_WEAK}))",
    re.IGNORECASE,
)
_ONE_LINE = 240
"""Longest rest of a line that follows a task's full stop and is still taken for the user's."""


def _text_after_task(text: str) -> Iterator[QuotedSpan]:
    """Yield the text after a task about it: all of it, in any form."""
    stops = [stop.span() for stop in _STOP.finditer(text)]
    for form in (_TASK, _WEAK_TASK):
        for found in form.finditer(text):
            if (start := _after_task(text, found.end(), stops)) is None:
                continue
            end = _end_of_report(text, start)
            yield QuotedSpan(start, end, "pasted text")
            if end == len(text) and start <= found.end():
                break  # what later tasks hand over is in it


_COLON = re.compile(r"[^\n:：.。!?！？;；]{0,120}[:：](?!//|\d)")
_STOP = re.compile(r"[.!?。！？]\s+|[。！？]")


def _after_task(text: str, place: int, stops: Sequence[tuple[int, int]]) -> int | None:
    """Return the beginning of the text that a task is about; `None` if none seems to follow."""
    if colon := _COLON.match(text, place):
        return colon.end()
    line_end = text.find("\n", place)
    line_end = len(text) if line_end < 0 else line_end
    if text[line_end:].strip():
        return line_end
    at = bisect_left(stops, (place, 0))
    start = stops[at][1] if at < len(stops) else line_end
    return start if line_end - start > _ONE_LINE else None


_ANNOUNCED = re.compile(r"[:：][ \t]*\n\s*(?=\S)")
_ITEM = re.compile(r"[-*•][ \t]|\d{1,2}[.)）、][ \t]*")


def _set_off(text: str) -> Iterator[QuotedSpan]:
    """Yield the text below a line that ends in a colon, for any wording of that line.

    A list is the speaker's own, and so is text after a remark: `Some context:`.
    """
    done = 0
    for found in _ANNOUNCED.finditer(text):
        line = text.rfind("\n", 0, found.start()) + 1
        if line < done:  # the line began in the match before
            continue
        words = _last_words(text[line : found.start()])
        if not words:
            continue
        done = found.end()
        if not _ITEM.match(text, done) and not _REMARK.fullmatch(words.strip()):
            yield QuotedSpan(done, _end_of_report(text, done), "pasted text")


def _last_words(line: str) -> str:
    """Return the text after the last full stop, exclamation or question mark."""
    return line[max(line.rfind(mark) for mark in ".!?。！？") + 1 :]


_POLITE = _WORDS["polite"]
_LAST_TASK = re.compile(
    rf"^[\s,，]*(?:{_POLITE}[\s,，]*)*(?:{_STRONG}"
    rf"|(?:{_WEAK})[^\n]{{0,30}}?(?:{_THIS}))[^\n]{{0,160}}$"
    r"|^[^\n]{0,80}\b(?:above|the text above)\b[^\n]{0,80}$|^[^\n]{0,40}(?:上面|以上)[^\n]{0,40}$"
    r"|^[\s,]*(?:what does (?:this|that|it) (?:say|mean)|(?:any )?thoughts\b|tl;?dr\b)[^\n]{0,60}$",
    re.IGNORECASE,
)


def _text_before_task(text: str) -> Iterator[QuotedSpan]:
    """Yield the text before a last line that requests a task about it."""
    body = text.rstrip()
    start = body.rfind("\n") + 1
    if start and _LAST_TASK.match(body[start:]):
        yield QuotedSpan(0, start, "pasted text")


_NAME = r"([^\s:：\[\](){}<>\"'`*_/\\.,][^\n:：.!?。！？/\\,，]{0,28}?)"
_LABEL = re.compile(
    r"[ \t]*(?:[-*•][ \t]+)?[*_]{0,2}"  # a list's mark, bold
    rf"{_NAME}"
    r"[*_]{0,2}[:：](?!//)[*_]{0,2}[ \t]*(?=\S|$)"
)
_REMARK = re.compile(_WORDS["remark"], re.IGNORECASE)
_FIRST = re.compile(_WORDS["first"], re.IGNORECASE)


_ROLE = re.compile("system|assistant|developer|prompt|系统|助手")


_GREETING = re.compile(_WORDS["greeting"], re.IGNORECASE | re.MULTILINE)
_SIGNED = re.compile(_WORDS["signed"], re.IGNORECASE | re.MULTILINE)


def _letters(text: str) -> Iterator[QuotedSpan]:
    """Yield a letter from its greeting to the end."""
    greeting, signed = _GREETING.search(text), _SIGNED.search(text)
    if signed and signed[0] == "-- ":
        yield QuotedSpan(0, len(text), "pasted text")
    elif greeting and signed and greeting.start() < signed.start():
        yield QuotedSpan(greeting.start(), len(text), "pasted text")


def _transcripts(text: str) -> Iterator[QuotedSpan]:
    """Yield others' speech in lines that begin with a speaker's name, to the message's end."""
    seen: dict[str, int] = {}
    for start, end in lines(text):
        label = _LABEL.match(text, start, end)
        if label is None or _REMARK.fullmatch(label[1].strip()):
            continue
        name = label[1].strip().casefold()
        if name in seen or _is_speech(text, label):
            yield QuotedSpan(min(start, seen.get(name, start)), len(text), "quoted text")
            return
        seen[name] = start


def _is_speech(text: str, label: re.Match[str]) -> bool:
    """Return whether another person's words follow a label; quotations are found separately."""
    name = label[1].strip()
    if _ROLE.fullmatch(name.casefold()):
        return True
    if TAKEN in name or _SET_OFF.match(text, label.end()):
        return False
    return _FIRST.search(text, label.end(), label.endpos) is not None and _is_name(name)


_SET_OFF = re.compile(rf"[{TAKEN}\"“„«»「]")
_MAX_NAME_WORDS = 3


def _is_name(label: str) -> bool:
    """Return whether a label may be somebody's name: a few words, none of them in small letters."""
    words = label.split()
    return len(words) <= _MAX_NAME_WORDS and not any(word[0].islower() for word in words)


_SOURCE = _WORDS["source"]
_SPEECH_VERBS = _WORDS["said"]
_COLON_NEAR = r"(?=[^\n:：.!?。！？]{0,240}[:：])"
"""Looked for before the words of an introduction, which take longer; it is never that long."""
_SOURCE_INTRO = re.compile(
    rf"(?:^|(?<=[\n.!?。！？])){_COLON_NEAR}([^\n:：.!?。！？]{{0,140}}?(?:{_SOURCE})[^\n:：.!?。！？]{{0,60}})[:：](?!//|\d)",
    re.IGNORECASE,
)
_SPEECH_INTRO = re.compile(
    rf"(?:^|(?<=[\n.!?。！？,，;；])){_COLON_NEAR}([^\n:：.!?。！？]{{0,100}}?(?:{_SPEECH_VERBS})[^\n:：.!?。！？]{{0,40}})[:：](?!//|\d)",
    re.IGNORECASE,
)
_THIS_INTRO = re.compile(_WORDS["this_intro"], re.IGNORECASE)
"""What introduces somebody's text without a colon."""
_OWN_SOURCE = re.compile(_WORDS["own_source"], re.IGNORECASE)


def _reported(text: str) -> Iterator[QuotedSpan]:
    """Yield text introduced by a source or a person, after a colon or on the lines after it."""
    for found in _SOURCE_INTRO.finditer(text):
        if not _OWN_SOURCE.search(found[1]):
            yield QuotedSpan(found.end(), _end_of_report(text, found.end()), "pasted text")
    for found in _THIS_INTRO.finditer(text):
        yield QuotedSpan(found.end(), _end_of_report(text, found.end()), "pasted text")
    for found in _SPEECH_INTRO.finditer(text):
        if not _OWN_SOURCE.search(found[1]):
            start = found.end()
            same_line = text[start : start + 2].strip(" ") != "\n"
            limit = paragraph_end(text, start) if same_line else len(text)
            end = min(limit, _end_of_report(text, start))
            yield QuotedSpan(start, end, "pasted text")


_MARKED = re.compile(rf"\s*+((?:[ \t]*+[>＞][^\n]*(?:\n|$))+|{TAKEN}+)")


_QUOTED = re.compile(
    r"\s*+(?:\"[^\"]*\"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|»[^«]*«|「[^」]*」|'[^']*'(?!\w))"
)


def _end_of_report(text: str, start: int) -> int:
    """Return the end of a report: after the lines, or the marks, that quote it, or none.

    The last mark in the text counts: the report's author could have inserted earlier ones.
    """
    if marked := _MARKED.match(text, start):
        return marked.end()
    if quoted := _QUOTED.match(text, start):
        return max(quoted.end(), text.rfind(quoted[0][-1]) + 1)
    return len(text)
