"""Turns: for providers who demand that user and model alternate.

All results of a batch go into one turn of the user, before anything else in it; neighbours of
one role become one turn, of the very same blocks. An untouched turn without neighbours of its
role stays the object it was given as.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from thalweg.entries import Message
from thalweg.wires.origins import Whole, is_foreign_item, pieces, reopened


@dataclass(frozen=True, slots=True)
class Turn:
    """What one message becomes before neighbours are joined."""

    role: str
    """Role on the wire; empty for an item that is joined with nothing."""
    blocks: tuple[Any, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Fields beside role and content."""
    raws: tuple[object, ...] = ()
    """The untouched object, or nothing when the turn was built."""


def turns(
    messages: Sequence[Message],
    wire: str,
    *,
    model: str,
    draft: Callable[[Message, str], Turn],
    build: Callable[[Turn], object],
    stays: Callable[[Message], bool] = lambda _: False,
) -> Iterator[Turn]:
    """Give each message its turn. System messages behind the head become the user's.

    Args:
        messages: Oldest first.
        wire: The wire that writes.
        model: What the wire calls the model's role.
        draft: Makes the turn of one message in the role it is given.
        build: Makes the provider's object of a turn.
        stays: Tells whether a system message behind the head keeps its role.
    """
    at_head = True
    for piece in pieces(messages, wire):
        raws = piece.raws if isinstance(piece, Whole) else ()
        first = piece.messages[0] if isinstance(piece, Whole) else piece
        role = model if first.role == "assistant" else "user"
        if first.role == "system":
            if at_head:
                yield Turn("", raws=raws or (build(draft(first, "system")),))
            elif stays(first):
                yield Turn("system", raws=raws) if raws else draft(first, "system")
            else:
                yield draft(first, role)
            continue
        at_head = False
        if is_foreign_item(first, wire):
            yield Turn("", raws=raws or (reopened(first),))
        elif raws:
            yield Turn(role, raws=raws)
        else:
            yield draft(first, role)


def join(
    drafted: Iterable[Turn],
    *,
    opened: Callable[[Turn], Turn],
    build: Callable[[Turn], object],
    is_result: Callable[[Any], bool],
) -> list[object]:
    """Join neighbours of one role and build what is not untouched.

    Args:
        drafted: In order.
        opened: Gives an untouched turn the blocks and fields of its raw object.
        build: Makes the provider's object of a turn.
        is_result: Whether a block is a tool result.

    Returns:
        The provider's objects; a turn without content is left out.
    """
    filled = [turn for turn in drafted if turn.raws or turn.blocks]
    written: list[object] = []
    for role, neighbours in groupby(filled, key=lambda turn: turn.role):
        run = list(neighbours)
        if not role or (len(run) == 1 and run[0].raws):
            written += [raw for turn in run for raw in turn.raws]
            continue
        turn = _merged([opened(turn) if turn.raws else turn for turn in run], is_result)
        if turn.blocks:
            written.append(build(turn))
    return written


def _merged(run: Sequence[Turn], is_result: Callable[[Any], bool]) -> Turn:
    blocks = [block for turn in run for block in turn.blocks]
    blocks.sort(key=lambda block: not is_result(block))
    fields = {name: value for turn in run for name, value in turn.fields.items()}
    return Turn(run[0].role, tuple(blocks), fields)
