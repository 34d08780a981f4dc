"""The strict provider compacts as Anthropic and OpenAI document it."""

from typing import Any

import pytest

from strict_llm.anthropic import AnthropicDialect
from strict_llm.exchange import RequestTraits, brief_summary
from strict_llm.responses import ResponsesDialect
from strict_llm.rules.anthropic_compaction import COMPACT, COMPACTION_BETA
from strict_llm.rules.responses_compaction import sealed_summary

BETAS = frozenset({COMPACTION_BETA})
BLOCK = {"type": "compaction", "content": "So far: one page."}
USE = {"type": "tool_use", "id": "t1", "name": "fetch", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "page"}


def claude(*content: object, edit: object = None) -> dict[str, Any]:
    """Make a body whose answer has some content, and a result of the use in it or before."""
    messages = [
        {"role": "user", "content": "Fetch it."},
        {"role": "assistant", "content": [*content]},
        {"role": "user", "content": [RESULT]},
    ]
    made = {"model": "claude-opus-5", "max_tokens": 10, "messages": messages}
    return {**made, "context_management": {"edits": [edit]}} if edit else made


def said(body: dict[str, Any], betas: frozenset[str] = BETAS) -> str:
    """Return what Anthropic's dialect refuses in a body."""
    problems = AnthropicDialect().problems(body, RequestTraits(betas=betas))
    return "\n".join(problem.message for problem in problems)


def test_what_precedes_a_block_is_dropped() -> None:
    """The model sees the block and what follows; a body may begin with it."""
    body = claude(BLOCK, USE)

    assert said(body) == ""
    assert AnthropicDialect().items(body) == (
        {"role": "assistant", "content": [BLOCK, USE]},
        body["messages"][2],
    )
    assert said({**body, "messages": body["messages"][1:]}) == ""
    failed = claude({"type": "compaction", "content": None}, USE)
    assert (said(failed), len(AnthropicDialect().items(failed))) == ("", 3)


@pytest.mark.parametrize(
    ("body", "betas", "problem"),
    [
        (claude(BLOCK, USE), frozenset(), "'compaction' found"),
        (claude(USE, BLOCK), BETAS, "tool_use_id"),  # the use is dropped, its result is not
        (claude({**BLOCK, "content": ""}, USE), BETAS, "at least 1 character"),
        (claude({**BLOCK, "content": 1}, USE), BETAS, "valid string"),
        (claude({**BLOCK, "index": 0}, USE), BETAS, "Extra inputs"),
        (claude(USE, edit={"type": COMPACT}), frozenset(), "context_management"),
        (claude(USE, edit={"type": COMPACT, "keep": 1}), BETAS, "keep: Extra inputs"),
        (
            claude(USE, edit={"type": COMPACT, "trigger": {"type": "tool_uses", "value": 9}}),
            BETAS,
            "input_tokens",
        ),
        (
            claude(USE, edit={"type": COMPACT, "trigger": {"type": "input_tokens", "value": 9}}),
            BETAS,
            "greater than or equal to 50000",
        ),
        (
            claude(USE, edit={"type": COMPACT, "pause_after_compaction": "x"}),
            BETAS,
            "valid boolean",
        ),
        (claude(USE, edit={"type": COMPACT, "instructions": 1}), BETAS, "valid string"),
    ],
)
def test_what_anthropic_refuses(body: dict[str, Any], betas: frozenset[str], problem: str) -> None:
    """A header that is missing, settings out of range, messages after a block's removal."""
    assert problem in said(body, betas)


def test_anthropic_compacts_at_the_trigger() -> None:
    """By default at 150,000 tokens; the block replaces all messages."""
    dialect, body = AnthropicDialect(), claude(USE, edit={"type": COMPACT})

    assert said(body) == ""
    assert dialect.compacted(body, 149_999, brief_summary) is None
    done = dialect.compacted(body, 150_000, brief_summary)
    assert done is not None
    assert done.block == {"type": "compaction", "content": "Summary of 3 messages."}
    assert done.body["messages"] == [{"role": "assistant", "content": [done.block]}]
    assert dialect.compacted(claude(USE), 10**6, brief_summary) is None


ITEM = {
    "type": "compaction",
    "id": "cmp_1",
    "encrypted_content": sealed_summary("gpt-6-sol", "one page"),
}
CALL = {"type": "function_call", "call_id": "c1", "name": "fetch", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "page"}


def gpt(*items: object, **settings: Any) -> dict[str, Any]:  # noqa: ANN401 (a body's)
    """Make a body of the Responses API."""
    return {"model": "gpt-6-sol", "input": [{"role": "user", "content": "Go."}, *items], **settings}


def test_openai_compacts_at_the_threshold() -> None:
    """The item is opaque, and what precedes it is dropped."""
    entry = {"type": "compaction", "compact_threshold": 1_000}
    dialect, body = ResponsesDialect(), gpt(CALL, OUTPUT, context_management=[entry])

    assert list(dialect.problems(body)) == []
    assert dialect.compacted(body, 999, brief_summary) is None
    done = dialect.compacted(body, 1_000, brief_summary)
    assert done is not None
    assert done.body["input"] == [done.block]
    assert "Summary" not in str(done.block)
    assert dialect.items(gpt(done.block, CALL, OUTPUT)) == (done.block, CALL, OUTPUT)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({**gpt(ITEM), "model": "gpt-6-luna"}, "could not be verified"),
        (gpt({**ITEM, "encrypted_content": "gAAAAAx"}), "could not be verified"),
        (gpt({"type": "compaction", "id": "cmp_1"}), "encrypted_content"),
        (gpt({**ITEM, "id": "rs_1"}), "begins with 'cmp'"),
        (gpt(CALL, ITEM, OUTPUT), "No tool call found"),
        (gpt(context_management={}), ""),
        (gpt(context_management={"type": "compaction"}), "context_management"),
        (gpt(context_management=[{"type": "truncate"}]), "truncate"),
        (gpt(context_management=[{"type": "compaction", "compact_threshold": 9}]), "below minimum"),
        (gpt(context_management=[{"type": "compaction", "compact_threshold": "x"}]), "an integer"),
    ],
)
def test_what_openai_refuses(body: dict[str, Any], problem: str) -> None:
    """Another model's item, settings out of range, what comes before an item."""
    found = "\n".join(f"{each.message}" for each in ResponsesDialect().problems(body))

    assert problem in found
    assert bool(found) == bool(problem)
