"""What a recording is: a thread that someone else logged, read."""

from dataclasses import dataclass

from thalweg.entries import Message
from thalweg.wires.base import Note


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded thread, read."""

    name: str
    format: str
    """Name of the wire or log format it was read with."""
    messages: tuple[Message, ...]
    notes: tuple[Note, ...] = ()
