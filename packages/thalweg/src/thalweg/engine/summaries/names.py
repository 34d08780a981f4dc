"""The identifiers of a line, and whether a source contains them.

An identifier is what cannot be paraphrased: a number of two digits or more, a path, a URL, a
hash, a version, an id, a name in code.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from thalweg.engine.data_files import by_word, read_table
from thalweg.engine.summaries.words import STOPWORDS

_NUMBER = re.compile(
    r"(?:(?<=\bv)|(?<![\dA-Za-wyz_.]))\d+(?:[,_\u202f']\d{3})*(?:\.\d+)?(?!\d|[A-Za-wyz]+\d)"
)
"""Excludes the digits within a name: those are searched for with the name."""
_UNITS = by_word(read_table(__package__, "units.toml").items())
_UNIT = re.compile(
    rf"[\s-]?({'|'.join(sorted(map(re.escape, _UNITS), key=len, reverse=True))})(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"https?://[^\s\"'<>`,。)」]+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|[~#@./\\A-Za-z0-9_À-ɏ][\w./\\:@+~#-]*",
)
_ATOM = re.compile(r"[A-Za-z0-9_À-ɏ]+")
_LEAST_DIGITS = 2


NEAR_CHARS = 60
"""Characters around a number in which its neighbouring words are searched for."""
NEAR_WORDS = 2
"""Words of a line that must occur near its number: a long source contains any small number."""
MAX_PLACES = 2_000
"""A number that occurs more often than this is not checked place by place."""
_PREFIX_CHARS = 4
"""Words are compared by their first characters, to ignore endings."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a number in a source, and its unit there."""

    start: int
    end: int
    unit: str


@dataclass(frozen=True, slots=True)
class Names:
    """The identifiers of a source, indexed."""

    text: str
    folded: str
    atoms: frozenset[str]
    prefixes: frozenset[str]
    numbers: dict[str, list[_Place]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Names":
        """Index the texts of a source."""
        text = unicodedata.normalize("NFKC", "\n".join(texts))
        numbers: dict[str, list[_Place]] = {}
        for number, place in _numbers(text):
            numbers.setdefault(number, []).append(place)
        folded = text.casefold() if len(text.casefold()) == len(text) else text.lower()
        atoms = frozenset(_ATOM.findall(folded))
        return cls(text, folded, atoms, frozenset(a[:_PREFIX_CHARS] for a in atoms), numbers)

    def has_number(self, number: str, unit: str = "", near: frozenset[str] = frozenset()) -> bool:
        """Return whether a number occurs with its unit or none, and near words of its line.

        Args:
            number: As `_plain_number` writes it.
            unit: The unit it has in the line; empty for none.
            near: Beginnings of words that may occur near it.
        """
        places = self.numbers.get(number, [])
        known = near & self.prefixes
        needed = min(NEAR_WORDS, (len(known) + 1) // 2)
        return len(places) > MAX_PLACES or any(
            (not unit or place.unit in {unit, ""}) and self._neighbours(place, known) >= needed
            for place in places
        )

    def _neighbours(self, place: _Place, words: frozenset[str]) -> int:
        start = max(0, place.start - NEAR_CHARS)
        around = self.folded[start : place.end + NEAR_CHARS]
        return sum(word in around for word in words)

    def has(self, name: str) -> bool:
        """Return whether a name occurs, not as a part of a longer one."""
        folded = name.casefold()
        if not self.atoms.issuperset(_ATOM.findall(folded)):
            return False
        is_hex = _HEX.fullmatch(folded) is not None
        text, target = (self.folded, folded) if is_hex else (self.text, name)
        return _occurs(target, text)


def _occurs(name: str, text: str) -> bool:
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not (_is_inner(text, at) or _is_inner(text, end)):
            return True
        at = text.find(name, at + 1)
    return False


def _is_inner(text: str, at: int) -> bool:
    """Return whether an index in a text lies within a word."""
    return 0 < at < len(text) and all(_ATOM.match(c) is not None for c in text[at - 1 : at + 1])


_HEX = re.compile(r"(?=[0-9a-f-]*\d)[0-9a-f]{7,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLACE = re.compile(r"(?P<path>.+?):(?P<lines>L?\d+(?:[-:,]L?\d+)*)")
_ONE_AMOUNT = r"\d[\d,_]*(?:\.\d+)?(?:[kKmMgGxX%]|ms|s|min|h|[kKMG]i?[bB])?"
_AMOUNT = re.compile(rf"[~<>=+-]*v?{_ONE_AMOUNT}(?:[-/:x+~\u2013]{_ONE_AMOUNT})*")
"""Numbers that may be checked separately: `12/15`, `10-20ms`, `1920x1080`. A version may not."""
_CODE = re.compile(
    r".*[_@\\].*|.*\d.*|[~./]+[\w-].*|.*/.*/.*|.*/.*\.\w+|.+\.(?:[a-z]{1,4}|json|yaml|toml|html|lock)"
    r"|#\d+|(?:[A-Z][a-z0-9]+){3,}|[a-z]+(?:[A-Z][a-z0-9]+){2,}"
)
_PROSE = re.compile(
    r"e\.g|i\.e|a\.k\.a|u\.s|[ap]\.m|and/or|w/o|n/a|\d+(?:st|nd|rd|th)|\d-[a-z]+(?:-[a-z]+)*",
    re.IGNORECASE,
)
"""Matches what looks like a name and is prose."""


def names_missing(line: str, source: Names) -> Iterator[str]:
    """Yield the identifiers of a line that the source does not contain.

    Example:
        >>> seen = Names.of(["ran 1,204 tests in src/app.py: 3.2 s"])
        >>> list(names_missing("1204 tests of app.py in 3.3 s", seen))
        ['3.3']
    """
    line = unicodedata.normalize("NFKC", line)
    for match in _TOKEN.finditer(line):
        token = _trimmed(match[0])
        is_prefix = line[match.end() : match.end() + 1] in {"*", "…"}
        if _is_name(token) and not _has_name(token, source, is_prefix=is_prefix):
            yield token
    bare = _without_names(line)
    lines = [match.span() for match in _LINES.finditer(bare)]
    for number, place in _numbers(bare):
        if len(number.replace(".", "")) < _LEAST_DIGITS:
            continue
        is_line = any(start <= place.start < end for start, end in lines)
        near = frozenset() if is_line else _near(line, number)
        if not source.has_number(number, place.unit, near):
            yield number


_LINES = re.compile(
    r"\b(?:lines?|rows?)\s*~?\d+(?:\s*(?:[-,\u2013]|to|and)\s*~?\d+)*", re.IGNORECASE
)
"""Line numbers: a source that lists a file has them far from the words of a summary."""
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]{3,}|\d{2,}")


def _near(line: str, number: str) -> frozenset[str]:
    """Return the beginnings of the words of a line, and its other numbers."""
    words = set(_WORD.findall(line.casefold())) - STOPWORDS
    return frozenset(word[:_PREFIX_CHARS] for word in words) - {number[:_PREFIX_CHARS]}


def _trimmed(token: str) -> str:
    return token.rstrip(".,:;/\\-+~").removeprefix("@")


def _is_name(token: str) -> bool:
    """Return whether a token is searched for whole, not as a word or an amount."""
    prose = _PROSE.fullmatch(token) or _AMOUNT.fullmatch(token)
    return _CODE.fullmatch(token) is not None and not prose


def _has_name(token: str, source: Names, *, is_prefix: bool) -> bool:
    if is_prefix:
        return token in source.text
    if source.has(token):
        return True
    if place := _PLACE.fullmatch(token):
        lines = re.findall(r"\d+", place["lines"])
        named = all(len(n) < _LEAST_DIGITS or source.has_number(n) for n in lines)
        return named and _has_name(place["path"], source, is_prefix=False)
    if token[:1] in {"v", "V"} and source.has(token[1:]):
        return True
    if token.startswith("#"):
        return source.has_number(token[1:])
    parts = token.split("/")
    in_turn = len(parts) > 1 and all(map(str.isalpha, parts))
    return in_turn and source.atoms.issuperset(map(str.casefold, parts))


def _without_names(line: str) -> str:
    """Replace the tokens that are searched for whole by blanks."""

    def blank(match: re.Match[str]) -> str:
        return " " if _is_name(_trimmed(match[0])) else match[0]

    return _TOKEN.sub(blank, line)


def _numbers(text: str) -> Iterator[tuple[str, _Place]]:
    for match in _NUMBER.finditer(text):
        unit = _UNIT.match(text, match.end())
        name = _UNITS[unit[1].lower()] if unit else ""
        yield _plain_number(match[0]), _Place(match.start(), match.end(), name)


def _plain_number(digits: str) -> str:
    whole, _, decimals = re.sub(r"[,_\u202f']", "", digits).partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole
