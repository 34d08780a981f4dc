"""The generateContent dialect of Google's Gemini.

A content with function responses is read as one message per response and one for the rest;
`write` joins them again. Older API versions send calls without ids: those are read as the
empty id. The system instruction is an item of role `system` at the head; `split_system`
separates it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from thalweg.engine.entries import Message, Role
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import (
    Fields,
    as_dict,
    foreign_item,
    join_packed,
    pack,
    unpack,
    with_origin,
)
from thalweg.engine.wires.gemini_parts import (
    WIRE,
    is_response,
    read_parts,
    read_response,
    write_parts,
    write_response,
)
from thalweg.engine.wires.turns import UnjoinedMessage, draft_turns, join_turns

_ITEM = "gemini:item"
_ROLES: dict[str, Role] = {
    "system": "system",
    "user": "user",
    "function": "user",
    "tool": "user",
    "model": "assistant",
}


class GeminiWire:
    """Contents of `models.generateContent`, with the system instruction as an item of its own."""

    name = WIRE

    def read(self, items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
        """Return the messages of contents, and a note per irregularity."""
        notes: list[Note] = []
        messages = [m for line, item in enumerate(items) for m in _read(item, line, notes)]
        return messages, notes

    def write(self, messages: Sequence[Message]) -> list[Any]:
        """Return the request's contents; adjacent messages of one role are joined."""
        names = {call.id: call.name for message in messages for call in message.calls if call.id}
        draft = partial(_draft, names)
        drafted = draft_turns(messages, WIRE, model="model", draft=draft, build=_build)
        return join_turns(drafted, with_blocks=_with_blocks, build=_build, is_result=is_response)


def split_system(items: Sequence[Any]) -> tuple[dict[str, Any] | None, list[Any]]:
    """Split the output of `write` into the request's `systemInstruction` and `contents`.

    Example:
        >>> split_system([{"role": "system", "parts": [{"text": "Be brief."}]}])
        ({'parts': [{'text': 'Be brief.'}]}, [])
    """
    sources = [as_dict(item) or {} for item in items]
    first = next((k for k, s in enumerate(sources) if s.get("role") != "system"), len(items))
    parts = [part for source in sources[:first] for part in source.get("parts") or ()]
    return ({"parts": parts} if first else None), list(items[first:])


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


def _draft(names: Mapping[str, str], message: Message, role: str) -> UnjoinedMessage:
    if message.role == "tool":
        blocks: tuple[object, ...] = (write_response(message, names.get(message.answers, "")),)
    else:
        blocks = write_parts(message.parts)
    return UnjoinedMessage(role, blocks, unpack(message.extra, _ITEM))


def _with_blocks(turn: UnjoinedMessage) -> UnjoinedMessage:
    source = as_dict(turn.raws[0]) or {}
    other_fields = {name: value for name, value in source.items() if name not in {"role", "parts"}}
    parts = source.get("parts")
    return UnjoinedMessage(
        turn.role, tuple(parts) if isinstance(parts, (list, tuple)) else (), other_fields
    )


def _build(turn: UnjoinedMessage) -> dict[str, Any]:
    return {"role": turn.role, **turn.fields, "parts": list(turn.blocks)}
