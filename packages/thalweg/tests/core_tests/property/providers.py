"""What providers demand of a request, from their public rules, in words of its own.

Each function takes what a wire wrote and lists what the provider would refuse. Nothing here
uses the engine's own gate.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

Body = Sequence[Any]


_OPENAI_CHAT_FIELDS = {
    "role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio",
    "function_call", "reasoning_content",
}  # fmt: skip
"""Of a message; the last one is not OpenAI's own but of most who copied it."""


def openai_chat(body: Body) -> list[str]:
    """Check `messages` of `POST /v1/chat/completions`."""
    return list(_openai_chat(body))


def _openai_chat(body: Body) -> Iterator[str]:  # noqa: C901, PLR0912 (a list of rules)
    waiting: set[str] = set()
    seen: set[str] = set()
    if not any(m["role"] != "system" for m in body):
        yield "no message beside the system prompt"
    for n, message in enumerate(body):
        role, content = message["role"], message.get("content")
        if unknown := message.keys() - _OPENAI_CHAT_FIELDS:
            yield f"{n}: unrecognized request argument {sorted(unknown)}"
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"{n}: a tool message must answer a preceding tool_calls entry"
            waiting.discard(message["tool_call_id"])
            if not isinstance(content, str) and any(p["type"] != "text" for p in content):
                yield f"{n}: only text in a tool message"
            continue
        if waiting:
            yield f"{n}: tool_call_ids without a response: {len(waiting)}"
            waiting = set()
        calls = message.get("tool_calls") or []
        if role not in {"system", "user", "assistant"}:
            yield f"{n}: role {role}"
        if calls and role != "assistant":
            yield f"{n}: tool_calls of {role}"
        if not calls and _is_blank(content):
            yield f"{n}: empty content of {role}"
        if (
            role != "user"
            and isinstance(content, list)
            and any(p["type"] != "text" for p in content)
        ):
            yield f"{n}: only text in a message of {role}"
        for call in calls:
            if not 1 <= len(call["id"]) <= 40:
                yield f"{n}: an id of {len(call['id'])} characters, 1 to 40 are allowed"
            if call["id"] in seen:
                yield f"{n}: id {call['id']} twice"
            if not isinstance(call["function"]["arguments"], str):
                yield f"{n}: arguments must be a string"
            seen.add(call["id"])
            waiting.add(call["id"])
    if waiting:
        yield "the end: tool_call_ids without a response"


def _is_blank(content: object) -> bool:
    if isinstance(content, list):
        return not any(p.get("type") != "text" or p["text"].strip() for p in content)
    return not isinstance(content, str) or not content.strip()


def openai_responses(body: Body) -> list[str]:
    """Check `input` of `POST /v1/responses`."""
    return list(_openai_responses(body))


def _openai_responses(body: Body) -> Iterator[str]:  # noqa: C901, PLR0912 (a list of rules)
    open_calls: set[str] = set()
    seen: set[str] = set()
    for n, item in enumerate(body):
        kind = item.get("type", "message")
        following = body[n + 1] if n + 1 < len(body) else {}
        if kind == "reasoning":
            if not (_of_model(following)):
                yield f"{n}: reasoning without its required following item"
        elif kind == "function_call":
            if not 1 <= len(item["call_id"]) <= 64 or item["call_id"] in seen:
                yield f"{n}: call_id {item['call_id'][:70]!r} too long, empty or used"
            if not isinstance(item["arguments"], str):
                yield f"{n}: arguments must be a string"
            seen.add(item["call_id"])
            open_calls.add(item["call_id"])
        elif kind == "function_call_output":
            if item["call_id"] not in open_calls:
                yield f"{n}: no tool call found for this output"
            open_calls.discard(item["call_id"])
        elif kind == "message":
            kinds = {"output_text", "refusal"} if item["role"] == "assistant" else {
                "input_text", "input_image", "input_file"
            }  # fmt: skip
            content = item["content"]
            if isinstance(content, list) and any(p["type"] not in kinds for p in content):
                yield f"{n}: a part that {item['role']} may not have"
            if not content:
                yield f"{n}: empty content of {item['role']}"
    if open_calls:
        yield "the end: no tool output found for function calls"
    if not any(item.get("role") != "system" for item in body):
        yield "no input beside the system prompt"


def _of_model(item: Any) -> bool:  # noqa: ANN401 (any provider object)
    kinds = {"function_call", "custom_tool_call", "reasoning"}
    return item.get("role") == "assistant" or item.get("type") in kinds


_ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def anthropic(body: Body) -> list[str]:
    """Check `system` and `messages` of `POST /v1/messages`."""
    return list(_anthropic(body))


def _anthropic(body: Body) -> Iterator[str]:  # noqa: C901, PLR0912 (a list of rules)
    at = next((k for k, m in enumerate(body) if m["role"] != "system"), len(body))
    for message in body[:at]:
        if _blocks(message) == [] or any(not b["text"].strip() for b in _blocks(message)):
            yield "system: text content blocks must be non-empty"
    messages = body[at:]
    if not messages or messages[0]["role"] != "user":
        yield "messages: first message must use the user role"
    if messages and messages[-1]["role"] != "user":
        yield "messages: the conversation must end with a user message"
    uses: list[str] = []
    seen: set[str] = set()
    before = ""
    for n, message in enumerate(messages):
        blocks = _blocks(message)
        if unknown := message.keys() - {"role", "content"}:
            yield f"{n}: {sorted(unknown)}: extra inputs are not permitted"
        if message["role"] not in {"user", "assistant"} or message["role"] == before:
            yield f"{n}: roles must alternate, found {message['role']} again"
        before = message["role"]
        if not blocks:
            yield f"{n}: all messages must have non-empty content"
        yield from (f"{n}: {problem}" for problem in _anthropic_blocks(blocks, message["role"]))
        answers = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
        if sorted(answers) != sorted(uses):
            yield f"{n}: tool_use ids without tool_result blocks immediately after, or unexpected"
        kinds = [b["type"] == "tool_result" for b in blocks]
        if kinds != sorted(kinds, reverse=True):
            yield f"{n}: tool_result blocks must come first"
        uses = [b["id"] for b in blocks if b["type"] == "tool_use"]
        if len(set(uses)) < len(uses) or seen & set(uses):
            yield f"{n}: tool_use ids must be unique"
        seen |= set(uses)
        if any(not _ANTHROPIC_ID.fullmatch(use) for use in uses):
            yield f"{n}: an id must match ^[a-zA-Z0-9_-]+$"
    if uses:
        yield "the end: tool_use without tool_result"


def _blocks(message: Any) -> list[Any]:  # noqa: ANN401 (any provider object)
    content = message["content"]
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)


def _anthropic_blocks(blocks: list[Any], role: str) -> Iterator[str]:
    own = {
        "user": {"text", "image", "document", "tool_result"},
        "assistant": {"text", "thinking", "redacted_thinking", "tool_use"},
    }[role]
    for block in blocks:
        kind = block["type"]
        server = role == "assistant" and kind.endswith(("_tool_use", "_tool_result"))
        if kind not in own and not server:
            yield f"a {kind} block in a message of {role}"
        if kind == "text" and not block["text"].strip():
            yield "text content blocks must contain non-whitespace text"
        if kind == "thinking" and not (block["signature"] and isinstance(block["thinking"], str)):
            yield "thinking without a signature"
        if kind == "tool_use" and not isinstance(block["input"], dict):
            yield "input must be an object"
    if blocks and blocks[-1]["type"] in {"thinking", "redacted_thinking"}:
        yield "the final block in an assistant message cannot be thinking"
    asked = [b["id"] for b in blocks if b["type"] == "server_tool_use"]
    given = [b["tool_use_id"] for b in blocks if b["type"] == "web_search_tool_result"]
    if asked != given:
        yield "a server tool's result without its use, or the reverse"


def gemini(body: Body) -> list[str]:
    """Check `systemInstruction` and `contents` of `generateContent`."""
    return list(_gemini(body))


def _gemini(body: Body) -> Iterator[str]:  # noqa: C901 (a list of rules)
    at = next((k for k, m in enumerate(body) if m["role"] != "system"), len(body))
    contents = body[at:]
    if not contents or contents[0]["role"] != "user":
        yield "contents must begin with the user"
    if contents and contents[-1]["role"] != "user":
        yield "contents must end with the user or a function response"
    calls: list[tuple[str, str]] = []
    before = ""
    for n, content in enumerate(contents):
        role, parts = content["role"], content["parts"]
        if role not in {"user", "model"} or role == before:
            yield f"{n}: a {role} turn after a {before} turn"
        before = role
        if unknown := content.keys() - {"role", "parts"}:
            yield f"{n}: unknown names {sorted(unknown)}"
        if not parts:
            yield f"{n}: parts must not be empty"
        if any("text" in part and not part["text"] for part in parts):
            yield f"{n}: empty text"
        if any("thought" in part for part in parts) and not any("thought" not in p for p in parts):
            yield f"{n}: nothing but thoughts"
        given = [
            (p["functionResponse"].get("id", ""), p["functionResponse"]["name"])
            for p in parts
            if "functionResponse" in p
        ]
        if sorted(given) != sorted(calls):
            yield f"{n}: as many function responses as function calls, right after them"
        asked = [p["functionCall"] for p in parts if "functionCall" in p]
        calls = [(c.get("id", ""), c["name"]) for c in asked]
        if calls and role != "model":
            yield f"{n}: a function call of {role}"
        if len({i for i, _ in calls}) < len(calls) or any(
            not isinstance(c["args"], dict) for c in asked
        ):
            yield f"{n}: function calls need ids of their own and objects as arguments"
    if calls:
        yield "the end: function calls without responses"


PROVIDERS = {
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
}
"""Checks by the name of the wire that writes for them."""


def as_bytes(body: Body) -> list[str]:
    """Write each object of a body as it is sent over the line."""
    return [json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in body]
