"""How many values a JSON text has, and how deep, counted before it is parsed.

A parser makes an object of each value: a few megabytes of `[[],[],…]` become gigabytes. A count
of the signs outside of strings costs a tenth of that and stops at the limit.
"""

import re
from dataclasses import dataclass

from pydantic_core import from_json

_SIGNS = re.compile(rb'[\[{]|[\]}]|,|"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_LARGE = re.compile(rb"[eE]\+?[0-9]{3}")
"""Matches a large exponent, without which no number is read as infinite."""


@dataclass(frozen=True, slots=True)
class JsonBounds:
    """How large a JSON text may be.

    Attributes:
        bytes: Bytes of the text.
        nodes: Values, those inside of others and the keys' values included.
        depth: Lists and objects inside of one another.
    """

    bytes: int
    nodes: int
    depth: int = 64


class JsonBoundsError(ValueError):
    """A JSON text has more values than it may."""


def parsed(text: bytes, bounds: JsonBounds) -> object:
    """Parse a JSON text that is within its bounds.

    Raises:
        JsonBoundsError: It has too many values.
        ValueError: It is no JSON, is too deep, or has a number that is none.

    Example:
        >>> parsed(b'{"a": [1, 2]}', JsonBounds(bytes=100, nodes=10))
        {'a': [1, 2]}
        >>> parsed(b"[[],[],[]]", JsonBounds(bytes=100, nodes=3))
        Traceback (most recent call last):
        thalweg_server.gateway.structure.JsonBoundsError: it has more than 3 values
    """
    check_bounds(text, bounds)
    value = from_json(text, allow_inf_nan=False, cache_strings="none")
    if _LARGE.search(text):
        _check_numbers(value)
    return value


def check_bounds(text: bytes, bounds: JsonBounds) -> None:
    """Count the values and the depth of a JSON text.

    Raises:
        JsonBoundsError: There are too many values.
        ValueError: It is too deep.
    """
    openings = text.count(b"[") + text.count(b"{")
    # Signs inside strings count as well: there are no more values than this.
    if 1 + openings + text.count(b",") <= bounds.nodes and openings <= bounds.depth:
        return
    nodes, depth = 1, 0
    for match in _SIGNS.finditer(text):
        sign = text[match.start()]
        depth += (sign in b"[{") - (sign in b"]}")
        nodes += sign in b"[{,"
        if depth > bounds.depth:
            problem = f"it is more than {bounds.depth} lists and objects deep"
            raise ValueError(problem)
        if nodes > bounds.nodes:
            problem = f"it has more than {bounds.nodes:,} values"
            raise JsonBoundsError(problem)


def _check_numbers(value: object) -> None:
    """Look for infinite numbers; an integer is none, however many digits it has."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case float() as number if number in {float("inf"), float("-inf")}:
                problem = "a number is too large"
                raise ValueError(problem)
            case list() as items:
                waiting += items
            case dict() as members:
                waiting += members.values()
