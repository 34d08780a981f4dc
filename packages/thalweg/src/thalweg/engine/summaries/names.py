"""The identifiers of a line, and whether a source contains them.

An identifier is what cannot be paraphrased: a number of two digits or more, a path, a URL, a
hash, a version, an id, a name in code. No rule here depends on the language of the text.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_NUMBER = re.compile(r"(?<![\dA-Za-z_.])[vV]?(\d+(?:[.,_'\u2019 \u00a0\u202f]\d+)*)")
"""A run of digits with separators, not within a name: a name is searched for whole."""
_SEPARATOR = re.compile(r"[.,_'\u2019 \u00a0\u202f]")
_SPACE = re.compile(r"[ \u00a0\u202f]")
_GROUPED = re.compile(r"\d{1,3}(?:([.,_'\u2019 \u00a0\u202f])\d{3})(?:\1\d{3})*")
"""Digits in groups of three, as `1,233`, `1.233` and `1 233`."""
_DECIMAL = re.compile(r"(.*\d)[.,](\d+)", re.DOTALL)
_LETTERS = "A-Za-z0-9_À-ɏ"
"""Other scripts often have no spaces, so that a name would go on in the words after it."""
_TOKEN = re.compile(
    rf"https?://[^\s\"'<>`,()。」]+|[{_LETTERS}.+-]+@[{_LETTERS}-]+(?:\.[{_LETTERS}-]+)+"
    rf"|[~#@./\\{_LETTERS}][{_LETTERS}./\\:@+~#-]*"
)
_ATOM = re.compile(rf"[{_LETTERS}]+")
_LEAST_DIGITS = 2


@dataclass(frozen=True, slots=True)
class Names:
    """The identifiers of a source, indexed."""

    text: str
    folded: str
    atoms: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Names":
        """Index the texts of a source."""
        text = _normalized("\n".join(texts))
        folded = text.casefold() if len(text.casefold()) == len(text) else text.lower()
        numbers = frozenset(
            value
            for digits in _NUMBER.findall(text)
            for value in (*_values(digits), *_separate_numbers(digits))
        )
        return cls(text, folded, frozenset(_ATOM.findall(folded)), numbers)

    def has(self, name: str) -> bool:
        """Return whether a name occurs, not as a part of a longer one."""
        folded = name.casefold()
        if not self.atoms.issuperset(_ATOM.findall(folded)):
            return False
        is_hex = _HEX.fullmatch(folded) is not None
        text, target = (self.folded, folded) if is_hex else (self.text, name)
        return _occurs(target, text)

    def has_number(self, digits: str) -> bool:
        """Return whether a number occurs, whatever separates its digits, or each of several."""
        parts = _separate_numbers(digits)
        return not self.numbers.isdisjoint(_values(digits)) or (
            bool(parts) and all(len(n) < _LEAST_DIGITS or n in self.numbers for n in parts)
        )


def _normalized(text: str) -> str:
    """Return a text in Unicode's compatibility form, with the digits of every script as ASCII."""
    text = unicodedata.normalize("NFKC", text)
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)


def _values(digits: str) -> Iterator[str]:
    """Yield the values that digits with separators may have as one number.

    Example:
        >>> sorted(_values("1.233")), sorted(_values("1 233")), sorted(_values("3,20"))
        (['1.233', '1233'], ['1233'], ['3.2'])
    """
    if digits.isdigit():
        yield _plain(digits)
    if _GROUPED.fullmatch(digits):
        yield _plain(_SEPARATOR.sub("", digits))
    if decimal := _DECIMAL.fullmatch(digits):
        whole, fraction = _plain(_SEPARATOR.sub("", decimal[1])), decimal[2].rstrip("0")
        yield f"{whole}.{fraction}" if fraction else whole


def _separate_numbers(digits: str) -> list[str]:
    """Return the numbers of a list such as `12, 15`; none of digits that are one number."""
    if _SPACE.search(digits) is None and ("," not in digits or _GROUPED.fullmatch(digits)):
        return []
    return [_plain(part) for part in _SEPARATOR.split(digits)]


def _plain(digits: str) -> str:
    return digits.lstrip("0") or "0"


def _occurs(name: str, text: str) -> bool:
    offset = text.find(name)
    while offset >= 0:
        end = offset + len(name)
        if not (_is_inner(text, offset) or _is_inner(text, end)):
            return True
        offset = text.find(name, offset + 1)
    return False


def _is_inner(text: str, at: int) -> bool:
    """Return whether an index in a text lies within a word."""
    return 0 < at < len(text) and all(_ATOM.match(c) is not None for c in text[at - 1 : at + 1])


_HEX = re.compile(r"(?=[0-9a-f-]*\d)[0-9a-f]{7,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLACE = re.compile(r"(?P<path>.+?):(?P<lines>L?\d+(?:[-:,]L?\d+)*)")
_ONE_AMOUNT = r"\d[\d,_]*(?:\.\d+)?(?:[^\W\d_]{1,3}|%)?"
_AMOUNT = re.compile(rf"[~<>=+-]*v?{_ONE_AMOUNT}(?:[-/:x+~\u2013]{_ONE_AMOUNT})*")
"""Numbers that are checked separately: `12/15`, `10-20ms`, `1920x1080`. A version is not."""
_CODE = re.compile(
    r".*[_@\\].*|.*\d.*|[~./]+[\w-].*|.*/.*/.*|.*/.*\.\w+|.+\.(?:[a-z]{1,4}|json|yaml|toml|html|lock)"
    r"|#\d+|(?:[A-Z][a-z0-9]+){3,}|[a-z]+(?:[A-Z][a-z0-9]+){2,}"
)
_PROSE = re.compile(
    r"e\.g|i\.e|a\.k\.a|u\.s|[ap]\.m|and/or|w/o|n/a|\d+(?:st|nd|rd|th)|\d-[a-z]+(?:-[a-z]+)*",
    re.IGNORECASE,
)
"""Matches what looks like a name and is prose."""


def missing_names(line: str, source: Names) -> Iterator[str]:
    """Yield the identifiers of a line that the source does not contain.

    Example:
        >>> seen = Names.of(["ran 1,204 tests in src/app.py: 3.2 s"])
        >>> list(missing_names("1204 tests of app.py in 3.3 s", seen))
        ['3.3']
    """
    line = _normalized(line)
    for match in _TOKEN.finditer(line):
        token = _trimmed(match[0])
        is_prefix = line[match.end() : match.end() + 1] in {"*", "…"}
        if _is_name(token) and not _has_name(token, source, is_prefix=is_prefix):
            yield token
    for digits in _NUMBER.findall(_without_names(line)):
        is_short = len(_SEPARATOR.sub("", digits)) < _LEAST_DIGITS
        if not is_short and not source.has_number(digits):
            yield digits


def _trimmed(token: str) -> str:
    return token.rstrip(".,:;/\\-+~").removeprefix("@")


def _is_name(token: str) -> bool:
    """Return whether a token is searched for whole, not as a word or an amount."""
    is_prose = _PROSE.fullmatch(token) or _AMOUNT.fullmatch(token)
    return _CODE.fullmatch(token) is not None and not is_prose


def _has_name(token: str, source: Names, *, is_prefix: bool) -> bool:
    if is_prefix:
        return token in source.text
    if source.has(token):
        return True
    if place := _PLACE.fullmatch(token):
        has_lines = all(map(source.has_number, re.findall(r"\d+", place["lines"])))
        return has_lines and _has_name(place["path"], source, is_prefix=False)
    if token[:1] in {"v", "V"} and source.has(token[1:]):
        return True
    if token.startswith("#"):
        return source.has_number(token[1:])
    parts = token.split("/")
    is_word_list = len(parts) > 1 and all(map(str.isalpha, parts))
    return is_word_list and source.atoms.issuperset(map(str.casefold, parts))


def _without_names(line: str) -> str:
    """Replace the tokens that are searched for whole by blanks."""

    def blank(match: re.Match[str]) -> str:
        return " " if _is_name(_trimmed(match[0])) else match[0]

    return _TOKEN.sub(blank, line)
