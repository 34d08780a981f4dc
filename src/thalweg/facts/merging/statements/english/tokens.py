"""The words of English statements, folded, with numbers and times spelt one way."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from thalweg.facts.merging.statements.claims import USER
from thalweg.facts.merging.statements.tables.english_words import (
    PHRASE,
    PHRASES,
    WEAK,
    class_of,
    lemma,
    stems,
)
from thalweg.facts.merging.statements.tables.kinds import KINDS

_CONTRACTIONS = (
    (re.compile(r"\b(can)'?not\b|\bcan't\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\bshan't\b"), "shall not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ve\b"), " have"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"\b(i|he|she|we|they|you)'d\b"), r"\1 would"),
    (re.compile(r"\b(it|that|he|she|what|there|here|who|where)'s\b"), r"\1 is"),
)
_NUMBER_WORDS = {
    word: str(number)
    for number, words in {
        0: "zero", 1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven",
        8: "eight", 9: "nine", 10: "ten", 11: "eleven", 12: "twelve", 13: "thirteen",
        14: "fourteen", 15: "fifteen", 16: "sixteen", 17: "seventeen", 18: "eighteen",
        19: "nineteen", 20: "twenty", 30: "thirty", 40: "forty", 50: "fifty", 60: "sixty",
        70: "seventy", 80: "eighty", 90: "ninety", 100: "hundred",
    }.items()
    for word in words.split()
}  # fmt: skip
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b(?!\s+(?:of|day)\b)")
_TENS = re.compile(
    r"\b(twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[- ]"
    r"(one|two|three|four|five|six|seven|eight|nine)\b"
)
_ORDINALS = {
    word: f"{number}th"
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1
    )
}
_ORDINAL = re.compile(rf"\b(?:{'|'.join(_ORDINALS)})\b")
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def _date(year: str | None, month: str, day: str | None) -> str:
    number = month if month.isdigit() else str(_MONTHS.index(month[:3]) + 1)
    parts = [year or "", number.zfill(2), (day or "").zfill(2) if day else ""]
    return f" @{'-'.join(part for part in parts if part)} "


def _clock(hour: str, minute: str | None, half: str | None) -> str:
    number = int(hour) % 12 + (12 if half == "p" else 0) if half else int(hour)
    return f"{number:02d}:{minute or '00'}"


def _amount(text: str, scale: str | None) -> str:
    number = float(text.replace(",", ""))
    number *= {"k": 1e3, "m": 1e6, "b": 1e9}.get((scale or "")[:1].lower(), 1)
    return str(int(number)) if number == int(number) else str(number)


_SPELLINGS = (
    (
        re.compile(r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b(?!-?\d)"),
        lambda m: _date(m[1], m[2], m[3]),
    ),
    (
        re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b\.?(?:,?\s+(\d{{4}})\b)?"),
        lambda m: _date(m[3], m[2], m[1]),
    ),
    (
        re.compile(rf"\b{_MONTH}\b\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)(?:,?\s+(\d{{4}})\b)?"),
        lambda m: _date(m[3], m[1], m[2]),
    ),
    (re.compile(rf"\b{_MONTH}\s+(\d{{4}})\b"), lambda m: _date(m[2], m[1], None)),
    (
        re.compile(
            r"\b(in|by|of|to|since|until|during|from|last|next|this|mid|late|early)\s+"
            rf"{_MONTH}\b(?! \d)"
        ),
        lambda m: f"{m[1]} {_date(None, m[2], None)}",
    ),
    (
        re.compile(r"\b(\d{1,2})(?::(\d\d))?\s?([ap])\.?\s?m\b\.?"),
        lambda m: _clock(m[1], m[2], m[3]),
    ),
    (re.compile(r"\b(\d{1,2}):(\d\d)\b(?!:)"), lambda m: _clock(m[1], m[2], None)),
    (re.compile(r"\b(\d{1,2}) o'?clock\b"), lambda m: _clock(m[1], None, None)),
    (
        re.compile(
            r"(?<=\bat )(\d{1,2})(?= (?:every|each|on|sharp|daily|in the morning)\b|\s*[.,;]|\s*$)"
        ),
        lambda m: _clock(m[1], None, None),
    ),
    (
        re.compile(
            r"\bevery (?:other|2th) (?=(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b)"
            r"|\b(?:once )?(?:(?:a|per|every|each) fortnight|every (?:other|2th) week"
            r"|every 2 weeks)\b"
        ),
        lambda _: "fortnightly ",
    ),
    (re.compile(r"\bnoon\b|\bmidday\b"), lambda _: "12:00"),
    (re.compile(r"\bmidnight\b"), lambda _: "00:00"),
    (
        re.compile(r"[$\u20ac\u00a3]\s?(\d[\d,]{0,15}(?:\.\d{1,9})?)\s?(k|m|b|million|billion)?\b"),
        lambda m: f"{_amount(m[1], m[2])} "
        + {"$": "dollars", "\u20ac": "euros", "\u00a3": "pounds"}[m[0][0]],
    ),
    (
        re.compile(r"(?<![\w.-])(\d[\d,]{0,15}(?:\.\d{1,9})?)\s?(k|thousand|million|billion)\b"),
        lambda m: _amount(m[1], m[2].replace("thousand", "k")),
    ),
    (re.compile(r"(?<![\w.-])(\d{1,3}(?:,\d{3})+)\b"), lambda m: m[1].replace(",", "")),
    (re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s?(?:%|per ?cent\b)"), lambda m: f"{m[1]} percent"),
    (re.compile(r"(?<![\w.])(\d+)(st|nd|rd|th)\b"), lambda m: f"{m[1]}th"),
    (
        re.compile(r"(?<![\w.-])(\d+(?:\.\d+)?)(kg|km|cm|mb|gb|tb|ms|s|h|min|lbs?|g|mm|mi|px|people)\b"),
        lambda m: f"{m[1]} {m[2]}",
    ),
    (re.compile(r"\bv(?:ersion\s+)?(\d+(?:\.\d+)+)\b"), lambda m: m[1]),
    (
        re.compile(r"\b(\d+)-(year|month|week|day|person|hour|minute)s?(?:-old)?\b"),
        lambda m: f"{m[1]} {m[2]}",
    ),
)  # fmt: skip
_PIECE = re.compile(
    r"https?://\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|@[\d-]+|[~/]?[\w$][\w./+#&:\\-]*[\w+#]|[\w$]+|'s\b|[,;.:!?()\u2014]"
)
_FORMER = re.compile(r"(?<!\bam )(?<!\bis )(?<!\bare )(?<!\bget )(?<!\bgot )\bused to (?=[a-z])")
_TITLE = re.compile(r"\b(?:mr|mrs|ms|dr|prof)\. (?=\w)")
_PARTICIPLE_ADJECTIVES = frozenset(
    "boring interesting amazing exciting missing pending willing outstanding engineering marketing "
    "building morning evening meeting king thing something nothing anything everything string ring "
    "spring during wedding pudding ceiling clothing dressing dining parking flying hiking cycling "
    "swimming running reading cooking".split()
)
_PRONOUNS = {
    "i": "user", "me": "user", "myself": "user", "my": "user 's", "mine": "user 's",
    "we": "team", "us": "team", "our": "team 's", "ours": "team 's", "user's": "user 's",
}  # fmt: skip
_ARTICLES = frozenset(("the", "this", "that", "these", "those"))


_ON_OFF = {"on": "enabled", "off": "disabled"}
_FREE = re.compile(
    r"\b(?:(?:is|am|are) on a|follows? a|keeps? to a|has a|have a|eats?(?: only)?|(?:is|am|are))"
    r" (\w+)-free(?: diet| food)?\b"
)
_SWITCHED = re.compile(
    r"\b(?:is|are|was|be|been)(?: now)?( turned| switched)? (on|off)\b"
    r"(?=\s*(?:for|in|by|now|again|[.,;]|$))"
)
_ACCENT = re.compile(r"(?<=[A-Za-z])[\u0300-\u036f]+")
_GO = re.compile(r"(?<=[a-z,] )Go\b(?! to\b)")
"""The language; at the start of a sentence it is a verb."""


def spelt(content: str) -> str:
    """Write a statement in lower case, with numbers, days and times of day spelt one way."""
    text = unicodedata.normalize("NFKC", content).replace("\u2019", "'").replace("\u2014", " , ")
    text = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))
    text = _GO.sub("golang", text).strip().lower()
    for pattern, form in _CONTRACTIONS:
        text = pattern.sub(form, text)
    text = re.sub(r"\bthese days\b", "nowadays", text)
    text = _FORMER.sub("formerly ", _TITLE.sub("", text))
    text = _TENS.sub(lambda m: str(int(_NUMBER_WORDS[m[1]]) + int(_NUMBER_WORDS[m[2]])), text)
    text = _NUMBER_WORD.sub(lambda m: _NUMBER_WORDS[m[0]], text)
    text = _ORDINAL.sub(lambda m: _ORDINALS[m[0]], text)
    text = _SWITCHED.sub(lambda m: f"is{' now' if m[1] else ''} {_ON_OFF[m[2]]}", text)
    text = _FREE.sub(r"does not eat \1", text)
    for spelling, spell in _SPELLINGS:
        text = spelling.sub(spell, text)
    return text


def tokens(content: str) -> list[str]:
    """List the folded words of a statement in order, with `,` and `.` where it pauses.

    The user is `user`, however he is called; articles are left out, `a` is kept.

    Example:
        >>> " ".join(tokens("I'm working at Google now."))
        'user work at googl now .'
    """
    return list(_tokens(content))


@lru_cache(maxsize=1 << 12)
def _tokens(content: str) -> tuple[str, ...]:
    found: list[str] = []
    raw = _PIECE.findall(spelt(content))
    for i, word in enumerate(raw):
        if word in _ARTICLES:
            continue
        if word in {";", ":", "!", "?", "."}:
            found.append(".")
        elif word in {",", "(", ")"}:
            found.append(",")
        elif word in _PRONOUNS:
            found += _PRONOUNS[word].split()
        elif word == "an":
            found.append("a")
        else:
            if _is_progressive(word) and found and found[-1] == "be" and i:
                found.pop()
            if found and found[-1] == "hav" and _is_participle(word):
                found.pop()
            found.append(lemma(word))
    text = " ".join(found)
    if re.search(r"(?:^|[.,] )user\b", text):
        text = re.sub(r"\b(?:his|her|their|hi)\b", "user 's", text)
    text = re.sub(r"\b(?:user|team) 's team\b", "team", text)
    text = PHRASE.sub(lambda m: PHRASES[m[0]], text)
    return tuple(map(class_of, text.split()))


def telling(words: Iterable[str]) -> frozenset[str]:
    """Keep the words that tell something."""
    return frozenset(telling_in_order(words))


def telling_in_order(words: Iterable[str]) -> tuple[str, ...]:
    """Keep the words that tell something, in their order."""
    return tuple(word for word in words if word not in WEAK and word not in _MARKS)


_PLAIN = stems("project service app application system")
"""Words that a name may be given or not: the project Atlas is Atlas."""


def subject_words(words: str) -> str:
    """Give the key of a subject in folded words: those that tell, in any order."""
    found = sorted(telling(words.split()))
    found = [word for word in found if word not in _PLAIN] or found
    return " ".join(found) or (USER if USER in words.split() or not words else words)


_MARKS = frozenset((".", ",", "'s"))


def _is_progressive(word: str) -> bool:
    return word.endswith("ing") and len(word) > 4 and word not in _PARTICIPLE_ADJECTIVES  # noqa: PLR2004


_PARTICIPLES = frozenset(
    "been had done gone got gotten bought driven spoken eaten drunk written run swum taught "
    "thought slept woken left quit begun grown become met paid sold spent built kept held chosen "
    "taken given made come known led ridden worn found lost seen felt told said".split()
)


def _is_participle(word: str) -> bool:
    return word in _PARTICIPLES or (word.endswith("ed") and len(word) > 4)  # noqa: PLR2004


def _members() -> dict[str, str]:
    """Map what has a kind, folded as statements are, to the kind."""
    found: dict[str, str] = {}
    for kind, members in KINDS.items():
        for name in filter(str.isascii, members):
            found.setdefault(" ".join(t for t in tokens(name) if t not in {".", ","}), kind)
    return found


KIND_OF = _members()
"""The kind of a thing by its folded name. What is of two kinds has the first."""
KIND = re.compile(
    r"(?<!\S)(?:" + "|".join(map(re.escape, sorted(KIND_OF, key=len, reverse=True))) + r")(?!\S)"
)
