"""Whole numbers and ranges as people type them."""

import re

import typer

from thalweg.errors import ConfigError

MOST = 2**31 - 1
"""No turn, position or window is beyond it; databases and clocks fail over larger numbers."""
_RANGE = re.compile(r"(\d{1,15})-(\d{1,15})")


def bounded(parameter: typer.CallbackParam, value: int | None) -> int | None:
    """Take a number that can be one of a turn, a position or a window.

    Raises:
        ConfigError: It is beyond all of them.
    """
    if value is not None and abs(value) > MOST:
        name = parameter.opts[0]
        name = name if name.startswith("-") else name.upper()
        raise ConfigError(name, "the number is out of range", f"pass one up to {MOST:,}")
    return value


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
