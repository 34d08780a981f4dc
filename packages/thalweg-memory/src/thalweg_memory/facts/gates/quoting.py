"""Finding a quote again, word for word, in a text that spells its spaces and marks otherwise."""

import unicodedata
from collections.abc import Iterator

_SAME = str.maketrans("’‘‛`´“”„‟«»「」『』–—‐‑‒−…", '\'\'\'\'\'""""""""""------.')


def find_quote(quote: str, text: str) -> Iterator[tuple[int, int]]:
    r"""Yield the start and the end of each occurrence of a quote as whole words.

    Case, spaces, line feeds, widths and kinds of quotation marks and dashes do not matter.

    Example:
        >>> [*find_quote("i'm  vegan", "Well, I’m\nvegan. I'm vegangelist")]
        [(6, 15)]
    """
    target = "".join(letter for letter, _ in _letters(quote)).strip()
    letters = [*_letters(text)]
    plain = "".join(letter for letter, _ in letters)
    start = plain.find(target) if target else -1
    while start >= 0:
        end = start + len(target)
        if not (_splits(plain, start) or _splits(plain, end)):
            yield letters[start][1], letters[end - 1][1] + 1
        start = plain.find(target, start + 1)


def _letters(text: str) -> Iterator[tuple[str, int]]:
    """Yield each letter in its form for comparison, with its place; a run of spaces is one."""
    space = True
    for place, letter in enumerate(text):
        if letter.isspace():
            if not space:
                yield " ", place
            space = True
            continue
        space = False
        for plain in unicodedata.normalize("NFKC", letter).casefold().translate(_SAME):
            yield plain, place


def _splits(text: str, place: int) -> bool:
    """Return whether a place is inside a word of a script with spaces."""
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    return _is_spaced(before) and _is_spaced(after)


def _is_spaced(letter: str) -> bool:
    return letter.isalnum() and not (
        "\u0e00" <= letter <= "\u0eff" or "\u3040" <= letter <= "\ud7af" or letter > "\uf900"
    )
