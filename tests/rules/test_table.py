"""The table judges: a good request breaks no rule, and for each rule one body breaks it."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.rules.anthropic import prefix_digest
from tests.rules.rule import PROVIDERS, Issued, Provider, Request, Thought
from tests.rules.story import PNG
from tests.rules.table import RULES, faults

Body = dict[str, Any]

MODELS: dict[Provider, str] = {
    "openai-chat": "gpt-4o",
    "openai-responses": "gpt-5.2",
    "anthropic": "claude-fable-5-2",
    "gemini": "gemini-3-pro-preview",
}
SCHEMA: Body = {"type": "object", "properties": {"page": {"type": "integer"}}, "required": ["page"]}
DATA_URL = f"data:image/png;base64,{PNG}"
GOOD: dict[Provider, Body] = {
    "openai-chat": {
        "model": "gpt-4o",
        "messages": [
            {"role": "system", "content": "Be careful."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look."},
                    {"type": "image_url", "image_url": {"url": DATA_URL}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "fetch", "arguments": '{"page": 1}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": ""},
        ],
        "tools": [{"type": "function", "function": {"name": "fetch", "parameters": SCHEMA}}],
    },
    "openai-responses": {
        "model": "gpt-5.2",
        "store": False,
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "Look."},
                    {"type": "input_image", "image_url": DATA_URL},
                ],
            },
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "fetch",
                "arguments": "{}",
            },
            {"type": "function_call_output", "call_id": "call_1", "output": "text"},
        ],
        "tools": [{"type": "function", "name": "fetch", "parameters": SCHEMA}],
    },
    "anthropic": {
        "model": "claude-fable-5-2",
        "max_tokens": 100,
        "thinking": {"type": "adaptive"},
        "system": "Be careful.",
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look."},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": PNG},
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "I look.", "signature": "sig1"},
                    {"type": "tool_use", "id": "toolu_1", "name": "fetch", "input": {"page": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": ""},
                    {"type": "text", "text": "Go on."},
                ],
            },
            {"role": "system", "content": "Be brief."},
        ],
        "tools": [{"name": "fetch", "input_schema": SCHEMA}],
    },
    "gemini": {
        "systemInstruction": {"parts": [{"text": "Be careful."}]},
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "Look."},
                    {"inlineData": {"mimeType": "image/png", "data": PNG}},
                ],
            },
            {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"name": "fetch", "args": {"page": 1}, "id": "a"},
                        "thoughtSignature": "c2ln",
                    }
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "fetch", "response": {"output": ""}, "id": "a"}}
                ],
            },
        ],
        "tools": [{"functionDeclarations": [{"name": "fetch", "parameters": SCHEMA}]}],
    },
}


def issued() -> Issued:
    """Return what the endpoints issued for the good bodies."""
    good = GOOD["anthropic"]
    prefix = prefix_digest(good["system"], good["tools"], good["messages"][:1])
    thought = Thought("I look.", good["model"], prefix, "")
    return Issued({"sig1": thought}, {"rs_1": "gAAA"}, {"fc_1": "rs_1"}, {"c2ln"})


def judged(provider: Provider, body: Body, raw: bytes = b"") -> list[str]:
    """Return the faults of a body."""
    sent = raw or json.dumps(body).encode()
    return faults(provider, Request(body, sent, MODELS[provider], issued()))


def put(*path: str | int, value: object) -> Callable[[Body], None]:
    """Return a change that sets one place of a body."""

    def change(body: Body) -> None:
        inner: Any = body
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value

    return change


def cut(*path: str | int) -> Callable[[Body], None]:
    """Return a change that removes one place of a body."""

    def change(body: Body) -> None:
        inner: Any = body
        for key in path[:-1]:
            inner = inner[key]
        del inner[path[-1]]

    return change


def enabled_without_thinking(body: Body) -> None:
    """Enable thinking, and end with an open tool loop that has none."""
    body["thinking"]["type"] = "enabled"
    del body["messages"][1]["content"][0]
    del body["messages"][3], body["messages"][2]["content"][1]


def nothing(_: Body) -> None:
    """Change nothing: the body is padded to its limit (`PADDED`)."""


CALL = ("messages", 2, "tool_calls", 0)
PARTS = ("contents", 1, "parts", 0)
MANY = [{"type": "function", "name": f"f{n}", "function": {"name": f"f{n}"}} for n in range(129)]
PADDED = {"anthropic/size": 32_000_001, "gemini/size": 100_000_001}
PAIRS = {str(n): "x" for n in range(17)}
BREAKS: dict[str, Callable[[Body], None]] = {
    "openai-chat/unicode": put("messages", 3, "content", value="caf\udce9"),
    "openai-chat/messages": put("messages", 0, "role", value="narrator"),
    "openai-chat/content": put("messages", 3, "content", value=[]),
    "openai-chat/pairs": cut("messages", 3),
    "openai-chat/tool-calls": put("messages", 2, "tool_calls", value=[]),
    "openai-chat/call-names": put(*CALL, "function", "name", value="functions.fetch"),
    "openai-chat/call-ids": put(*CALL, "id", value="c" * 41),
    "openai-chat/arguments": put(*CALL, "function", "arguments", value={}),
    "openai-chat/media": put("messages", 1, "content", 1, "image_url", "url", value="data:,"),
    "openai-chat/names": put("messages", 1, "name", value="a b"),
    "openai-chat/length": put("messages", 3, "content", value="x" * 10_485_761),
    "openai-chat/tools": put("tools", 0, "function", "parameters", "type", value="string"),
    "openai-chat/tool-count": put("tools", value=MANY),
    "openai-chat/tool-choice": put(
        "tool_choice", value={"type": "function", "function": {"name": "g"}}
    ),
    "openai-chat/metadata": put("metadata", value=PAIRS),
    "openai-responses/unicode": put("input", 3, "output", value="\ud83d"),
    "openai-responses/input": put("input", value=[]),
    "openai-responses/content": put("input", 0, "content", 0, "type", value="text"),
    "openai-responses/pairs": cut("input", 3),
    "openai-responses/calls": put("input", 2, "name", value=""),
    "openai-responses/outputs": put("input", 3, "output", value=[{"type": "image"}]),
    "openai-responses/item-ids": put("input", 2, "id", value="call_1"),
    "openai-responses/reasoning-pairs": cut("input", 1),
    "openai-responses/reasoning": put("input", 1, "encrypted_content", value="gBBB"),
    "openai-responses/media": put("input", 0, "content", 1, "image_url", value="image.png"),
    "openai-responses/tools": put("tools", 0, "name", value="a.b"),
    "openai-responses/tool-count": put("tools", value=MANY),
    "openai-responses/metadata": put("metadata", value=PAIRS),
    "anthropic/unicode": put("messages", 2, "content", 1, "text", value="\ud83d"),
    "anthropic/first": cut("messages", 0),
    "anthropic/roles": put("messages", 3, "role", value="developer"),
    "anthropic/system-turns": put("messages", 0, "role", value="system"),
    "anthropic/content": put("messages", 0, "content", value=[]),
    "anthropic/text": put("messages", 2, "content", 1, "text", value=" \n"),
    "anthropic/system-prompt": put("system", value=[{"type": "text", "text": " "}]),
    "anthropic/pairs": cut("messages", 2, "content", 0),
    "anthropic/results-first": lambda body: body["messages"][2]["content"].reverse(),
    "anthropic/calls": put("messages", 1, "content", 1, "name", value="a.b"),
    "anthropic/signatures": put("messages", 1, "content", 0, "thinking", value="I looked."),
    "anthropic/binding": put("messages", 0, "content", 0, "text", value="Look away."),
    "anthropic/thinking-first": enabled_without_thinking,
    "anthropic/forced-tools": put("tool_choice", value={"type": "any"}),
    "anthropic/always-thinking": put("thinking", "type", value="disabled"),
    "anthropic/prefill": put("messages", 3, value={"role": "assistant", "content": "So"}),
    "anthropic/cache-marks": put(
        "messages", 1, "content", 0, "cache_control", value={"type": "ephemeral"}
    ),
    "anthropic/blocks": put("messages", 2, "content", 1, "type", value="input_text"),
    "anthropic/media": put("messages", 0, "content", 1, "source", "data", value=""),
    "anthropic/tools": put("tools", 0, "name", value="f" * 129),
    "anthropic/limits": cut("max_tokens"),
    "anthropic/size": nothing,
    "anthropic/metadata": put("metadata", value={"thread": "1"}),
    "gemini/unicode": put("contents", 0, "parts", 0, "text", value="\udce9"),
    "gemini/contents": put("contents", 1, "role", value="assistant"),
    "gemini/parts": put("contents", 0, "parts", 0, "text", value=""),
    "gemini/system": put("systemInstruction", "parts", 0, "text", value=""),
    "gemini/ends": cut("contents", 2),
    "gemini/order": put("contents", 2, "parts", 0, value={"text": "Well?"}),
    "gemini/call-ids": put("contents", 2, "parts", 0, "functionResponse", "id", value="b"),
    "gemini/calls": put(*PARTS, "functionCall", "name", value="1st"),
    "gemini/signatures": cut(*PARTS, "thoughtSignature"),
    "gemini/media": put("contents", 0, "parts", 1, "inlineData", "mimeType", value=""),
    "gemini/size": nothing,
    "gemini/tools": put("tools", 0, "functionDeclarations", 0, "name", value=""),
}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_good_request_breaks_no_rule(provider: Provider) -> None:
    assert judged(provider, GOOD[provider]) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_rule_is_broken_by_its_body(rule: Any) -> None:  # noqa: ANN401
    body = copy.deepcopy(GOOD[rule.provider])
    BREAKS[rule.name](body)
    raw = json.dumps(body).encode().ljust(PADDED.get(rule.name, 0))
    found = judged(rule.provider, body, raw)
    assert any(fault.startswith(f"{rule.name}: ") for fault in found), found


def test_every_rule_has_a_name_of_its_own_and_a_dated_source() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    for rule in RULES:
        assert rule.source.url.startswith("https://"), rule.name
        assert "2023-01" <= rule.since <= "2026-11-30", rule.name


def test_a_leading_run_of_thinking_may_be_left_out_but_none_from_the_middle() -> None:
    """Preserved thinking: the chain of the blocks that are sent has no gap."""
    body = copy.deepcopy(GOOD["anthropic"])
    known = issued()
    for number in (2, 3):
        messages = body["messages"]
        messages[-1]["role"] = "user"
        prefix = prefix_digest(body["system"], body["tools"], messages)
        known.thoughts[f"sig{number}"] = Thought("So.", body["model"], prefix, f"sig{number - 1}")
        messages.append(
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "So.", "signature": f"sig{number}"},
                    {"type": "text", "text": "Yes."},
                ],
            }
        )
        messages.append({"role": "user", "content": "Next."})

    def accepted(*left_out: str) -> bool:
        sent = copy.deepcopy(body)
        for message in sent["messages"]:
            if isinstance(message["content"], list):
                message["content"] = [
                    b for b in message["content"] if b.get("signature") not in left_out
                ]
        raw = json.dumps(sent).encode()
        return not faults("anthropic", Request(sent, raw, body["model"], known))

    assert accepted()
    assert accepted("sig1")
    assert accepted("sig1", "sig2")
    assert accepted("sig1", "sig2", "sig3")
    assert not accepted("sig2")
