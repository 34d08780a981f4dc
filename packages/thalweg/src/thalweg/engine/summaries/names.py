"""The identifiers of a line, and whether a source contains them.

An identifier is what cannot be paraphrased: a number of two digits or more, a path, a URL, a
hash, a version, an id, a name in code.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from thalweg.engine.data_files import keys_by_word, read_table
from thalweg.engine.summaries.words import STOPWORDS

_NUMBER = re.compile(
    r"(?:(?<=\bv)|(?<![\dA-Za-wyz_.]))\d+(?:[,_\u202f']\d{3})*(?:\.\d+)?(?!\d|[A-Za-wyz]+\d)"
)
"""Excludes the digits within a name: those are searched for with the name."""
_UNITS = keys_by_word(read_table(__package__, "units.toml").items())
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
MIN_NEAR_WORDS = 2
"""Words of a line that must occur near its number: a long source contains any small number."""
MAX_PLACES = 2_000
"""A number that occurs more often than this is not checked place by place."""
_PREFIX_CHARS = 4
"""Words are compared by their first characters, to ignore endings."""


@dataclass(frozen=True, slots=True)
class _NumberPlace:
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
    numbers: dict[str, list[_NumberPlace]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Names":
        """Index the texts of a source."""
        text = unicodedata.normalize("NFKC", "\n".join(texts))
        numbers: dict[str, list[_NumberPlace]] = {}
        for number, place in _numbers(text):
            numbers.setdefault(number, []).append(place)
        folded = text.casefold() if len(text.casefold()) == len(text) else text.lower()
        atoms = frozenset(_ATOM.findall(folded))
        return cls(text, folded, atoms, frozenset(atom[:_PREFIX_CHARS] for atom in atoms), numbers)

    def has_number(
        self, number: str, unit: str = "", near_words: frozenset[str] = frozenset()
    ) -> bool:
        """Return whether a number occurs with its unit or none, and near words of its line.

        Args:
            number: As `_plain_number` writes it.
            unit: The unit it has in the line; empty for none.
            near_words: Beginnings of words that may occur near it.
        """
        places = self.numbers.get(number, [])
        known_words = near_words & self.prefixes
        needed_words = min(MIN_NEAR_WORDS, (len(known_words) + 1) // 2)
        return len(places) > MAX_PLACES or any(
            (not unit or place.unit in {unit, ""})
            and self._neighbours(place, known_words) >= needed_words
            for place in places
        )

    def _neighbours(self, place: _NumberPlace, words: frozenset[str]) -> int:
        start = max(0, place.start - NEAR_CHARS)
        surrounding = self.folded[start : place.end + NEAR_CHARS]
        return sum(word in surrounding for word in words)

    def has(self, name: str) -> bool:
        """Return whether a name occurs, not as a part of a longer one."""
        folded = name.casefold()
        if not self.atoms.issuperset(_ATOM.findall(folded)):
            return False
        is_hex = _HEX.fullmatch(folded) is not None
        text, target = (self.folded, folded) if is_hex else (self.text, name)
        return _occurs(target, text)


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


def missing_names(line: str, source: Names) -> Iterator[str]:
    """Yield the identifiers of a line that the source does not contain.

    Example:
        >>> seen = Names.of(["ran 1,204 tests in src/app.py: 3.2 s"])
        >>> list(missing_names("1204 tests of app.py in 3.3 s", seen))
        ['3.3']
    """
    line = unicodedata.normalize("NFKC", line)
    for match in _TOKEN.finditer(line):
        token = _trimmed(match[0])
        is_prefix = line[match.end() : match.end() + 1] in {"*", "…"}
        if _is_name(token) and not _has_name(token, source, is_prefix=is_prefix):
            yield token
    prose = _without_names(line)
    lines = [match.span() for match in _LINES.finditer(prose)]
    for number, place in _numbers(prose):
        if len(number.replace(".", "")) < _LEAST_DIGITS:
            continue
        is_line_number = any(start <= place.start < end for start, end in lines)
        near_words = frozenset() if is_line_number else _nearby_words(line, number)
        if not source.has_number(number, place.unit, near_words):
            yield number


_LINES = re.compile(
    r"\b(?:lines?|rows?)\s*~?\d+(?:\s*(?:[-,\u2013]|to|and)\s*~?\d+)*", re.IGNORECASE
)
"""Line numbers: a source that lists a file has them far from the words of a summary."""
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]{3,}|\d{2,}")


def _nearby_words(line: str, number: str) -> frozenset[str]:
    """Return the beginnings of the words of a line, and its other numbers."""
    words = set(_WORD.findall(line.casefold())) - STOPWORDS
    return frozenset(word[:_PREFIX_CHARS] for word in words) - {number[:_PREFIX_CHARS]}


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
        lines = re.findall(r"\d+", place["lines"])
        has_lines = all(
            len(number) < _LEAST_DIGITS or source.has_number(number) for number in lines
        )
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


def _numbers(text: str) -> Iterator[tuple[str, _NumberPlace]]:
    for match in _NUMBER.finditer(text):
        unit = _UNIT.match(text, match.end())
        name = _UNITS[unit[1].lower()] if unit else ""
        yield _plain_number(match[0]), _NumberPlace(match.start(), match.end(), name)


def _plain_number(digits: str) -> str:
    whole, _, decimals = re.sub(r"[,_\u202f']", "", digits).partition(".")
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole
