"""Alternating turns, for providers that demand that user and model alternate.

All results of a batch go into one user turn, before its other content; adjacent messages of
one role become one turn with the same block objects. An unmodified turn without an adjacent
one of its role remains the same object.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from thalweg.engine.entries import Message
from thalweg.engine.wires.fields import is_foreign_item, pieces


@dataclass(frozen=True, slots=True)
class UnjoinedMessage:
    """A message before it is joined with adjacent ones."""

    role: str
    """Role on the wire; empty for an item that is never joined."""
    blocks: tuple[Any, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields other than role and content."""
    raws: tuple[object, ...] = ()
    """The unmodified object; empty if the turn was built."""


def draft_turns(
    messages: Sequence[Message],
    wire: str,
    *,
    model: str,
    draft: Callable[[Message, str], UnjoinedMessage],
    build: Callable[[UnjoinedMessage], object],
    keeps_role: Callable[[Message], bool] = lambda _: False,
) -> Iterator[UnjoinedMessage]:
    """Yield a turn per message. System messages after the head become user messages.

    Args:
        messages: Oldest first.
        wire: The wire that writes.
        model: The wire's name for the model's role.
        draft: Returns the turn of one message for a role.
        build: Returns the provider's object for a turn.
        keeps_role: Returns whether a system message after the head keeps its role.
    """
    at_head = True
    for piece in pieces(messages, wire):
        message, raws = piece.message, piece.raws
        role = model if message.role == "assistant" else "user"
        if message.role == "system":
            if at_head:
                yield UnjoinedMessage("", raws=raws or (build(draft(message, "system")),))
            elif keeps_role(message):
                yield UnjoinedMessage("system", raws=raws) if raws else draft(message, "system")
            else:
                yield draft(message, role)
            continue
        at_head = False
        if raws:
            yield UnjoinedMessage("" if is_foreign_item(message, wire) else role, raws=raws)
        else:
            yield draft(message, role)


def join_turns(
    drafted: Iterable[UnjoinedMessage],
    *,
    with_blocks: Callable[[UnjoinedMessage], UnjoinedMessage],
    build: Callable[[UnjoinedMessage], object],
    is_result: Callable[[Any], bool],
) -> list[object]:
    """Join adjacent turns of one role and build every turn that was modified.

    Args:
        drafted: In order.
        with_blocks: Returns an unmodified turn with the blocks and fields of its raw object.
        build: Returns the provider's object for a turn.
        is_result: Returns whether a block is a tool result.

    Returns:
        The provider's objects; a turn without content is dropped.
    """
    nonempty = [turn for turn in drafted if turn.raws or turn.blocks]
    written: list[object] = []
    for role, neighbours in groupby(nonempty, key=lambda turn: turn.role):
        adjacent = list(neighbours)
        if not role or (len(adjacent) == 1 and adjacent[0].raws):
            written += [raw for turn in adjacent for raw in turn.raws]
            continue
        turn = _merged([with_blocks(turn) if turn.raws else turn for turn in adjacent], is_result)
        if turn.blocks:
            written.append(build(turn))
    return written


def _merged(
    adjacent: Sequence[UnjoinedMessage], is_result: Callable[[Any], bool]
) -> UnjoinedMessage:
    blocks = [block for turn in adjacent for block in turn.blocks]
    blocks.sort(key=lambda block: not is_result(block))
    fields = {name: value for turn in adjacent for name, value in turn.fields.items()}
    return UnjoinedMessage(adjacent[0].role, tuple(blocks), fields)
