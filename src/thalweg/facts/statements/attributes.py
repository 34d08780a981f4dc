"""What is told of somebody or something: one name for each attribute, and whether it has one value.

An attribute that nobody listed here is taken to have one value at a time where a learner gave it
as a singular (`release cadence`), and many where it is a plural (`hobbies`).
"""

import re
from functools import lru_cache

from thalweg.facts.statements.tables.attribute_names import ALIASES, MULTIPLE, MULTIPLE_ALONE
from thalweg.facts.statements.tables.english_words import stem
from thalweg.facts.statements.tables.rows import rows

_SINGULAR_IN_S = frozenset(
    "status address os diabetes business access class analysis basis process progress thesis "
    "series whereabouts pronouns hours headquarters kubernetes windows macos".split()
)
_SINGLE_BY_HEAD = ("favourite", "favorite", "current", "main", "primary", "preferred", "default",
                   "最喜欢", "主要", "首选", "默认", "当前")  # fmt: skip


_PAST = re.compile(
    r"^(?:former|past|previous|ex|old|first|last|early|earlier)\b|以前|曾经|前任|过去"
)
_SPLIT = re.compile(r"[\s_\-/]+")


def _aliases() -> dict[str, str]:
    found: dict[str, str] = {}
    for row in rows(ALIASES):
        name, _, rest = row.partition(" : ")
        for alias in (name, *rest.split(" | ")):
            found[_stems(alias)] = name
    return found


def _stems(text: str) -> str:
    words = _SPLIT.sub(" ", text.strip().lower()).split()
    return " ".join(map(stem, words))


_NAME_OF = _aliases()


def _asked_as() -> dict[str, str]:
    found: dict[str, str] = {}
    for row in rows(ALIASES):
        name, _, rest = row.partition(" : ")
        found[name] = f"{found.get(name, '')} {name} {rest.replace(' | ', ' ')}".strip()
    return found


_ASKED_AS = _asked_as()


def asked_as(key: str) -> str:
    """List the words that an attribute is asked for with; empty for one that no table has.

    Example:
        >>> "residence" in asked_as("home"), asked_as("shoe size")
        (True, '')
    """
    return _ASKED_AS.get(key, "")


@lru_cache(maxsize=1 << 10)
def attribute_key(attribute: str) -> str:
    """Give the one name of an attribute.

    Example:
        >>> [attribute_key(name) for name in ("Works at", "home_city", "favourite colour")]
        ['employer', 'home', 'favourit colour']
    """
    text = re.sub(
        r"^(?:(?:user|the|current|has|is)(?:'s)?[\s_]+|用户的|当前|目前的?)",
        "",
        attribute.strip().lower(),
    )
    stems = _stems(text)
    return _NAME_OF.get(stems, stems)


_SINGLE_NAMES = frozenset(_NAME_OF.values()) - {"goal"}
_MULTIPLE_STEMS = frozenset(map(stem, MULTIPLE))
_ALONE_STEMS = frozenset(map(stem, MULTIPLE_ALONE))


@lru_cache(maxsize=1 << 10)
def is_known(key: str) -> bool:
    """Say whether the tables tell that an attribute, as `attribute_key` folds it, has one value."""
    return key in _SINGLE_NAMES


def is_single(attribute: str) -> bool:
    """Say whether an attribute has one value at a time.

    Example:
        >>> [is_single(name) for name in ("employer", "release cadence", "hobbies", "pet")]
        [True, True, False, False]
    """
    text = attribute.strip().lower()
    if _PAST.search(text):
        return False
    if text.startswith(_SINGLE_BY_HEAD):
        return not _is_plural(text)
    if attribute_key(text) in _SINGLE_NAMES:
        return True
    words = _SPLIT.sub(" ", text).split()
    last = words[-1] if words else ""
    if (
        not last
        or stem(last) in _MULTIPLE_STEMS
        or (len(words) == 1 and stem(last) in _ALONE_STEMS)
    ):
        return False
    if text in MULTIPLE_ALONE or any(
        text.endswith(word) for word in MULTIPLE if not word.isascii()
    ):
        return False
    return not _is_plural(text)


def _is_plural(text: str) -> bool:
    last = _SPLIT.sub(" ", text).split()[-1]
    return (
        last.isascii()
        and last.endswith("s")
        and not last.endswith("ss")
        and (last not in _SINGULAR_IN_S)
    )
