"""Single fields of a memory document: from their values to their meaning."""

import math
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import get_args

from thalweg_memory.facts.values import Category

CATEGORIES: tuple[Category, ...] = get_args(Category)
_OTHERS: dict[str, Category] = {
    "cognitive": "behavior",
    "constraint": "preference",
    "correction": "behavior",
    "decision": "context",
    "identity": "context",
    "other": "context",
}
"""Further categories of DeerFlow, and the categories that replace them."""
UNTOLD_CONFIDENCE = 0.5
"""Confidence of a fact without one in its document. An explicit 0 remains 0."""
_TIME = "write a time such as 2024-03-15T10:30:00Z, or remove it"


class UnusableError(ValueError):
    """A value that is invalid in its place.

    Attributes:
        problem: The error, with the value.
        fix: The nearest valid value.
    """

    def __init__(self, value: object, problem: str, fix: str) -> None:
        super().__init__(value, problem, fix)
        self.problem = f"{shown(value)} {problem}"
        self.fix = fix


def shown(value: object) -> str:
    """Show a value in an error, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."  # noqa: PLR2004 (fits a line)


def text_of(value: object) -> str:
    """Read a text; `null` is an empty one."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise UnusableError(value, "is no text", f'write "{value}" in quotes')
    return value


def category_of(value: object) -> Category:
    """Read a category. One of the writer's own is taken as `context`, a misspelt one is refused.

    Example:
        >>> [category_of(one) for one in ("Goal", "correction", "cooking", None)]
        ['goal', 'behavior', 'context', 'context']
    """
    name = text_of(value).strip().casefold()
    for category in CATEGORIES:
        if name == category:
            return category
    if name in _OTHERS or not name:
        return _OTHERS.get(name, "context")
    if close := get_close_matches(name, [*CATEGORIES, *_OTHERS], 1, 0.75):
        raise UnusableError(value, "is no category", f"did you mean {close[0]!r}?")
    return "context"


def confidence_of(value: object) -> float:
    """Parse a confidence, 0 to 1; 0 remains 0, and `null` is unknown.

    Example:
        >>> [confidence_of(one) for one in (0, 0.95, 1, None)]
        [0.0, 0.95, 1.0, 0.5]
    """
    if value is None:
        return UNTOLD_CONFIDENCE
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UnusableError(value, "is no number", f"write {_nearest(value)}, unquoted")
    if not 0 <= value <= 1:  # true of NaN as well
        raise UnusableError(value, "is not between 0 and 1", f"write {_nearest(value)}")
    return float(value)


def _nearest(value: object) -> str:
    """Return the confidence that was probably meant."""
    try:
        number = float(str(value).strip().removesuffix("%"))
    except ValueError:
        number = math.nan
    if math.isnan(number) or isinstance(value, bool):
        return "a number from 0 to 1, such as 0.9"
    if 1 < number <= 100:  # noqa: PLR2004 (percent)
        number = number / 100 if number >= 2 else 1  # noqa: PLR2004 (1.2 is no percentage)
    return f"{min(max(number, 0), 1):g}"


def time_of(value: object) -> str:
    """Parse a time to aware UTC, in seconds; a time without a zone is UTC. Empty: unknown.

    Example:
        >>> time_of("2024-03-15T12:30:00.5+02:00"), time_of("2024-03-15"), time_of(None)
        ('2024-03-15T10:30:00Z', '2024-03-15T00:00:00Z', '')
    """
    if value is None or value == "":
        return ""
    if not isinstance(value, str):
        raise UnusableError(value, "is no time", _TIME)
    try:
        at = datetime.fromisoformat(value.strip())
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UnusableError(value, "is no time", _TIME) from None
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def source_of(value: object) -> str:
    """Read a source: a word or a thread; of an object, its thread, or else its kind.

    Example:
        >>> source_of({"type": "conversation", "threadId": "t-1"}), source_of({"type": "manual"})
        ('t-1', 'manual')
    """
    if isinstance(value, dict):
        thread, kind = value.get("threadId"), value.get("type")
        return text_of(kind if thread is None else thread)
    return text_of(value)
