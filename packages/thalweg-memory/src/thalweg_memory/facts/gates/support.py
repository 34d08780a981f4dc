"""Names, numbers, dates and addresses of a fact that its sources lack.

A fact may have another wording than its quote. Identifiers must be in its sources: in the turn, in
those around it, or in the existing fact that it updates.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from thalweg.engine.words import STOP_WORDS, fold, words
from thalweg_memory.facts.gates.letters import WIDE, folded
from thalweg_memory.facts.gates.orders import ADDRESS
from thalweg_memory.facts.patterns import read_patterns

RELATIVE = re.compile(read_patterns(__package__, "numbers")["relative"], re.IGNORECASE)
"""Words for times that a date may replace."""
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
DATE = re.compile(
    r"(?<!\d)\d{4}-\d\d?(?:-\d\d?)?(?!\d)|\b(?:19|20)\d\d\b|\b\d\d? ?(?:\w{3,9}\.? )(?:\d{4})\b"
    r"|\d{2,4} ?年|\d\d? ?月(?: ?\d\d? ?[日号])?|\d\d?\. ?(?:\d\d?\.|\w{3,9}) ?\d{2,4}"
    r"|\b\w{3,9} \d\d?(?:st|nd|rd|th)?,? \d{4}\b",
)
_AFTERNOON = re.compile(r"\b(\d{1,2})(?:[:.](\d\d))? ?p\.?m\b", re.IGNORECASE)
_TIME_NAMES = frozenset(map(fold, read_patterns(__package__, "numbers")["time_names"].split()))
"""Names of times that a fact may have instead of the user's original words."""
_WORD = re.compile(r"[^\W\d_](?:[\w'’+#]|[.-](?=\w))*|\d+[^\W\d_][\w-]*")
_WIDE = re.compile(f"{WIDE.pattern}+")
_USER = frozenset(("user", "users", "nutzer", "utilisateur", "usuario", "usuário", "utente"))
_SHORTEST_CUT = 3
_LONGEST_END = 3
# German writes nouns with capitals.
_GERMAN = re.compile(
    r"\b(?:nutzer\w*|benutzer\w*|anwender\w*|der|die|das|und|ist|nicht|mit|ein\w*|hat|seit)\b",
    re.IGNORECASE,
)


def numbers(text: str) -> set[str]:
    """List the numbers of a text.

    Example:
        >>> sorted(numbers("2 cats, at 5:30 pm"))
        ['17', '2', '30', '5', '5:30']
    """
    numerals = NUMBER.findall(text)
    found = {number.replace(",", "") for number in numerals}
    found |= {part for number in numerals for part in re.split(r"[.,:]", number)}
    for hour, minute in _AFTERNOON.findall(text):
        found |= {str(int(hour) % 12 + 12), minute or "00"}
    return found


def new_number(content: str, text: str, stated_at: str) -> str:
    """Return a number that the text lacks; dates may replace times relative to today.

    Example:
        >>> new_number("User has 3 cats", "I have 2 cats", "")
        '3'
        >>> new_number("since 2025", "since last year", "2026-03-02T09:00:00Z")
        ''
    """
    in_text = numbers(text)
    dated = _dates_near(stated_at) if RELATIVE.search(text) else set()
    dates = [found.span() for found in DATE.finditer(content)]
    addresses = [found.span() for found in ADDRESS.finditer(content)]
    for found in NUMBER.finditer(content):
        number = found[0].replace(",", "")
        parts = set(re.split(r"[.,:]", found[0]))
        if (
            number in in_text
            or number.lstrip("0") in in_text
            or (len(parts) > 1 and parts <= in_text)
        ):
            continue
        if _is_in(dates, found) and number.lstrip("0") in dated:
            continue
        if _is_in(addresses, found):
            continue
        return found[0]
    return ""


def _is_in(places: list[tuple[int, int]], found: re.Match[str]) -> bool:
    return any(start <= found.start() < end for start, end in places)


def _moment(stated_at: str) -> datetime | None:
    try:
        return datetime.fromisoformat(stated_at).astimezone(UTC)
    except ValueError:
        return None


def _dates_near(stated_at: str) -> set[str]:
    """Return years, months and days that words like `yesterday` or `last year` may mean."""
    moment = _moment(stated_at)
    if moment is None:
        return set()
    years = {str(moment.year + n) for n in range(-60, 11)}
    return years | {str(n) for n in range(1, 32)}


def brings(content: str, source: str, stated_at: str) -> str:
    """Find an address, number or name in a fact that its sources do not have; empty if none.

    Args:
        content: The fact.
        source: All texts that it may take them from.
        stated_at: The time of its turn: a date may replace `yesterday`.

    Example:
        >>> brings("User is in Rome", "I'm in Porto", "")
        'Rome'
    """
    content, source = folded(content), folded(source)
    return (
        _new_address(content, source)
        or new_number(content, source, stated_at)
        or next(_new_names(content, source), "")
    )


def _new_names(content: str, source: str) -> Iterator[str]:
    given = _WORD.findall(ADDRESS.sub(" ", _spaced(content)))
    names = [
        name
        for name in (re.sub(r"['’]s$", "", word) for word in given)
        if _is_name(name, content, source) and name.casefold() not in _USER
    ]
    if not names:
        return
    source_parts = {
        part
        for word in _WORD.findall(_spaced(source))
        for part in (*_parts(word), *re.split(r"[-.'’]", word))
    }
    vocabulary = set(map(fold, source_parts))
    has_date = RELATIVE.search(source) is not None or DATE.search(source) is not None
    for name in names:
        if has_date and fold(name) in _TIME_NAMES:
            continue
        parts = {fold(part) for part in _parts(name)[1:] if len(part) > 1}
        if not (parts and parts <= vocabulary) and not is_mentioned(fold(name), vocabulary):
            yield name


def _spaced(text: str) -> str:
    return _WIDE.sub(" ", text)


def _parts(word: str) -> list[str]:
    word = re.sub(r"['’]s$", "", word)
    parts = re.findall(r"\d+|[^\W\d_]+", word)
    return [word, *parts] if len(parts) > 1 else [word]


def is_mentioned(word: str, vocabulary: set[str]) -> bool:
    """Return whether the text contains a word, or one of which either is a prefix: `dev`."""
    return word in vocabulary or any(
        len(short) >= _SHORTEST_CUT
        and long.startswith(short)
        and len(long) - len(short) <= _LONGEST_END
        for other in vocabulary
        for short, long in ((word, other), (other, word))
    )


def _is_name(word: str, content: str, source: str) -> bool:
    """Return whether a word names something: a capital inside a sentence, digits, an identifier."""
    if re.search(r"\d|[a-z][A-Z]|\w[.#+-]\w|^[A-Z]{2,}$", word):
        return "-" not in word or not word.islower()
    if not word.isupper() and 4 * len(WIDE.findall(content)) > len(content):
        return len(word) > 2  # noqa: PLR2004 (among Chinese, a Latin word is a name)
    starts = re.search(rf"(?:^|[.:;!?]\s+)[\"\'«]?{re.escape(word)}", content) is not None
    return word[0].isupper() and not starts and not _GERMAN.search(f"{content} {source}")


def _new_address(content: str, source: str) -> str:
    lowered = source.casefold()
    found = (match[0] for match in ADDRESS.finditer(content))
    return next((one for one in found if one.casefold().rstrip(".,;)/") not in lowered), "")


def significant_words(text: str) -> set[str]:
    """List the words of a text that carry content; pairs of letters in text without spaces.

    Example:
        >>> sorted(significant_words("The user prefers green tea"))
        ['green', 'prefer', 'tea']
    """
    return {word for word in words(folded(text)) if word not in STOP_WORDS and word not in _USER}


def shares(content: str, source: str) -> bool:
    """Return whether a fact has a word of content in common with a text.

    Example:
        >>> shares("User drinks tea", "I like tea"), shares("User naps", "Ok")
        (True, False)
    """
    vocabulary = significant_words(source)
    long = [word for word in vocabulary if len(word) > _SHORTEST_CUT]
    return any(
        is_mentioned(word, vocabulary) or any(word.startswith(begins) for begins in long)
        for word in significant_words(content)
    )
