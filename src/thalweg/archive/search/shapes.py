"""The shapes of an answer: a query asks for a duration, a passage contains one.

The index has a word for each shape that few passages have. It finds an answer that hardly shares a
word with its query: how long did it take, `ok  pkg  12.061s`.
"""

import re
from dataclasses import dataclass

_TIMES = "second|minute|hour|day|week|month|year"
_FEW = "a|an|one|two|three|four|five|six|seven|eight|nine|ten|few|several|half an"
_DAYS = "mon|tues|wednes|thurs|fri|satur|sun"
_MONTHS = "january|february|march|april|june|july|august|september|october|november|december"


@dataclass(frozen=True, slots=True)
class _Shape:
    """A kind of answer."""

    asks: str
    """Pattern of a query with such an answer; case is ignored."""
    looks: str
    """Pattern of such an answer; case is ignored."""
    telling: bool = True
    """Whether few passages have it: then the index has a word for it, which depends on the
    patterns."""


_SHAPES = {
    "number": _Shape(
        r"\bhow (?:many|much)\b|\bnumbers?\b|\bcount\b|\btotal\b|多少|几个|几次|数量",
        r"\d",
        telling=False,
    ),
    "duration": _Shape(
        r"\bhow long\b|\bhow much time\b|\bduration\b|\b(?:milli)?seconds?\b|\bminutes?\b"
        r"|\bhow many (?:ms|hours|days|weeks|months|years)\b|多久|多长时间",
        rf"\d\s?(?:ms|sec|min|s|m|h)\b|(?:\d|\b(?:{_FEW})) ?(?:{_TIMES})s?\b"
        r"|[\d一二两三四五六七八九十几半]\s?个?(?:[天年月周秒时分]|小时|星期)",
    ),
    "size": _Shape(
        r"\bhow (?:large|big)\b|\bsizes?\b|\bbytes\b|多大",
        r"\d\s?(?:[kmgt]i?b|bytes)\b|\bsize\W{1,3}\d",
    ),
    "id": _Shape(
        r"\bids?\b|_id\b|(?-i:[a-z]Id\b)|\bhash(?:es)?\b|\bsha\b|\bcommit\b|\buuid\b|\btoken\b",
        r"\b(?=[0-9a-f-]{0,40}\d)(?=[0-9-]{0,40}[a-f])[0-9a-f]{6,}(?:-[0-9a-f]{4,})*\b"
        r"|(?-i:\b[A-Z]{2,}-\d+\b)|#\d+",
    ),
    "path": _Shape(
        r"\bpaths?\b|\bfolders?\b|\bdirector(?:y|ies)\b|\bdocuments?\b|\bfiles?\b|\btemplate\b"
        r"|\bwhere\b|文件|路径|目录",
        r"[\w~.]/|/\w|\w\.[a-z]{1,5}\b",
        telling=False,
    ),
    "line": _Shape(r"\blines?\b|行", r":\d+\b|\blines? \d+|\d+-\d+|\(\d+,\d+\)", telling=False),
    "version": _Shape(r"\bversions?\b|\breleases?\b|版本", r"\bv?\d+\.\d+(?:\.\w+)*\b"),
    "address": _Shape(
        r"\burls?\b|\blinks?\b|\baddress\b|\bhost\b|\bport\b|\bproxy\b|\bwebsite\b|网址|链接",
        r"https?://|\blocalhost\b|\b\d+(?:\.\d+){3}\b|\w\.(?:com|org|net|io|dev)\b",
    ),
    "name": _Shape(
        r"\bfunctions?\b|\bhelpers?\b|\bmethods?\b|\bclass(?:es)?\b|\binterfaces?\b|\btests?\b"
        r"|\bvariables?\b|\bfields?\b|\blabels?\b|\bflags?\b|\boptions?\b|\btypes?\b|\bactions?\b"
        r"|\bname\b|函数|方法|变量",
        r"(?-i:[a-z0-9][A-Z])|[a-z0-9]_[a-z0-9]|\w\(\)|--\w",
        telling=False,
    ),
    "date": _Shape(
        r"^\W*(?:since |until )?when\b|\bwhat time\b|\bdates?\b|\bday\b|\bmonth\b|\byear\b"
        r"|什么时候|哪天|何时|日期",
        rf"\b(?:19|20)\d\d\b|\b\d{{1,2}}:\d\d\b|\b(?:{_DAYS})day\b|\b(?:{_MONTHS})\b"
        r"|\b(?:yesterday|today|tomorrow|tonight|ago|(?:last|next) (?:week|month|year))\b"
        r"|\d\s?[年月日]|[昨今明]天|[上下]周|星期",
    ),
    "share": _Shape(
        r"\bpercent(?:ages?)?\b|\b(?:what|which) (?:share|fraction|part)\b|\bcoverage\b|百分|比例",
        r"\d\s?%|\bpercent\b|百分之",
    ),
}
_ASKS = {name: re.compile(shape.asks, re.IGNORECASE) for name, shape in _SHAPES.items()}
_LOOKS = {name: re.compile(shape.looks, re.IGNORECASE) for name, shape in _SHAPES.items()}
SHAPE_WORDS = {name: f"{name}shape0" for name, shape in _SHAPES.items() if shape.telling}
"""Words of the index for shapes; the final digit prevents their stemming as English words."""
_STANDING = frozenset(SHAPE_WORDS.values())


def is_shape_word(word: str) -> bool:
    """Return whether a word of the index represents a shape."""
    return word in _STANDING


def shapes_asked(query: str) -> tuple[str, ...]:
    """Return the shapes that an answer to a query may have.

    Example:
        >>> shapes_asked("Which commit came last, and how long did it take?")
        ('duration', 'id')
    """
    return tuple(name for name, asks in _ASKS.items() if asks.search(query))


def looks_like(text: str, shape: str) -> bool:
    """Return whether something in a text has the shape of an answer.

    Example:
        >>> looks_like("ok  4.081s", "duration"), looks_like("all passed", "duration")
        (True, False)
    """
    return _LOOKS[shape].search(text) is not None


def shape_words(text: str) -> list[str]:
    """Return the words of the index for the shapes of a text.

    Example:
        >>> shape_words("ok  pkg  12.061s"), shape_words("all passed")
        (['durationshape0'], [])
    """
    return [word for name, word in SHAPE_WORDS.items() if looks_like(text, name)]
