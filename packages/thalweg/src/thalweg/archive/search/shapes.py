"""The shapes of an answer: a query asks for a duration, a passage contains one.

The index has a word for each shape that few passages have. It finds an answer that hardly shares a
word with its query: how long did it take, `ok  pkg  12.061s`.
"""

import re

from thalweg.engine.data_files import read_table

_SHAPES = read_table(__package__, "shapes.toml")
_QUERY_PATTERNS, _TEXT_PATTERNS = (
    {name: re.compile("|".join(row[key]), re.IGNORECASE) for name, row in _SHAPES.items()}
    for key in ("asks", "looks")
)
SHAPE_WORDS = {name: f"{name}shape0" for name, row in _SHAPES.items() if "common" not in row}
"""Words of the index for shapes; the final digit prevents their stemming as English words."""
_INDEXED = frozenset(SHAPE_WORDS.values())


def is_shape_word(word: str) -> bool:
    """Return whether a word of the index represents a shape."""
    return word in _INDEXED


def answer_shapes(query: str) -> tuple[str, ...]:
    """Return the shapes that an answer to a query may have.

    Example:
        >>> answer_shapes("Which commit came last, and how long did it take?")
        ('duration', 'id')
    """
    return tuple(name for name, pattern in _QUERY_PATTERNS.items() if pattern.search(query))


def has_shape(text: str, shape: str) -> bool:
    """Return whether something in a text has the shape of an answer.

    Example:
        >>> has_shape("ok  4.081s", "duration"), has_shape("all passed", "duration")
        (True, False)
    """
    return _TEXT_PATTERNS[shape].search(text) is not None


def shape_words(text: str) -> list[str]:
    """Return the words of the index for the shapes of a text.

    Example:
        >>> shape_words("ok  pkg  12.061s"), shape_words("all passed")
        (['durationshape0'], [])
    """
    return [word for name, word in SHAPE_WORDS.items() if has_shape(text, name)]
