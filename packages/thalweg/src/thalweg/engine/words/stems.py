"""Stems of English words by M. F. Porter's algorithm, compatible with SQLite's word index.

With them, an index that has no stemmer finds the same texts as SQLite's index.
"""

from functools import lru_cache

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
