"""Names, numbers and addresses of a fact that its sources lack.

A fact may have another wording than its quote. Identifiers must be in its sources: in the turn, in
those around it, or in the existing fact that it updates.
"""

import re
from collections.abc import Iterator

from thalweg.engine.words import STOP_WORDS, fold, words
from thalweg_memory.facts.gates.letters import WIDE, folded
from thalweg_memory.facts.gates.numbers import DATE, RELATIVE, new_number
from thalweg_memory.facts.gates.orders import ADDRESS
from thalweg_memory.facts.patterns import read_patterns


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


_TIME_NAMES = frozenset(map(fold, read_patterns(__package__, "numbers")["time_names"].split()))
"""Names of times that a fact may have instead of the user's original words."""
_WORD = re.compile(r"[^\W\d_](?:[\w'’+#]|[.-](?=\w))*|\d+[^\W\d_][\w-]*")
_WIDE = re.compile(f"{WIDE.pattern}+")
_USER = frozenset(("user", "users", "nutzer", "utilisateur", "usuario", "usuário", "utente"))


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


_SHORTEST_CUT = 3
_LONGEST_END = 3


def is_mentioned(word: str, vocabulary: set[str]) -> bool:
    """Return whether the text contains a word, or one of which either is a prefix: `dev`."""
    return word in vocabulary or any(
        len(short) >= _SHORTEST_CUT
        and long.startswith(short)
        and len(long) - len(short) <= _LONGEST_END
        for other in vocabulary
        for short, long in ((word, other), (other, word))
    )


# German writes nouns with capitals.
_GERMAN = re.compile(
    r"\b(?:nutzer\w*|benutzer\w*|anwender\w*|der|die|das|und|ist|nicht|mit|ein\w*|hat|seit)\b",
    re.IGNORECASE,
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
