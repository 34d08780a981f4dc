"""The messages dialect of Anthropic.

A user message with tool results is read as one message per result and one for the rest;
`write` joins them again, results first. The system prompt, a parameter of the request, is
read and written as an item of role `system` at the head; `split_system` separates it. A system
message later in the conversation, as Opus 4.8 and later models accept it, keeps its role.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from thalweg.engine.entries import Message, Role
from thalweg.engine.wires.anthropic_blocks import WIRE, read_blocks, write_blocks
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import (
    Fields,
    as_dict,
    as_usage,
    foreign_item,
    join_packed,
    pack,
    sendable,
    unpack,
    with_origin,
)
from thalweg.engine.wires.turns import UnjoinedMessage, draft_turns, join_turns

_RESULT = "anthropic:result"
_LATE_SYSTEM = "anthropic:system"
"""Marks a system message that follows the head of the conversation."""
_RESPONSE_ONLY = frozenset(
    {
        "id",
        "type",
        "model",
        "stop_reason",
        "stop_sequence",
        "stop_details",
        "usage",
        "container",
        "context_management",
    }
)
"""Fields of a message that a response has and a request refuses."""
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


class AnthropicWire:
    """Messages of `POST /v1/messages`, with the system prompt as an item of its own."""

    name = WIRE

    def read(self, items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
        """Return the messages of request or response items, and a note per irregularity."""
        notes: list[Note] = []
        messages = [m for line, item in enumerate(items) for m in _read(item, line, notes)]
        head = next((k for k, m in enumerate(messages) if m.role != "system"), len(messages))
        return [*messages[:head], *map(_marked_late, messages[head:])], notes

    def write(self, messages: Sequence[Message]) -> list[Any]:
        """Return the request's items; adjacent messages of one role are joined."""
        drafted = draft_turns(
            messages, WIRE, model="assistant", draft=_draft, build=_build, keeps_role=_is_late
        )
        written = join_turns(
            _with_placed_systems(drafted),
            with_blocks=_with_blocks,
            build=_build,
            is_result=_is_result,
        )
        return [_sendable(item) if _role(item) else item for item in written]


def _marked_late(message: Message) -> Message:
    if message.role != "system":
        return message
    return replace(message, extra=join_packed(message.extra, pack(_LATE_SYSTEM, {"stays": True})))


def _is_late(message: Message) -> bool:
    return bool(unpack(message.extra, _LATE_SYSTEM))


def _with_placed_systems(drafted: Iterable[UnjoinedMessage]) -> Iterator[UnjoinedMessage]:
    """Yield turns with system messages where Anthropic accepts them: after a user turn.

    The turn that follows must be the model's. A system message without an adjacent user turn
    becomes a user message. Source: platform.claude.com, "Mid-conversation system messages", read
    2026-11-23.
    """
    waiting_systems: list[UnjoinedMessage] = []
    last_role = ""
    for turn in drafted:
        if turn.role == "system":
            waiting_systems.append(turn)
            continue
        if turn.role != "user":
            yield from _placed_systems(waiting_systems, last_role)
            waiting_systems.clear()
        last_role = turn.role
        yield turn
    yield from _placed_systems(waiting_systems, last_role)


def _placed_systems(
    waiting_systems: Sequence[UnjoinedMessage], last_role: str
) -> Iterator[UnjoinedMessage]:
    for turn in waiting_systems:
        yield (
            turn
            if last_role == "user"
            else replace(_with_blocks(turn) if turn.raws else turn, role="user")
        )


def _sendable(item: object) -> object:
    """Return a message without response-only fields and without blank text, which is refused."""
    request_item = sendable(item, _RESPONSE_ONLY)
    content = (as_dict(request_item) or {}).get("content")
    if not isinstance(content, list | tuple) or not any(map(_is_blank, content)):
        return request_item
    kept = [block for block in content if not _is_blank(block)]
    return {**(as_dict(request_item) or {}), "content": kept} if kept else request_item


def _is_blank(block: object) -> bool:
    fields = as_dict(block) or {}
    return fields.get("type") == "text" and not str(fields.get("text", "")).strip()


def split_system(items: Sequence[Any]) -> tuple[str | list[Any] | None, list[Any]]:
    """Split the output of `write` into the request's `system` and `messages`.

    Example:
        >>> split_system(
        ...     [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
        ... )
        ('Be brief.', [{'role': 'user', 'content': 'hi'}])
    """
    first = next((k for k, item in enumerate(items) if not _is_system(item)), len(items))
    contents = [(as_dict(item) or {}).get("content") or [] for item in items[:first]]
    if not contents:
        return None, list(items)
    system = contents[0] if len(contents) == 1 else [b for c in contents for b in _blocks(c)]
    return system, list(items[first:])


def _is_system(item: object) -> bool:
    return (as_dict(item) or {}).get("role") == "system"


def _blocks(content: object) -> list[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content) if isinstance(content, (list, tuple)) else []


def _is_result(block: object) -> bool:
    return (as_dict(block) or {}).get("type") == "tool_result"


def _role(item: object) -> str:
    """Return the role of a message; empty for an item that is not of this dialect."""
    role = (as_dict(item) or {}).get("role")
    return role if isinstance(role, str) and role in _ROLES else ""


def _read(item: object, line: int, notes: list[Note]) -> list[Message]:
    source, role = as_dict(item), _role(item)
    if source is None or not role:
        return [foreign_item(WIRE, item, line, notes)]
    fields = Fields(source, "role")
    content = fields.take("content", str)
    blocks = _blocks(content if content is not None else fields.take("content", list))
    result_blocks = [block for block in blocks if role == "user" and _is_result(block)]
    other_blocks = [block for block in blocks if role != "user" or not _is_result(block)]
    messages = [_read_result(block, line, notes) for block in result_blocks]
    if other_blocks or not result_blocks:
        parts = read_blocks(other_blocks, line, notes, is_from_model=role == "assistant")
        messages.append(Message(_ROLES[role], parts, line=line))
    messages[-1] = replace(
        messages[-1],
        uid=fields.peek("id"),
        usage=as_usage(fields.left.get("usage")),
        extra=join_packed(messages[-1].extra, pack(WIRE, fields.left)),
    )
    return with_origin(WIRE, item, messages)


def _read_result(block: object, line: int, notes: list[Note]) -> Message:
    fields = Fields(as_dict(block) or {}, "type")
    content = fields.take("content", str)
    blocks = _blocks(content if content is not None else fields.take("content", list))
    return Message(
        "tool",
        read_blocks(blocks, line, notes),
        answers=fields.text("tool_use_id"),
        is_error=fields.take("is_error", bool) is True,
        line=line,
        extra=pack(_RESULT, fields.left),
    )


def _draft(message: Message, role: str) -> UnjoinedMessage:
    blocks = write_blocks(message.parts)
    if message.role == "tool":
        blocks = (_write_result(message, blocks),)
    return UnjoinedMessage(role, blocks, unpack(message.extra, WIRE))


def _write_result(message: Message, blocks: tuple[object, ...]) -> dict[str, Any]:
    body = {"type": "tool_result", **unpack(message.extra, _RESULT)}
    body["tool_use_id"] = message.answers
    body["content"] = _content(blocks)
    if message.is_error:
        body |= {"is_error": True, "content": body["content"] or "error"}  # never empty
    return body


def _with_blocks(turn: UnjoinedMessage) -> UnjoinedMessage:
    source = as_dict(turn.raws[0]) or {}
    other_fields = {
        name: value for name, value in source.items() if name not in {"role", "content"}
    }
    return UnjoinedMessage(turn.role, tuple(_blocks(source.get("content"))), other_fields)


def _build(turn: UnjoinedMessage) -> dict[str, Any]:
    return {**turn.fields, "role": turn.role, "content": _content(turn.blocks)}


def _content(blocks: Sequence[Any]) -> str | list[Any]:
    """Return content in its short form where one exists, else as a list of blocks."""
    if not blocks:
        return ""
    block = as_dict(blocks[0]) or {}
    if len(blocks) == 1 and block.keys() == {"type", "text"}:
        return str(block["text"])
    return list(blocks)
