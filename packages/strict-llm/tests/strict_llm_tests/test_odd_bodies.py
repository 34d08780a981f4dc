"""The strict provider answers any request of a client: it refuses, and never breaks."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strict_llm.anthropic import AnthropicDialect
from strict_llm.chat import ChatDialect
from strict_llm.counting import TokenCounter
from strict_llm.dialect import StrictDialect
from strict_llm.responses import ResponsesDialect
from strict_llm.sealing import opened, sealed, signature
from strict_llm_tests.valid_bodies import ANTHROPIC, CHAT, RESPONSES, Object

DIALECTS: list[tuple[type[ChatDialect | ResponsesDialect | AnthropicDialect], Object]] = [
    (ChatDialect, CHAT),
    (ResponsesDialect, RESPONSES),
    (AnthropicDialect, ANTHROPIC),
]
odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 2),
    st.floats(allow_nan=False),
    st.sampled_from(["", "x", "user", "assistant", "tool_result", "text", "data:image/png,"]),
    st.sampled_from([[], {}, [[]], [{}], [None], {"type": "text"}, {"type": []}]),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 (JSON)
    """List the path of every value in a JSON value but the whole."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inner:
        yield (*path, key)
        if isinstance(each, dict | list):
            yield from places(each, (*path, key))


def judge(dialect: StrictDialect, body: Object) -> list[str]:
    """Do with a body all that the provider does before it asks its script."""
    if problems := list(dialect.problems(body)):
        return [problem.message for problem in problems]
    measured = TokenCounter().measure(dialect.pieces(body), 1.0)
    dialect.overflow(body, measured, 100)
    dialect.items(body)
    dialect.tools(body)
    dialect.max_tokens(body)
    return []


@pytest.mark.parametrize(("kind", "body"), DIALECTS)
def test_the_bodies_below_are_valid(
    kind: type[ChatDialect | ResponsesDialect | AnthropicDialect], body: Object
) -> None:
    assert judge(kind(), body) == []


@pytest.mark.parametrize(("kind", "body"), DIALECTS)
@given(data=st.data())
def test_a_body_with_something_odd_anywhere_is_judged(
    kind: type[ChatDialect | ResponsesDialect | AnthropicDialect], body: Object, data: st.DataObject
) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        changed = copy.deepcopy(body)
        *path, last = data.draw(st.sampled_from(list(places(changed))))
        holder = changed
        for key in path:
            holder = holder[key]
        if data.draw(st.booleans()):
            holder[last] = data.draw(odd)
        else:
            del holder[last]
        judge(kind(), changed)


@given(text=st.text())
def test_what_is_sealed_is_opened_and_nothing_else(text: str) -> None:
    assert opened(sealed(text)) == text
    assert opened(sealed(text)[:-5] + "AAAA=") is None
    assert signature(text) != signature(text + " ")
