"""Tables and word lists that the package ships as TOML files."""

import tomllib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, TypeVar

K = TypeVar("K")


def read_table(package: str, name: str) -> dict[str, Any]:
    """Read a table.

    Args:
        package: The package that holds the file: `__package__` of the caller.
        name: Of the file.

    Raises:
        TOMLDecodeError: The file is not TOML; a key or a table is there twice.
    """
    return tomllib.loads((files(package) / name).read_text("utf-8"))


def unique_words(listed_words: Iterable[str]) -> tuple[str, ...]:
    """Return words in their order.

    Raises:
        ValueError: One is listed twice.

    Example:
        >>> unique_words("to be or not to be".split())
        Traceback (most recent call last):
        ValueError: 'to' is listed twice; remove one
    """
    return tuple(keys_by_word([("", listed_words)]))


def keys_by_word(words_by_key: Iterable[tuple[K, Iterable[str]]]) -> dict[str, K]:
    """Return the key under which each word is listed.

    Raises:
        ValueError: A word is listed twice.

    Example:
        >>> keys_by_word([("goal", ["aim", "task"]), ("state", ["status"])])
        {'aim': 'goal', 'task': 'goal', 'status': 'state'}
    """
    keys: dict[str, K] = {}
    for key, word in ((key, word) for key, words in words_by_key for word in words):
        if word in keys:
            msg = f"{word!r} is listed twice; remove one"
            raise ValueError(msg)
        keys[word] = key
    return keys
