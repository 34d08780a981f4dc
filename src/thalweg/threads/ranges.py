"""Ranges as people type them."""

import re

from thalweg.errors import ConfigError

_RANGE = re.compile(r"(\d{1,15})-(\d{1,15})")


def as_range(option: str, text: str) -> tuple[int, int] | None:
    """Read `A-B`; nothing where nothing was typed.

    Raises:
        ConfigError: It is no such range.

    Example:
        >>> as_range("--lines", "3-7")
        (3, 7)
    """
    if not text:
        return None
    if (found := _RANGE.fullmatch(text.strip())) is None:
        raise ConfigError(option, f"{text!r} is no range", "write it as 3-7")
    return int(found[1]), int(found[2])
