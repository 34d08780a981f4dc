"""The strict provider's errors for a body that is not of the right shape."""

import copy
from typing import Any

import pytest

from strict_llm.anthropic import AnthropicDialect
from strict_llm.chat import ChatDialect
from strict_llm.dialect import StrictDialect
from strict_llm.responses import ResponsesDialect
from strict_llm_tests.valid_bodies import ANTHROPIC, CHAT, RESPONSES, Object

GONE = object()
Change = tuple[str, object, str]
"""A path, the value there instead (or nothing), and words of the first problem."""

CHAT_CHANGES: list[Change] = [
    ("model", GONE, "you must provide a model parameter"),
    ("messages", GONE, "'messages'"),
    ("stream_options", 1, "'stream_options': expected an object, but got an integer"),
    ("tools", "x", "'tools'"),
    ("tools/0/function", GONE, "'tools[0].function'"),
    ("tools/0/function/name", "a.b", "tools[0].function.name"),
    ("tools/0/function/name", "", "empty string"),
    ("tools/0/function/name", 1, "expected a string, but got an integer"),
    ("messages/0", "hi", "'messages[0]': expected an object"),
    ("messages/0/role", GONE, "'messages[0].role'"),
    ("messages/0/content", 1.5, "but got a decimal instead"),
    ("messages/0/content", [], "'messages[0].content': empty array"),
    ("messages/0/content", "x" * 10_485_761, "maximum length 10485760"),
    ("messages/0/tool_calls", [{}], "Unknown parameter: 'messages[0].tool_calls'"),
    ("messages/1/content/0", "x", "'messages[1].content[0]': expected an object"),
    ("messages/1/content/0/type", GONE, "'messages[1].content[0].type'"),
    ("messages/1/content/0/text", GONE, "'messages[1].content[0].text'"),
    ("messages/1/content/1/image_url/url", None, "but got null instead"),
    ("messages/2/tool_calls", {"a": 1}, "'messages[2].tool_calls'"),
    ("messages/2/tool_calls/0", None, "'messages[2].tool_calls[0]': expected an object"),
    ("messages/2/tool_calls/0/id", GONE, "'messages[2].tool_calls[0].id'"),
    ("messages/2/tool_calls/0/type", GONE, "'messages[2].tool_calls[0].type'"),
    ("messages/2/tool_calls/0/function", GONE, "'messages[2].tool_calls[0].function'"),
    ("messages/3/tool_call_id", GONE, "'messages[3].tool_call_id'"),
    ("messages/3/tool_call_id", "c" * 41, "'messages[3].tool_call_id': string too long"),
]
RESPONSES_CHANGES: list[Change] = [
    ("model", GONE, "'model'"),
    ("input", GONE, "'input'"),
    ("input", 1, "'input': expected one of"),
    ("previous_response_id", "resp_1", "Previous response with id 'resp_1' not found."),
    ("include", 1, "'include'"),
    ("instructions", 1, "'instructions'"),
    ("tools/0", 1, "'tools[0]'"),
    ("tools/0/name", "a b", "tools[0].name"),
    ("input/0", 1, "'input[0]': expected an object"),
    ("input/1/type", GONE, "'input[1].type'"),
    ("input/0/role", "robot", "'robot'"),
    ("input/0/content", GONE, "'input[0].content'"),
    ("input/0/content", 1, "'input[0].content'"),
    ("input/0/content", "x" * 10_485_761, "maximum length 10485760"),
    ("input/0/content/0", 1, "'input[0].content[0]': expected an object"),
    ("input/0/content/0/type", GONE, "'input[0].content[0].type'"),
    ("input/0/content/0/text", GONE, "'input[0].content[0].text'"),
    ("input/0/content/0/index", 0, "Unknown parameter: 'input[0].content[0].index'"),
    ("input/1/summary", GONE, "'input[1].summary'"),
    ("input/1/summary/0/text", GONE, "'input[1].summary[0].text'"),
    ("input/1/encrypted_content", 1, "'input[1].encrypted_content'"),
    ("input/1/encrypted_content", GONE, "Item with id 'rs_1' not found."),
    ("input/2/id", 1, "'input[2].id': expected a string"),
    ("input/2/name", "a.b", "input[2].name"),
    ("input/2/call_id", GONE, "'input[2].call_id'"),
    ("input/3/call_id", "", "'input[3].call_id': empty string"),
    ("input/3/output", GONE, "'input[3].output'"),
    ("input/3/output", [], "'input[3].output': empty array"),
    ("input/3/output", 1, "'input[3].output'"),
]
BLOCK = "messages.1.content"
ANTHROPIC_CHANGES: list[Change] = [
    ("model", GONE, "model: Field required"),
    ("max_tokens", "x", "max_tokens: Input should be a valid integer"),
    ("max_tokens", 0, "max_tokens: must be greater than or equal to 1"),
    ("max_tokens", 1_024, "`max_tokens` must be greater than `thinking.budget_tokens`"),
    ("thinking", 1, "thinking: Input should be a valid dict"),
    ("thinking/budget_tokens", GONE, "thinking.enabled.budget_tokens: Field required"),
    ("system", 1, "system: Input should be a valid str or list"),
    ("system/0/text", "", "system: text content blocks must be non-empty"),
    ("system/0/cache_control/type", "x", "system.0.text.cache_control: Input should be"),
    ("cache_control", {"type": "forever"}, "cache_control: Input should be"),
    ("tools/0", 1, "tools.0: Input should be an object"),
    ("tools/0/cache_control", 1, "tools.0.cache_control: Input should be"),
    ("tools/0/name", "", "tools.0.custom.name: String should have at least 1 character"),
    ("tools/0/name", "n" * 129, "tools.0.custom.name: String should have at most 128"),
    ("tools/0/name", "a.b", "tools.0.custom.name: String should match pattern"),
    ("tools/0/input_schema", GONE, "tools.0.custom.input_schema: Field required"),
    ("tools", [{"name": "a", "input_schema": {}}] * 2, "tools: Tool names must be unique."),
    ("messages", GONE, "messages: Field required"),
    ("messages", 1, "messages: Input should be a valid list"),
    ("messages/0", 1, "messages.0: Input should be an object"),
    ("messages/0/content", GONE, "messages.0.content: Field required"),
    ("messages/0/content", 1, "messages.0.content: Input should be a valid string or list"),
    ("messages/0/content/0", 1, "messages.0.content.0: Input should be an object"),
    ("messages/0/content/0/type", GONE, "messages.0.content.0.type: Field required"),
    ("messages/0/content/0/text", 1, "messages.0.content.0.text.text: Input should be a valid"),
    ("messages/0/content/0/index", 1, "messages.0.content.0.text.index: Extra inputs are not"),
    ("messages/0/content/1/source", 1, "messages.0.content.1.image.source: Input tag"),
    ("messages/1/content/0/signature", GONE, f"{BLOCK}.0.thinking.signature: Field required"),
    ("messages/1/content/1/input", "x", f"{BLOCK}.1.tool_use.input: Input should be a valid"),
    ("messages/1/content/1/name", "a.b", f"{BLOCK}.1.tool_use.name: String should match"),
    ("messages/2/content/0/tool_use_id", "a.b", "messages.2.content.0.tool_result.tool_use_id"),
    ("messages/2/content/0/content", 1, "messages.2.content.0.tool_result.content: Input should"),
    ("messages/2/content/0/content/0/text", "", "messages: text content blocks must be non-empty"),
    (
        "messages/1/content/0",
        {"type": "redacted_thinking", "data": "x"},
        f"{BLOCK}.0: Invalid `data` in `redacted_thinking` block",
    ),
    (
        "messages/1/content",
        [{"type": "redacted_thinking", "data": ""}],
        f"{BLOCK}.0: Invalid `data`",
    ),
]
CASES: list[tuple[type[StrictDialect], Object, Change]] = [
    (dialect, body, change)
    for dialect, body, changes in (
        (ChatDialect, CHAT, CHAT_CHANGES),
        (ResponsesDialect, RESPONSES, RESPONSES_CHANGES),
        (AnthropicDialect, ANTHROPIC, ANTHROPIC_CHANGES),
    )
    for change in changes
]


@pytest.mark.parametrize(
    ("dialect", "body", "change"), CASES, ids=[f"{c[0].__name__}-{c[2][2]}" for c in CASES]
)
def test_one_wrong_field_is_named(
    dialect: type[StrictDialect], body: Object, change: Change
) -> None:
    path, instead, words = change
    changed: Any = copy.deepcopy(body)
    holder, keys = changed, [int(key) if key.isdigit() else key for key in path.split("/")]
    for key in keys[:-1]:
        holder = holder[key]
    if instead is GONE:
        del holder[keys[-1]]
    else:
        holder[keys[-1]] = instead
    assert words in next(iter(dialect().problems(changed))).message


def test_a_thought_may_not_end_a_turn() -> None:
    body = copy.deepcopy(ANTHROPIC)
    thought = body["messages"][1]["content"].pop(0)
    body["messages"] = [body["messages"][0], {"role": "assistant", "content": [thought]}]
    (problem,) = AnthropicDialect().problems(body)
    assert problem.message == (
        "messages.1: The final block in an assistant message cannot be `thinking`."
    )
