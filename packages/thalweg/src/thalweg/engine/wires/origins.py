"""Origins: which messages still equal the objects they were read from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from thalweg.engine.entries import Media, Message, Opaque, Origin, Part, Text, Thinking, ToolCall
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import is_of, opaque, pack, reopen, unpack
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
    at = 0
    while at < len(messages):
        first, share = messages[at], _share(messages, at, wire)
        if first.origin is not None and share:
            yield Piece(first, first.origin.raws)
        elif is_foreign_item(first, wire):
            yield Piece(first, (_reopened(first),))
        else:
            yield Piece(_legible(first, wire))
        at += share or 1


def _legible(message: Message, wire: str) -> Message:
    foreign = [part for part in message.parts if isinstance(part, Opaque) and part.wire != wire]
    if not foreign or any(_has_content(part, wire) for part in message.parts):
        return message
    return replace(message, parts=tuple(Text(part.json) for part in foreign))


def _has_content(part: Part, wire: str) -> bool:
    match part:
        case Text(text):
            return bool(text.strip())
        case Thinking(extra=extra):
            return is_of(extra, wire)
        case Opaque(wire=home):
            return home == wire
        case Media():
            return not is_private(part, wire)
        case ToolCall():
            return True
        case _:
            assert_never(part)


def _share(messages: Sequence[Message], at: int, wire: str) -> int:
    """Count the messages from this one that complete their raw object; 0 if they do not."""
    first = messages[at].origin
    if first is None or first.wire != wire or first.share[0] != 0:
        return 0
    count = first.share[1]
    group = messages[at : at + count]
    whole = len(group) == count and all(
        (origin := message.origin) is not None
        and origin.wire == wire
        and origin.share == (k, count)
        and _same(origin.raws, first.raws)
        for k, message in enumerate(group)
    )
    return count if whole else 0


def _same(left: tuple[object, ...], right: tuple[object, ...]) -> bool:
    return left is right or (
        len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))
    )


def shared(wire: str, raw: object, messages: Sequence[Message]) -> list[Message]:
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


def _reopened(message: Message) -> object:
    return next((reopen(part) for part in message.parts if isinstance(part, Opaque)), None)
