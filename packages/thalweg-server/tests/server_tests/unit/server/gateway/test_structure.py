"""JSON is counted before it is parsed, and counted right."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_server.gateway.bodies import JsonBounds, JsonBoundsError, check_bounds, parsed

STRINGS = st.text(st.sampled_from('ab[]{},"\\\n'), max_size=6)
JSONS = st.recursive(
    st.none() | st.integers() | STRINGS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(STRINGS, inner, max_size=4),
    max_leaves=12,
)


def signs_of(value: object) -> int:
    """Return the opening signs and commas outside of strings, and one."""
    match value:
        case list() as items:
            inner = items
        case dict() as members:
            inner = list(members.values())
        case _:
            return 0
    return 1 + max(0, len(inner) - 1) + sum(map(signs_of, inner))


def depth_of(value: object) -> int:
    match value:
        case list() as items:
            return 1 + max(map(depth_of, items), default=0)
        case dict() as members:
            return 1 + max(map(depth_of, members.values()), default=0)
        case _:
            return 0


@given(JSONS, st.sampled_from([(",", ":"), (", ", ": ")]))
def test_values_are_counted_whatever_stands_in_strings(
    value: object, separators: tuple[str, str]
) -> None:
    text = json.dumps(value, separators=separators).encode()
    nodes, depth = 1 + signs_of(value), depth_of(value)

    check_bounds(text, JsonBounds(bytes=10_000, nodes=nodes, depth=depth))
    if nodes > 1:
        with pytest.raises(JsonBoundsError):
            check_bounds(text, JsonBounds(bytes=10_000, nodes=nodes - 1, depth=depth))
    if depth:
        with pytest.raises(ValueError, match="deep"):
            check_bounds(text, JsonBounds(bytes=10_000, nodes=nodes, depth=depth - 1))


@given(JSONS)
def test_what_is_parsed_is_what_was_sent(value: object) -> None:
    text = json.dumps(value).encode()
    assert parsed(text, JsonBounds(bytes=10_000, nodes=10_000)) == value


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1E+400"])
def test_an_infinite_number_is_none(number: str) -> None:
    for text in (number, f"[{number}]", f'{{"a": [1, {number}]}}'):
        with pytest.raises(ValueError, match="number"):
            parsed(text.encode(), JsonBounds(bytes=100, nodes=100))


def test_a_long_text_full_of_signs_is_one_value() -> None:
    text = json.dumps("[{," * 100_000).encode()
    assert parsed(text, JsonBounds(bytes=10**6, nodes=1)) == "[{," * 100_000
