"""Whatever a client sends, the strict provider answers: it refuses, and never breaks."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.testing.strict.anthropic import AnthropicDialect
from thalweg.testing.strict.chat import ChatDialect
from thalweg.testing.strict.counting import Meter
from thalweg.testing.strict.dialect import Dialect
from thalweg.testing.strict.responses import ResponsesDialect
from thalweg.testing.strict.sealing import opened, sealed, signature

Object = dict[str, Any]

PIXEL = "iVBORw0KGgo="
FUNCTION: Object = {"name": "ls", "description": "List.", "parameters": {"type": "object"}}
CHAT: Object = {
    "model": "m",
    "max_completion_tokens": 10,
    "tools": [{"type": "function", "function": FUNCTION}],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ],
}
RESPONSES: Object = {
    "model": "m",
    "instructions": "Be brief.",
    "include": [],
    "tools": [{"type": "function", **FUNCTION}],
    "input": [
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "look"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": sealed("hm"),
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "ls", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    ],
}
ANTHROPIC: Object = {
    "model": "m",
    "max_tokens": 2_000,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "thinking": {"type": "enabled", "budget_tokens": 1_024},
    "tools": [{"name": "ls", "input_schema": {"type": "object"}}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
                },
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": signature("hm")},
                {"type": "tool_use", "id": "t1", "name": "ls", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "text", "text": "ok"}],
                }
            ],
        },
    ],
}
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


def judge(dialect: Dialect, body: Object) -> list[str]:
    """Do with a body all that the provider does before it asks its script."""
    if problems := list(dialect.problems(body)):
        return [problem.message for problem in problems]
    measured = Meter().measure(dialect.pieces(body), 1.0)
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
