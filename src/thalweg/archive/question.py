"""What a question asks: its telling words, what it quotes, and the shape of an answer to it."""

import re
from dataclasses import dataclass

from thalweg.archive.shapes import SHAPE_WORDS, is_shape_word, shapes_asked
from thalweg.words import words

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
"""How much a word says that only shapes a question."""
SHAPE = 0.75
"""How much the shape of an answer says."""


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

    @property
    def sought(self) -> tuple[str, ...]:
        """What is looked up: its words, then the index's word of each shape that has one."""
        return self.words + tuple(SHAPE_WORDS[name] for name in self.shapes if name in SHAPE_WORDS)

    def importance(self, word: str) -> float:
        """Tell how much a word says beside its rarity, from 0 to 1."""
        if is_shape_word(word):
            return SHAPE
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
        shapes=shapes_asked(query),
        speakers=tuple(role for role, names in _SPEAKERS.items() if names.search(query)),
        end=bool(_NEWEST.search(query)) - bool(_BEGINNING.search(query)),
    )
