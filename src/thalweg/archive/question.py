"""What a question asks: its telling words, what it quotes, and the shape of an answer to it."""

import re
from dataclasses import dataclass

from thalweg.archive.words import words

MAX_CHARS = 4_000
"""So much of a query is read."""
MAX_WORDS = 48
"""Words of a question that are looked up; a longer text is no question."""

_STOP_WORDS = frozenset(
    words(
        "a about after all also am an and any are as at be because been before being between both"
        " but by can could did do does doing done each either ever every for from get gets got had"
        " has have having he her here hers him his how i if in into is it its just kind let made"
        " make many may me might mine more most much must my no nor not of off on once one only or"
        " other our ours out over own please same say says said saying see she should so some such"
        " tell tells than that the their theirs them then there these they thing things this those"
        " through to too under until up upon us very was we were what when where whether which"
        " while who whom whose why will with within without would yes yet you your yours"
        " isn't don't didn't doesn't wasn't aren't can't"
    )
)
_WEAK_WORDS = frozenset(
    words(
        "answer ask begin belong bring call carry cause come contain describe did end example exact"
        " explain find first give go happen include initial keep know last late latest list long"
        " look mean mention name need number order part put quote recent refer report return say"
        " second see set show stand start state stay stop take talk think time try turn use value"
        " want way went word work write wrote"
    )
)
"""Words that shape a question and are in many an answer by chance: they count a little."""
_STOP_PAIRS = frozenset(
    pair
    for phrase in (
        *("什么", "哪里", "哪个", "哪些", "哪一", "多少", "怎么", "怎样", "如何", "为何", "为什么"),
        *(
            "是否",
            "是不是",
            "有没有",
            "吗",
            "呢",
            "的",
            "了",
            "我们",
            "你们",
            "他们",
            "她们",
            "这个",
        ),
        *("那个", "这些", "那些", "一个", "曾经", "记得", "告诉", "请问", "以及", "还有", "因为"),
        *("所以", "可以", "何", "どこ", "どれ", "です", "ます", "した", "する", "こと"),
    )
    for pair in words(phrase)
)


@dataclass(frozen=True, slots=True)
class _Shape:
    """A kind of answer."""

    asks: str
    """What a question with such an answer says; case does not matter."""
    looks: str
    """What such an answer looks like."""


_SHAPES = {
    "number": _Shape(
        r"\bhow (?:many|much)\b|\bnumbers?\b|\bcount\b|\btotal\b|多少|几个|几次|数量",
        r"\d",
    ),
    "duration": _Shape(
        r"\bhow long\b|\bduration\b|\bseconds?\b|\bminutes?\b|多久|多长时间",
        r"\d\s?(?:ms|s|sec|seconds?|m|min|minutes?|h|hours?|days?|weeks?|months?|years?)\b"
        r"|[天年月周秒时分]",
    ),
    "size": _Shape(
        r"\bhow (?:large|big)\b|\bsizes?\b|\bbytes\b|多大",
        r"\d\s?(?:[kmgt]i?b|bytes)\b|\d{3}",
    ),
    "id": _Shape(
        r"\bids?\b|_id\b|(?-i:[a-z]Id\b)|\bhash(?:es)?\b|\bsha\b|\bcommit\b|\buuid\b|\btoken\b",
        r"\b(?=[0-9a-f-]*\d)[0-9a-f]{6,}(?:-[0-9a-f]{4,})*\b|\b[A-Z]+-\d+\b|#\d+",
    ),
    "path": _Shape(
        r"\bpaths?\b|\bfolders?\b|\bdirector(?:y|ies)\b|\bdocuments?\b|\bfiles?\b|\btemplate\b"
        r"|\bwhere\b|文件|路径|目录",
        r"[\w~.]/|/\w|\w\.[a-z]{1,5}\b",
    ),
    "line": _Shape(r"\blines?\b|行", r":\d+\b|\blines? \d+|\d+-\d+|\(\d+,\d+\)"),
    "version": _Shape(r"\bversions?\b|\breleases?\b|版本", r"\d+\.\d+"),
    "address": _Shape(
        r"\burls?\b|\blinks?\b|\baddress\b|\bhost\b|\bport\b|\bproxy\b|\bwebsite\b|网址|链接",
        r"https?://|\w\.[a-z]{2,}\b|:\d{2,5}\b",
    ),
    "name": _Shape(
        r"\bfunctions?\b|\bhelpers?\b|\bmethods?\b|\bclass(?:es)?\b|\binterfaces?\b|\btests?\b"
        r"|\bvariables?\b|\bfields?\b|\blabels?\b|\bflags?\b|\boptions?\b|\btypes?\b|\bactions?\b"
        r"|\bname\b|函数|方法|变量",
        r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|\w\(\)|--\w",
    ),
    "date": _Shape(
        r"^\W*(?:since |until )?when\b|\bwhat time\b|\bdates?\b|\bday\b|\bmonth\b|\byear\b"
        r"|什么时候|哪天|何时|日期",
        r"\b(?:19|20)\d\d\b|\d{1,2}[:/.]\d\d|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
        r"|\b(?:january|february|march|april|june|july|august|september|october|november|december)"
        r"\b|\b(?:yesterday|today|tomorrow|tonight|ago|last|next)\b|[年月日周]",
    ),
}
_ASKS = {name: re.compile(shape.asks, re.IGNORECASE) for name, shape in _SHAPES.items()}
_LOOKS = {
    name: re.compile(shape.looks, re.IGNORECASE if name != "name" else 0)
    for name, shape in _SHAPES.items()
}
_SPEAKERS = {
    "user": re.compile(r"\buser(?:'s)?\b|用户", re.IGNORECASE),
    "assistant": re.compile(r"\bassistant(?:'s)?\b|\byou\b|助手", re.IGNORECASE),
    "tool": re.compile(r"\btool\b|\boutput\b|\breport(?:ed)?\b|\bcommand\b", re.IGNORECASE),
}
_BEGINNING = re.compile(
    r"\bfirst\b|\binitial(?:ly)?\b|\bat the (?:start|beginning)\b|\boriginal(?:ly)?\b"
    r"|最初|一开始|首先",
    re.IGNORECASE,
)
_NEWEST = re.compile(
    r"\blast\b|\blatest\b|\bmost recent(?:ly)?\b|\bfinal(?:ly)?\b|\bcurrent(?:ly)?\b"
    r"|最后|最新|最近",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"(?<!\w)['\"`\u2018“「『](.{3,120}?)['\"`\u2019”」』](?!\w)")
WEAK = 0.3


@dataclass(frozen=True, slots=True)
class Question:
    """A query, read."""

    words: tuple[str, ...]
    """Words that tell something, folded, each once."""
    phrases: tuple[str, ...] = ()
    """What stands in quotation marks, in small letters."""
    shapes: tuple[str, ...] = ()
    """What an answer would look like, as `looks_like` knows it."""
    speakers: tuple[str, ...] = ()
    """Roles that the question names."""
    end: int = 0
    """Which end of the thread it asks about: -1 the beginning, 1 the newest, 0 it does not say."""

    def importance(self, word: str) -> float:
        """Tell how much a word says beside its rarity, from 0 to 1."""
        return WEAK if word in _WEAK_WORDS or word in self.speakers else 1.0


def ask(query: str) -> Question:
    """Read a query. One that is all filler is taken at its word.

    Example:
        >>> question = ask("How many deletions did the user's 'fix typo' commit report?")
        >>> question.words
        ('deletion', 'user', 'fix', 'typo', 'commit', 'report')
        >>> question.phrases, question.shapes, question.speakers
        (('fix typo',), ('number', 'id'), ('user', 'tool'))
    """
    query = query[:MAX_CHARS]
    found = list(dict.fromkeys(words(query)))
    telling = [word for word in found if word not in _STOP_WORDS and word not in _STOP_PAIRS]
    return Question(
        words=tuple((telling or found)[:MAX_WORDS]),
        phrases=tuple(phrase.lower() for phrase in _QUOTED.findall(query)),
        shapes=tuple(name for name, asks in _ASKS.items() if asks.search(query)),
        speakers=tuple(role for role, names in _SPEAKERS.items() if names.search(query)),
        end=bool(_NEWEST.search(query)) - bool(_BEGINNING.search(query)),
    )


def looks_like(text: str, shape: str) -> bool:
    """Say whether something in a text has the shape of an answer.

    Example:
        >>> looks_like("ok  4.081s", "duration"), looks_like("all passed", "duration")
        (True, False)
    """
    return _LOOKS[shape].search(text) is not None
