"""Reading the messages dialect of Anthropic.

A user message with tool results is read as one message per result and one for the rest. The system
prompt, a parameter of the request, is read as an item of role `system` at the head.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from thalweg.engine.entries import Message, Role
from thalweg.engine.wires.anthropic_blocks import WIRE, read_blocks
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import (
    Fields,
    as_dict,
    as_usage,
    foreign_item,
    join_packed,
    pack,
    role_in,
    with_origin,
)

_RESULT = "anthropic:result"
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


class AnthropicReader:
    """Messages of `POST /v1/messages`, with the system prompt as an item of its own."""

    name = WIRE

    def read(self, items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
        """Return the messages of request or response items, and a note per irregularity."""
        notes: list[Note] = []
        return [m for line, item in enumerate(items) for m in _read(item, line, notes)], notes


def _blocks(content: object) -> list[object]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content) if isinstance(content, (list, tuple)) else []


def _is_result(block: object) -> bool:
    return (as_dict(block) or {}).get("type") == "tool_result"


def _read(item: object, line: int, notes: list[Note]) -> list[Message]:
    source, role = as_dict(item), role_in(item, _ROLES)
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
