"""The strict provider edits a request's context as Anthropic documents it."""

from typing import Any

import pytest

from strict_llm.anthropic import AnthropicDialect
from strict_llm.exchange import RequestTraits
from strict_llm.rules.anthropic_editing import (
    EDITING_BETA,
    PLACEHOLDER,
    THINKING,
    TOOL_USES,
    edited,
)
from strict_llm.sealing import signature

TRAITS = RequestTraits(betas=frozenset({"other", EDITING_BETA}))
USES = 6


def body(*edits: object) -> dict[str, Any]:
    """Make a request with six tool uses in two turns, thinking before each."""
    messages: list[dict[str, Any]] = []
    for n in range(USES):
        if n % 3 == 0:
            messages.append({"role": "user", "content": f"Do part {n}."})
        thinking = {"type": "thinking", "thinking": f"hm {n}", "signature": signature(f"hm {n}")}
        name = "keep" if n == 1 else "fetch"
        use = {"type": "tool_use", "id": f"t{n}", "name": name, "input": {"page": n}}
        messages.append({"role": "assistant", "content": [thinking, use]})
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"page {n} " * 50}
        messages.append({"role": "user", "content": [result]})
    made = {"model": "claude-opus-5", "max_tokens": 10, "messages": messages}
    return {**made, "context_management": {"edits": [*edits]}} if edits else made


def length(asked: dict[str, Any]) -> int:
    """Count a body's characters instead of its tokens."""
    return len(str(asked["messages"]))


def cleared(asked: dict[str, Any]) -> list[str]:
    """Return the ids of the uses whose results the model does not see."""
    blocks = [b for m in edited(asked, length).body["messages"] for b in m["content"]]
    results = [b for b in blocks if isinstance(b, dict) and b["type"] == "tool_result"]
    return [b["tool_use_id"] for b in results if b["content"] == PLACEHOLDER]


NOW = {"type": "tool_uses", "value": 1}


@pytest.mark.parametrize(
    ("edit", "ids"),
    [
        ({}, []),
        ({"trigger": NOW}, ["t0", "t1", "t2"]),
        ({"trigger": NOW, "keep": {"type": "tool_uses", "value": 5}}, ["t0"]),
        ({"trigger": NOW, "exclude_tools": ["keep"]}, ["t0", "t2"]),
        ({"trigger": {"type": "tool_uses", "value": USES}}, []),
        ({"trigger": {"type": "input_tokens", "value": 100}}, ["t0", "t1", "t2"]),
        ({"trigger": NOW, "clear_at_least": {"type": "input_tokens", "value": 10**6}}, []),
    ],
)
def test_the_oldest_results_are_cleared(edit: dict[str, Any], ids: list[str]) -> None:
    """By default above 100,000 tokens, all but three; not where too little would be gained."""
    asked = body({"type": TOOL_USES, **edit})

    assert list(AnthropicDialect().problems(asked, TRAITS)) == []
    assert cleared(asked) == ids


def test_what_was_cleared_is_reported() -> None:
    """With its tokens, edit by edit."""
    thinking = {"type": THINKING, "keep": {"type": "thinking_turns", "value": 1}}
    found = edited(body(thinking, {"type": TOOL_USES, "trigger": NOW}), length)

    assert [{k: v for k, v in one.items() if "tokens" not in k} for one in found.applied] == [
        {"type": THINKING, "cleared_thinking_turns": 1},
        {"type": TOOL_USES, "cleared_tool_uses": 3},
    ]
    assert all(one["cleared_input_tokens"] > 0 for one in found.applied)
    assert str(found.body).count("'thinking': 'hm") == 3


def test_reasoning_stays_where_that_is_asked() -> None:
    """All of it."""
    found = edited(body({"type": THINKING, "keep": "all"}), length)

    assert (found.applied, str(found.body).count("'thinking': 'hm")) == ((), USES)


@pytest.mark.parametrize(
    ("edits", "traits", "said"),
    [
        (
            [{"type": TOOL_USES}],
            RequestTraits(),
            "context_management: Extra inputs are not permitted",
        ),
        ([{"type": "clear_all"}], TRAITS, "edits.0: Input should be"),
        ([{"type": TOOL_USES, "keep": 3}], TRAITS, "edits.0.keep: Input should be"),
        ([{"type": TOOL_USES, "keeps": 3}], TRAITS, "edits.0.keeps: Extra inputs"),
        ([{"type": TOOL_USES, "exclude_tools": "x"}], TRAITS, "exclude_tools: Input should be"),
        ([{"type": TOOL_USES}, {"type": THINKING}], TRAITS, "must be the first edit"),
    ],
)
def test_an_invalid_request_for_it_is_refused(
    edits: list[Any], traits: RequestTraits, said: str
) -> None:
    """Without the beta header, with unknown fields, in another order."""
    problems = [*AnthropicDialect().problems(body(*edits), traits)]

    assert len(problems) == 1
    assert said in problems[0].message
