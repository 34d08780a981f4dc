"""Origins: which messages still equal the objects they were read from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from thalweg.engine.entries import Media, Message, Opaque, Origin, Part, Text, Thinking, ToolCall
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import is_from_wire, opaque, opaque_value, pack, unpack
from thalweg.engine.wires.media_blocks import is_private


@dataclass(frozen=True, slots=True)
class Piece:
    """A message to build, or messages to send as the objects they were read from."""

    message: Message
    """The message, or the first of them."""
    raws: tuple[object, ...] = ()
    """The objects; empty if the message is to be built."""


def pieces(messages: Sequence[Message], wire: str) -> Iterator[Piece]:
    """Yield messages to send as their original objects, and messages to build.

    A raw object of several messages is sent only if all of them are present, adjacent and in
    order; otherwise each is built from its parts. A message that has only parts of other wires
    gets their JSON as text, so that it is still a message.
    """
    index = 0
    while index < len(messages):
        first, shared_count = messages[index], _shared_count(messages, index, wire)
        if first.origin is not None and shared_count:
            yield Piece(first, first.origin.raws)
        elif is_foreign_item(first, wire):
            yield Piece(first, (_original_item(first),))
        else:
            yield Piece(_with_foreign_text(first, wire))
        index += shared_count or 1


def _with_foreign_text(message: Message, wire: str) -> Message:
    foreign = [part for part in message.parts if isinstance(part, Opaque) and part.wire != wire]
    if not foreign or any(_has_content(part, wire) for part in message.parts):
        return message
    return replace(message, parts=tuple(Text(part.json) for part in foreign))


def _has_content(part: Part, wire: str) -> bool:
    match part:
        case Text(text):
            return bool(text.strip())
        case Thinking(extra=extra):
            return is_from_wire(extra, wire)
        case Opaque(wire=part_wire):
            return part_wire == wire
        case Media():
            return not is_private(part, wire)
        case ToolCall():
            return True
        case _:
            assert_never(part)


def _shared_count(messages: Sequence[Message], index: int, wire: str) -> int:
    """Count the messages from this one that complete their raw object; 0 if they do not."""
    first = messages[index].origin
    if first is None or first.wire != wire or first.share[0] != 0:
        return 0
    count = first.share[1]
    group = messages[index : index + count]
    is_complete = len(group) == count and all(
        (origin := message.origin) is not None
        and origin.wire == wire
        and origin.share == (k, count)
        and _are_same_objects(origin.raws, first.raws)
        for k, message in enumerate(group)
    )
    return count if is_complete else 0


def _are_same_objects(first: tuple[object, ...], second: tuple[object, ...]) -> bool:
    return first is second or (
        len(first) == len(second) and all(a is b for a, b in zip(first, second, strict=True))
    )


def with_origin(wire: str, raw: object, messages: Sequence[Message]) -> list[Message]:
    """Return messages read from one object, with their origin set."""
    raws = (raw,)
    return [
        replace(message, origin=Origin(wire, raws, (k, len(messages))))
        for k, message in enumerate(messages)
    ]


def foreign_item(wire: str, item: object, line: int, notes: list[Note]) -> Message:
    """Return a message that carries an item which is not of this dialect, and note it."""
    notes.append(Note(line, "not_a_message", f"item {line} is no message of {wire}; carried"))
    return Message(
        "user",
        (opaque(wire, item),),
        kind="injected",
        line=line,
        extra=pack(_ITEM, {"wire": wire}),
        origin=Origin(wire, (item,)),
    )


_ITEM = "item"


def is_foreign_item(message: Message, wire: str) -> bool:
    """Return whether `foreign_item` of this wire made the message."""
    return unpack(message.extra, _ITEM).get("wire") == wire


def _original_item(message: Message) -> object:
    return next((opaque_value(part) for part in message.parts if isinstance(part, Opaque)), None)
