"""Checks on a body of Anthropic's `POST /v1/messages`."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.rules.rule import Request
from tests.rules.shared import IMAGE_TYPES, bad_base64, bad_schema, repeated, shown_type

ALPHABET = re.compile(r"[a-zA-Z0-9_-]+")
THINKING = frozenset({"thinking", "redacted_thinking"})
BINDING = re.compile(r"claude-(fable-5-[12]|mythos-5-2|opus-5-5)")
"""Models that bind a thinking block to the conversation before it, and refuse forced tools."""
PREFILLED = re.compile(r"claude-(3|(opus|sonnet|haiku)-4(-[0-5])?(-\d{8})?$)")
"""Models up to 4.5, which continue a final assistant message."""
SYSTEM_TURNS = re.compile(r"claude-(opus-4-8|opus-5|sonnet-5|haiku-5|fable-5|mythos-5)")
"""Models from Opus 4.8 on, which take `system` messages in mid-conversation."""


def blocks(content: object) -> list[Any]:
    """Return content as blocks; a string is one block of text."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list) else []


def messages(request: Request) -> Iterator[tuple[str, Any]]:
    """Yield each message with its path."""
    for index, message in enumerate(request.body.get("messages") or []):
        yield f"messages.{index}", message


def all_blocks(request: Request) -> Iterator[tuple[str, Any]]:
    """Yield each block of each message with its path, those inside a result too."""
    for path, message in messages(request):
        for index, block in enumerate(blocks(message.get("content"))):
            yield f"{path}.content.{index}", block
            if block.get("type") == "tool_result" and isinstance(block.get("content"), list):
                for inner, part in enumerate(block["content"]):
                    yield f"{path}.content.{index}.content.{inner}", part


def turns(conversation: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    """Join neighbouring messages of one role; `system` messages are a role of their own."""
    joined: list[tuple[str, list[Any]]] = []
    for message in conversation:
        if joined and joined[-1][0] == message.get("role"):
            joined[-1][1].extend(blocks(message.get("content")))
        else:
            joined.append((str(message.get("role")), blocks(message.get("content"))))
    return joined


def begins_with_user(request: Request) -> Iterator[str]:
    """The conversation is not empty and begins with a user message."""
    conversation = request.body.get("messages") or []
    if not conversation:
        yield "messages: at least one message is required"
    elif conversation[0].get("role") != "user":
        yield "messages: first message must use the user role"


def roles(request: Request) -> Iterator[str]:
    """Roles are user and assistant, and `system` on models that take it."""
    for path, message in messages(request):
        role = message.get("role")
        if role == "system" and SYSTEM_TURNS.search(request.model):
            continue
        if role not in {"user", "assistant"}:
            yield f"{path}.role: {role!r} is not supported on {request.model}"


def system_turns(request: Request) -> Iterator[str]:
    """A `system` message follows a user message, and an assistant message or nothing follows."""
    conversation = request.body.get("messages") or []
    for index, message in enumerate(conversation):
        if message.get("role") != "system":
            continue
        before = conversation[index - 1].get("role") if index else None
        after = conversation[index + 1].get("role") if index + 1 < len(conversation) else None
        if before != "user" and not (index and ends_in_server_tool(conversation[index - 1])):
            yield f"messages.{index}: a system message must follow a user message"
        if after not in {None, "assistant"}:
            yield f"messages.{index}: a system message must be last or before an assistant message"
        if any(b.get("type") != "text" for b in blocks(message.get("content"))):
            yield f"messages.{index}: a system message has text only"


def ends_in_server_tool(message: Any) -> bool:  # noqa: ANN401 (JSON)
    """Whether an assistant message ends in a result of a server tool."""
    last = (blocks(message.get("content")) or [{}])[-1]
    return str(last.get("type", "")).endswith("_tool_result")


def content(request: Request) -> Iterator[str]:
    """No message is empty, the final assistant message apart."""
    conversation = list(messages(request))
    for index, (path, message) in enumerate(conversation):
        final = index == len(conversation) - 1 and message.get("role") == "assistant"
        if not blocks(message.get("content")) and not final:
            yield f"{path}: all messages must have non-empty content"


def text(request: Request) -> Iterator[str]:
    """A text block has more than white space; a result that is one string may, of no error."""
    for path, block in all_blocks(request):
        if (
            block.get("type") == "tool_result"
            and block.get("is_error")
            and not block.get("content")
        ):
            yield f"{path}.content: content cannot be empty if `is_error` is true"
        if block.get("type") == "text" and not str(block.get("text", "")).strip():
            yield f"{path}.text: text content blocks must contain non-whitespace text"


def system_prompt(request: Request) -> Iterator[str]:
    """The system prompt is absent or has text in each of its blocks."""
    system = request.body.get("system")
    if system is None:
        return
    for index, block in enumerate(blocks(system)):
        if block.get("type") != "text" or not str(block.get("text", "")).strip():
            yield f"system.{index}: text content blocks must contain non-whitespace text"


def calls_are_answered(request: Request) -> Iterator[str]:
    """Each call has one result at the head of the user turn right after it; none is alone."""
    joined = turns(request.body.get("messages") or [])
    for index, (role, parts) in enumerate(joined):
        calls = [str(p.get("id")) for p in parts if p.get("type") == "tool_use"]
        if role == "assistant" and calls:
            after = joined[index + 1] if index + 1 < len(joined) else ("", [])
            results = leading_results(after[1]) if after[0] == "user" else []
            for identity in calls:
                if identity not in results:
                    yield f"turn {index}: tool_use without tool_result right behind it: {identity}"
        if role == "user":
            results = [str(p.get("tool_use_id")) for p in parts if p.get("type") == "tool_result"]
            before = joined[index - 1][1] if index and joined[index - 1][0] == "assistant" else []
            known = {str(p.get("id")) for p in before if p.get("type") == "tool_use"}
            for identity in results:
                if identity not in known:
                    yield f"turn {index}: unexpected tool_use_id in tool_result: {identity}"
            for identity in repeated(results):
                yield f"turn {index}: each tool_use must have a single result: {identity}"


def leading_results(parts: Sequence[Any]) -> list[str]:
    """Return the ids of the tool results before anything else."""
    found: list[str] = []
    for part in parts:
        if part.get("type") != "tool_result":
            break
        found.append(str(part.get("tool_use_id")))
    return found


def results_come_first(request: Request) -> Iterator[str]:
    """In a user message, nothing precedes a tool result."""
    for path, message in messages(request):
        kinds = [b.get("type") for b in blocks(message.get("content"))]
        results = [i for i, kind in enumerate(kinds) if kind == "tool_result"]
        if results and results[-1] != len(results) - 1:
            yield f"{path}.content: tool_result blocks must come before other content"


def call_shape(request: Request) -> Iterator[str]:
    """A call's id and name have the alphabet, its input is an object, and no id repeats."""
    calls = [(p, b) for p, b in all_blocks(request) if b.get("type") == "tool_use"]
    for path, block in calls:
        for key, limit in (("id", None), ("name", 200)):
            value = block.get(key)
            if not isinstance(value, str) or not ALPHABET.fullmatch(value):
                yield f"{path}.{key}: {value!r} does not match {ALPHABET.pattern}"
            elif limit and len(value) > limit:
                yield f"{path}.{key}: more than {limit} characters"
        if not isinstance(block.get("input"), dict):
            yield f"{path}.input: not an object"
    for identity in repeated(str(block.get("id")) for _, block in calls):
        yield f"messages: tool_use ids must be unique: {identity}"


def prefix_digest(system: object, tools: object, before: Sequence[Any]) -> str:
    """Digest what a thinking block is bound to: system, tools and messages before it.

    `cache_control` may move, and thinking blocks are checked as a chain of their own.
    """
    text = json.dumps([blocks(system), tools or [], turns(before)], sort_keys=True, default=str)
    return hashlib.sha256(json.dumps(unmarked(json.loads(text))).encode()).hexdigest()


def unmarked(value: Any) -> Any:  # noqa: ANN401 (JSON)
    """Return JSON without cache marks and thinking."""
    if isinstance(value, dict):
        return {k: unmarked(v) for k, v in sorted(value.items()) if k != "cache_control"}
    if isinstance(value, list):
        return [
            unmarked(v) for v in value if not (isinstance(v, dict) and v.get("type") in THINKING)
        ]
    return value


def thinking_blocks(request: Request) -> Iterator[tuple[int, int, str, Any]]:
    """Yield message and block index, signature and block of each thinking block."""
    for index, (_, message) in enumerate(messages(request)):
        for inner, block in enumerate(blocks(message.get("content"))):
            if block.get("type") in THINKING:
                signature = str(block.get("signature") or block.get("data") or "")
                yield index, inner, signature, block


def signatures(request: Request) -> Iterator[str]:
    """A thinking block comes back with the signature and the text it was issued with."""
    for index, inner, signature, block in thinking_blocks(request):
        thought = request.issued.thoughts.get(signature)
        if thought is None:
            yield f"messages.{index}.content.{inner}: Invalid `signature` in `thinking` block"
        elif block.get("thinking", thought.text) != thought.text:
            yield f"messages.{index}.content.{inner}: thinking blocks cannot be modified"


def binding(request: Request) -> Iterator[str]:
    """On binding models, nothing before a block has changed and the chain has no gap."""
    if not BINDING.search(request.model):
        return
    asked = (request.body.get("thinking") or {}).get("block_binding") or {}
    if asked.get("prefix_mismatch_behavior") == "drop_block":
        return
    conversation = request.body.get("messages") or []
    previous: str | None = None
    for index, inner, signature, _ in thinking_blocks(request):
        thought = request.issued.thoughts.get(signature)
        if thought is None or not BINDING.search(thought.model):
            continue
        before = prefix_digest(
            request.body.get("system"), request.body.get("tools"), conversation[:index]
        )
        gap = previous is not None and thought.previous != previous
        if gap or thought.prefix != before:
            yield (
                f"messages.{index}.content.{inner}: Invalid `signature` in `thinking` block. "
                "The block is bound to a different conversation"
            )
            return
        previous = signature


def thinking_leads(request: Request) -> Iterator[str]:
    """With `thinking: enabled`, an open tool loop's assistant message begins with thinking."""
    if (request.body.get("thinking") or {}).get("type") != "enabled":
        return
    joined = turns(request.body.get("messages") or [])
    if len(joined) < 2 or joined[-1][0] != "user" or joined[-2][0] != "assistant":
        return
    if all(part.get("type") == "tool_result" for part in joined[-1][1]):
        first = joined[-2][1][0] if joined[-2][1] else {}
        if first.get("type") not in THINKING:
            yield f"a final assistant message must start with thinking, found {first.get('type')!r}"


def forced_tools(request: Request) -> Iterator[str]:
    """No forced tool use on models that refuse it, nor with thinking."""
    kind = (request.body.get("tool_choice") or {}).get("type")
    if kind not in {"any", "tool"}:
        return
    if BINDING.search(request.model):
        yield f"tool_choice: {kind!r} is not supported on {request.model}"
    elif (request.body.get("thinking") or {}).get("type") in {"enabled", "adaptive"}:
        yield f"tool_choice: thinking may not be enabled when {kind!r} forces tool use"


def thinking_stays_on(request: Request) -> Iterator[str]:
    """Thinking is not switched off on models that always think."""
    disabled = (request.body.get("thinking") or {}).get("type") == "disabled"
    if disabled and BINDING.search(request.model):
        yield f"thinking: cannot be disabled on {request.model}"


def no_prefill(request: Request) -> Iterator[str]:
    """The conversation ends with a user (or system) message; older models take a prefill."""
    conversation = request.body.get("messages") or []
    if not conversation or conversation[-1].get("role") != "assistant":
        return
    if not PREFILLED.search(request.model):
        yield "messages: this model does not support assistant message prefill"
        return
    last = (blocks(conversation[-1].get("content")) or [{}])[-1]
    if str(last.get("text", "")) != str(last.get("text", "")).rstrip():
        yield "messages: final assistant content cannot end with trailing whitespace"


def cache_marks(request: Request) -> Iterator[str]:
    """At most four `cache_control` marks, none on an empty text or on thinking."""
    marked = [
        *[b for b in blocks(request.body.get("system")) if b.get("cache_control")],
        *[t for t in request.body.get("tools") or [] if t.get("cache_control")],
        *[b for _, b in all_blocks(request) if b.get("cache_control")],
    ]
    found = len(marked) + bool(request.body.get("cache_control"))
    if found > 4:
        yield f"a maximum of 4 blocks with cache_control may be provided, found {found}"
    for block in marked:
        if block.get("type") in THINKING or (
            block.get("type") == "text" and not str(block.get("text", "")).strip()
        ):
            yield f"cache_control cannot be set for {block.get('type')} blocks like this"


def media(request: Request) -> Iterator[str]:
    """An image or document is base64 of a supported type, an address or a file's id."""
    count = 0
    for path, block in all_blocks(request):
        kind = block.get("type")
        if kind not in {"image", "document"}:
            continue
        count += kind == "image"
        source = block.get("source") or {}
        types = IMAGE_TYPES if kind == "image" else {"application/pdf"}
        if source.get("type") == "base64":
            if source.get("media_type") not in types:
                yield f"{path}.source.media_type: {source.get('media_type')!r}"
            if bad_base64(source.get("data")):
                yield f"{path}.source.data: empty or not base64"
            elif kind == "image" and shown_type(source["data"]) not in {"", source["media_type"]}:
                yield f"{path}.source: the image appears to be {shown_type(source['data'])}"
        elif source.get("type") == "text" and source.get("media_type") != "text/plain":
            yield f"{path}.source.media_type: {source.get('media_type')!r}"
        elif source.get("type") not in {"url", "file", "text", "content"}:
            yield f"{path}.source.type: {source.get('type')!r}"
    if count > 600:
        yield f"messages: {count} images exceed the maximum of 600"


FOREIGN_BLOCKS = {
    *("image_url", "input_text", "input_image", "input_file", "input_audio", "output_text"),
    *("file", "audio", "video", "media", "function_call", None),
}
"""Types of blocks of other providers, and of LangChain."""


def block_kinds(request: Request) -> Iterator[str]:
    """A block has a type that its place may have."""
    in_result = {"text", "image", "search_result", "document", "tool_reference", "browser_state"}
    for path, block in all_blocks(request):
        inside = path.count(".content.") == 2
        kind = block.get("type")
        if inside and kind not in in_result:
            yield f"{path}.type: {kind!r} in a tool_result"
        if kind in FOREIGN_BLOCKS:
            yield f"{path}.type: {kind!r}"
    for path, message in messages(request):
        if message.get("role") != "user":
            continue
        for block in blocks(message.get("content")):
            if block.get("type") == "tool_use" or block.get("type") in THINKING:
                yield f"{path}: {block['type']} blocks can only be in assistant messages"


def tools(request: Request) -> Iterator[str]:
    """A tool has a name of 1 to 128 of the alphabet, used once, and an object schema."""
    declared = [t for t in request.body.get("tools") or [] if t.get("type", "custom") == "custom"]
    for index, tool in enumerate(declared):
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", str(tool.get("name", ""))):
            yield f"tools.{index}.name: {tool.get('name')!r}"
        schema = tool.get("input_schema")
        fault = bad_schema(schema)
        if fault:
            yield f"tools.{index}.input_schema: {fault}"
        elif {"oneOf", "allOf", "anyOf"} & set(schema):
            yield f"tools.{index}.input_schema: oneOf, allOf or anyOf at the top level"
    for again in repeated(str(t.get("name")) for t in request.body.get("tools") or []):
        yield f"tools: tool names must be unique: {again!r}"


def limits(request: Request) -> Iterator[str]:
    """`max_tokens` is positive, and at most 100,000 messages are sent."""
    if not isinstance(request.body.get("max_tokens"), int) or request.body["max_tokens"] < 0:
        yield "max_tokens: field required"
    if len(request.body.get("messages") or []) > 100_000:
        yield "messages: more than 100,000"


def metadata(request: Request) -> Iterator[str]:
    """`metadata` has a `user_id` alone."""
    unknown = set(request.body.get("metadata") or {}) - {"user_id"}
    if unknown:
        yield f"metadata: extra inputs are not permitted: {sorted(unknown)}"
