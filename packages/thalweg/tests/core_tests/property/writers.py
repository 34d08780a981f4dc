"""Requests of the providers for which the package reads and does not write.

Clients of LangChain, Pydantic AI and others write them. Here the messages of a request are written
in the plainest way, so that each provider's rules can be checked without a client.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from thalweg.engine.entries import Media, Message, Opaque, Part, Text, Thinking, ToolCall
from thalweg.engine.wires.fields import arguments_object, is_from_wire, opaque_value, pieces, unpack
from thalweg.engine.wires.registry import WIRES

Item = dict[str, Any]


def _joined(
    wire: str,
    model: str,
    content: str,
    blocks_of: Callable[[Message], list[Any]],
    messages: Sequence[Message],
) -> list[Item]:
    """Write messages, with neighbours of one role joined and results first."""
    items: list[Item] = []
    for message in [one.message for one in pieces([*map(_built, messages)], wire)]:
        is_head = all(item["role"] == "system" for item in items)
        role = model if message.role == "assistant" else "user"
        role = "system" if message.role == "system" and is_head else role
        if not (blocks := blocks_of(message)):
            continue
        if items and items[-1]["role"] == role != "system":
            items[-1][content] += blocks
            items[-1][content].sort(key=lambda block: not _is_result(block))
        else:
            items.append({"role": role, content: blocks})
    return items


def _built(message: Message) -> Message:
    return replace(message, origin=None)


def _is_result(block: Item) -> bool:
    return "functionResponse" in block or block.get("type") == "tool_result"


def _anthropic_message(message: Message) -> list[Any]:
    blocks = [block for part in message.parts for block in _anthropic_blocks(part)]
    if message.role != "tool":
        return blocks
    result = {"type": "tool_result", "tool_use_id": message.answers, "content": blocks}
    return [result | {"is_error": True} if message.is_error else result]


def _anthropic_blocks(part: Part) -> Iterator[Any]:
    match part:
        case Text(text) if text.strip():
            yield {"type": "text", "text": text}
        case Thinking(text, signature, extra) if signature and is_from_wire(extra, "anthropic"):
            if unpack(extra, "anthropic").get("type") == "redacted_thinking":
                yield {"type": "redacted_thinking", "data": signature}
            else:
                yield {"type": "thinking", "thinking": text, "signature": signature}
        case ToolCall(call_id, name, arguments):
            body = {"id": call_id, "name": name, "input": arguments_object(arguments)}
            yield {"type": "tool_use", **body}
        case Media(mime, data, url) if data or url:
            kind = "image" if mime.startswith("image/") else "document"
            by_value = {"type": "base64", "media_type": mime, "data": data}
            yield {"type": kind, "source": by_value if data else {"type": "url", "url": url}}
        case Opaque(wire="anthropic"):
            yield opaque_value(part)


def _gemini_message(names: dict[str, str], message: Message) -> list[Any]:
    parts = [written for part in message.parts for written in _gemini_parts(part)]
    if message.role != "tool":
        return parts
    key = "error" if message.is_error else "output"
    body: Item = {"name": names.get(message.answers, message.name), "response": {key: message.text}}
    if message.answers:
        body["id"] = message.answers
    if media := [part for part in parts if "text" not in part]:
        body["parts"] = media
    return [{"functionResponse": body}]


def _gemini_parts(part: Part) -> Iterator[Any]:
    match part:
        case Text(text) if text:
            yield {"text": text}
        case Thinking(text, signature, extra) if is_from_wire(extra, "gemini"):
            yield {"text": text, "thought": True, "thoughtSignature": signature}
        case ToolCall(call_id, name, arguments):
            body = {"name": name, "args": arguments_object(arguments)}
            yield {"functionCall": body | ({"id": call_id} if call_id else {})}
        case Media(mime, data, url) if data or url:
            by_value = {"inlineData": {"mimeType": mime, "data": data}}
            yield by_value if data else {"fileData": {"fileUri": url}}
        case Opaque(wire="gemini"):
            yield opaque_value(part)


def _anthropic(messages: Sequence[Message]) -> list[Item]:
    return _joined("anthropic", "assistant", "content", _anthropic_message, messages)


def _gemini(messages: Sequence[Message]) -> list[Item]:
    names = {call.id: call.name for message in messages for call in message.calls if call.id}
    return _joined("gemini", "model", "parts", partial(_gemini_message, names), messages)


WRITERS: dict[str, Callable[[Sequence[Message]], list[Any]]] = {
    "openai-chat": WIRES["openai-chat"].write,
    "openai-responses": WIRES["openai-responses"].write,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
"""Writers of requests by the names of `PROVIDERS`."""
