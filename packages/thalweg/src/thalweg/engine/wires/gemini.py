"""Reading the generateContent dialect of Google's Gemini.

A content with function responses is read as one message per response and one for the rest. Older
API versions send calls without ids: those are read as the empty id. The system instruction is an
item of role `system` at the head.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from thalweg.engine.entries import Message, Role
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import (
    Fields,
    as_dict,
    foreign_item,
    join_packed,
    pack,
    with_origin,
)
from thalweg.engine.wires.gemini_parts import WIRE, is_response, read_parts, read_response

_ITEM = "gemini:item"
_ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "function": "user",
    "tool": "user",
    "model": "assistant",
}


class GeminiReader:
    """Contents of `models.generateContent`, with the system instruction as an item of its own."""

    name = WIRE

    def read(self, items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
        """Return the messages of contents, and a note per irregularity."""
        notes: list[Note] = []
        messages = [m for line, item in enumerate(items) for m in _read(item, line, notes)]
        return messages, notes


def _read(item: object, line: int, notes: list[Note]) -> list[Message]:
    source = as_dict(item)
    role = source.get("role", "user") if source is not None else None
    if source is None or not isinstance(role, str) or role not in _ROLES:
        return [foreign_item(WIRE, item, line, notes)]
    fields = Fields(source)
    if role not in {"function", "tool"}:
        fields.text("role")
    parts = fields.take("parts", list) or []
    response_parts = [part for part in parts if is_response(part)]
    other_parts = [part for part in parts if not is_response(part)]
    messages = [read_response(part, line, notes) for part in response_parts]
    if other_parts or not response_parts:
        is_from_model = role == "model"
        parsed_parts = read_parts(other_parts, line, notes, is_from_model=is_from_model)
        messages.append(Message(_ROLES[role], parsed_parts, line=line))
    extra = join_packed(messages[-1].extra, pack(_ITEM, fields.left))
    messages[-1] = replace(messages[-1], extra=extra)
    return with_origin(WIRE, item, messages)
