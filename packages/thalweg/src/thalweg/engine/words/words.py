"""The words of a text, in any language, normalized for search.

Two rules: a text and a query use the same function; every returned word is plain ASCII, so that
no version of SQLite splits it differently.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from thalweg.engine.data_files import read_table, unique_words

MAX_WORD_CHARS = 64

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts written without spaces (Thai, Lao, Burmese, Khmer, Kana, Han), and Hangul, whose
spaced words carry their particles: all are compared by pairs of letters."""
TOKEN = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+(?:[.\-'\u2019][^\W{_UNSPACED}]+)*")
"""A token of a text as it is; `find_tokens` composes letters first."""
_ASCII_TOKEN = re.compile(r"\w+(?:[.\-']\w+)*", re.ASCII)
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
    tokens = find_tokens(text)
    is_plain = text.isascii() and all(len(token) <= MAX_WORD_CHARS for token in tokens)
    words_of = _cached_words if is_plain else token_words
    return [word for token in tokens for word in words_of(token)]


def find_tokens(text: str) -> list[str]:
    """Return the tokens that words are made of, with composed letters: accents are no tokens."""
    if text.isascii():
        return _ASCII_TOKEN.findall(text)
    return TOKEN.findall(unicodedata.normalize("NFC", text))


def token_words(token: str) -> tuple[str, ...]:
    """Return the words of one token of `find_tokens`.

    Example:
        >>> token_words("user_ids")
        ('user', 'id', 'userid')
    """
    if not token.isascii() and _STARTS_UNSPACED.match(token):
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


def rarity(count: float, total: int) -> float:
    """Return the weight of a word by its rarity, as BM25 does: near 0 for a word in every text.

    Args:
        count: Texts with the word; an estimate if they are very many.
        total: All texts.

    Example:
        >>> rarity(1, 1_000) > 10 * rarity(900, 1_000)
        True
    """
    count = min(count, total)
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


class Weights:
    """Weighs sets of words. A set is the bits of a number: bit i represents word i.

    Args:
        word_weights: The weight of each word.

    Example:
        >>> weigh = Weights([1.0, 2.0, 4.0])
        >>> weigh(0b101), weigh.all
        (5.0, 7.0)
    """

    def __init__(self, word_weights: Sequence[float]) -> None:
        self._word_weights = word_weights
        self._sums: dict[int, float] = {}
        self.all = self((1 << len(word_weights)) - 1)
        """The weight of all words together."""

    def __call__(self, word_bits: int) -> float:
        """Return the weight of a set, cached and summed exactly, so that order has no effect."""
        if (known := self._sums.get(word_bits)) is None:
            known = math.fsum(
                [w for bit, w in enumerate(self._word_weights) if word_bits >> bit & 1]
            )
            self._sums[word_bits] = known
        return known


_LONGEST = 64
_SHORTEST = 3


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the stem of a word of `engine.words.words`.

    Example:
        >>> [stem(word) for word in ("deletion", "delet", "relational", "resumego", "4711")]
        ['delet', 'delet', 'relat', 'resumego', '4711']
    """
    if not _SHORTEST <= len(word) <= _LONGEST:
        return word
    word = _without_past(_without_plural(word))
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = f"{word[:-1]}i"
    for endings in (_SECOND_ENDINGS, _THIRD_ENDINGS):
        word = _with_other_ending(word, endings)
    return _without_e(_without_last_ending(word))


def _measure(word: str) -> int:
    """Count how often a consonant follows a vowel."""
    count, was_vowel = 0, False
    for is_vowel in _vowels(word):
        count += was_vowel and not is_vowel
        was_vowel = is_vowel
    return count


def _vowels(word: str) -> list[bool]:
    """Return for each letter whether it is a vowel; a y after a consonant is one."""
    found: list[bool] = []
    for letter in word:
        after_consonant = bool(found) and not found[-1]
        found.append(letter in "aeiou" or (letter == "y" and after_consonant))
    return found


def _has_vowel(word: str) -> bool:
    return any(_vowels(word))


def _is_short(word: str) -> bool:
    """Return whether a word ends in consonant, vowel, consonant, and not in w, x or y."""
    return word[-1:] not in {"w", "x", "y"} and _vowels(word)[-3:] == [False, True, False]


def _without_plural(word: str) -> str:
    if any(word.endswith(ending) and word != ending for ending in ("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past(word: str) -> str:
    if word.endswith("eed") and word != "eed":
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        base = word.removesuffix(ending)
        if base != word and _has_vowel(base):
            return _restored(base)
    return word


def _restored(word: str) -> str:
    """Restore the end of a word that lost its -ed or -ing."""
    if word.endswith(("at", "bl", "iz")):
        return f"{word}e"
    last = word[-1]
    if word[-2:] == last * 2 and last not in "aeioulsz":
        return word[:-1]
    return f"{word}e" if _measure(word) == 1 and _is_short(word) else word


_SECOND_ENDINGS = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "logi": "log", "bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous",
    "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive",
    "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_THIRD_ENDINGS = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_LAST_ENDINGS = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti",
    "ous", "ive", "ize", "al", "er", "ic", "ou",
)  # fmt: skip


def _with_other_ending(word: str, endings: dict[str, str]) -> str:
    for ending, replacement in endings.items():
        if word.endswith(ending):
            base = word[: -len(ending)]
            return base + replacement if _measure(base) else word
    return word


def _without_last_ending(word: str) -> str:
    for ending in _LAST_ENDINGS:
        if word.endswith(ending):
            base = word[: -len(ending)]
            is_removable = ending != "ion" or base.endswith(("s", "t"))
            return base if is_removable and _measure(base) > 1 else word
    return word


def _without_e(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        measure = _measure(base)
        if measure > 1 or (measure == 1 and not _is_short(base)):
            word = base
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word
