"""Values of options as people type them: names, numbers, ranges."""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from thalweg.engine.sections import name_choices_remedy
from thalweg.errors import ConfigError

Name = TypeVar("Name", bound=str)

MAX_NUMBER = 2**31 - 1
"""No turn, position or window is beyond it; databases and clocks fail over larger numbers."""
_RANGE = re.compile(r"(\d{1,15})-(\d{1,15})")


def bounded(name: str, value: int) -> int:
    """Take a number that can be one of a turn, a position or a window.

    Raises:
        ConfigError: It is beyond all of them.
    """
    if abs(value) > MAX_NUMBER:
        raise ConfigError(name, "the number is out of range", f"pass one up to {MAX_NUMBER:,}")
    return value


def whole_number(name: str) -> Callable[[str], int]:
    """Return a parser of whole numbers; its errors name the option or argument.

    Example:
        >>> whole_number("--turn")("3")
        3
    """

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise ConfigError(
                name, f"{text!r} is not a whole number", "pass one such as 3"
            ) from None
        return bounded(name, number)

    return read


def as_range(option: str, text: str) -> tuple[int, int] | None:
    """Parse `A-B`; return `None` for an empty text.

    Raises:
        ConfigError: The text is not a range.

    Example:
        >>> as_range("--lines", "3-7")
        (3, 7)
    """
    if not text:
        return None
    if (match := _RANGE.fullmatch(text.strip())) is None:
        raise ConfigError(option, f"{text!r} is no range", "write it as 3-7")
    return int(match[1]), int(match[2])


def parse_names(values: Iterable[str]) -> tuple[str, ...]:
    """Read names that are repeated, or separated by commas.

    Example:
        >>> parse_names(["a, b", "a"])
        ('a', 'b')
    """
    named = (name.strip() for value in values for name in value.split(","))
    return tuple(dict.fromkeys(name for name in named if name))


def one_of(option: str, text: str, known: tuple[Name, ...], kind: str = "") -> Name:
    """Parse one of several names.

    Args:
        option: The option, for the error.
        text: The text as typed.
        known: The names.
        kind: The kind of names, for the error.

    Raises:
        ConfigError: There is no such name.
    """
    found = next((name for name in known if name == text), None)
    if found is None:
        problem = f"there is no {kind} {text!r}" if kind else f"there is no {text!r}"
        raise ConfigError(option, problem, name_choices_remedy(text, known))
    return found
