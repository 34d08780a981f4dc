"""The words of a text, in any language, normalized for search.

Two rules: a text and a query use the same function; every returned word is plain ASCII, so that
no version of SQLite splits it differently.
"""

import re
import unicodedata
from functools import lru_cache

from thalweg.engine.data_files import read_table, unique_words

MAX_WORD_CHARS = 64

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts written without spaces (Thai, Lao, Burmese, Khmer, Kana, Han), and Hangul, whose
spaced words carry their particles: all are compared by pairs of letters."""
_TOKEN = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+(?:[.\-'\u2019][^\W{_UNSPACED}]+)*")
_STARTS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_SEPARATORS = re.compile(r"[._\-]+")
_CAMEL_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words(text: str) -> list[str]:
    """Return the words of a text, in order, folded: case, accents, plurals and endings.

    An identifier yields itself, without its punctuation, and its parts. Letters of scripts
    without spaces are taken in pairs.

    Example:
        >>> words("Reading resume.go: handleTurnEnd")
        ['read', 'resum', 'go', 'resumego', 'handl', 'turn', 'end', 'handleturnend']
    """
    folded_words: list[str] = []
    for token in find_tokens(text):
        folded_words += token_words(token)
    return folded_words


def find_tokens(text: str) -> list[str]:
    """Return the tokens that words are made of, unchanged."""
    return _TOKEN.findall(text)


def token_words(token: str) -> tuple[str, ...]:
    """Return the words of one token of `find_tokens`.

    Example:
        >>> token_words("user_ids")
        ('user', 'id', 'userid')
    """
    if _STARTS_UNSPACED.match(token):
        pairs = [token[i : i + 2] for i in range(len(token) - 1)] or [token]
        return tuple(map(_ascii_form, pairs))
    return _cached_words(token) if len(token) <= MAX_WORD_CHARS else _spaced_words(token)


def _spaced_words(token: str) -> tuple[str, ...]:
    token = token.removesuffix("'s").removesuffix("\u2019s").replace("'", "").replace("\u2019", "")
    parts = [
        part for piece in _SEPARATORS.split(token) for part in _CAMEL_BOUNDARY.split(piece) if part
    ]
    if not parts:
        return ()
    return tuple(dict.fromkeys((*map(fold, parts), fold("".join(parts)))))


# Bounded in number and, by the length of cached words, in bytes.
_cached_words = lru_cache(maxsize=1 << 16)(_spaced_words)


def fold(word: str) -> str:
    """Return a word folded to the same form as its inflections.

    Example:
        >>> [fold(word) for word in ("Deletions", "deleted", "study", "studies", "Größe")]
        ['deletion', 'delet', 'studi', 'studi', 'gross']
    """
    word = _unaccented(word.lower())
    return _ascii_form(_without_ending(word))[:MAX_WORD_CHARS]


def _unaccented(word: str) -> str:
    if word.isascii():
        return word
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


_SHORTEST_STEM = 3


def _without_ending(word: str) -> str:
    if len(word) < _SHORTEST_STEM or not word.isalpha():
        return word
    if word.endswith("ies"):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "as")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _SHORTEST_STEM and set(stem) & set("aeiouy"):
            return stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem
    if word.endswith("e") and len(word) > _SHORTEST_STEM:
        return word[:-1]
    return word[:-1] + "i" if word.endswith("y") and word[-2] not in "aeiou" else word


def _ascii_form(word: str) -> str:
    """Return a word in ASCII; the final digit prevents its stemming as an English word."""
    return word if word.isascii() else f"u{word.encode('utf-8', 'replace').hex()}0"


# -- words without information about the subject of a text ------------------------------

_WORD_LISTS = {
    name: unique_words(listed.split())
    for name, listed in read_table(__package__, "stop.toml").items()
}


def _folded(*names: str) -> frozenset[str]:
    return frozenset(words(" ".join(word for name in names for word in _WORD_LISTS[name])))


WEAK_WORDS = _folded("weak")
"""Words that shape a question and occur in many answers by chance: they have a low weight."""
STOP_WORDS = _folded("english", "chinese")
"""Words of every text: they are not searched for. Folded, as `words` returns them."""
_PARTICLES = frozenset(unique_words("".join(_WORD_LISTS["particles"])))


def is_particle(letter: str) -> bool:
    """Return whether a letter connects Chinese or Japanese words, more often than not.

    Example:
        >>> is_particle("的"), is_particle("书")
        (True, False)
    """
    return letter in _PARTICLES or "\u3041" <= letter <= "\u309f"
