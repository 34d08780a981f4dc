"""What a wire is: one dialect of messages, read into ours and written back.

Two rules: what a wire does not understand it carries (`Opaque`, `extra`), and says so in
a `Note`; an untouched message goes out as the very object it came from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from thalweg.entries import Message


@dataclass(frozen=True, slots=True)
class Note:
    """Something odd in a recording that was read all the same, or left out, and why."""

    line: int
    """Line or index in the source, from 0; -1 for the whole file."""
    code: str
    """Stable name of the oddity, like `glued_json` or `orphan_result`."""
    text: str


class Wire(Protocol):
    """A provider's dialect, both directions."""

    name: str

    def read(self, items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
        """Read the provider's message objects (system prompt included where it has one).

        Never raises on odd content: what cannot be understood is kept as `Opaque` and noted.
        Objects are not copied; each message's `origin` points at them.
        """
        ...

    def write(self, messages: Sequence[Message]) -> list[Any]:
        """Write messages as the provider's objects.

        A message whose `origin` is of this wire and complete is written as the very object it
        came from; where that is a provider's response, as a shallow copy without the fields
        that a request refuses. Others are built from their parts; foreign
        signatures are left out, and so is another wire's `Opaque` unless nothing else is in
        the message: then its JSON goes out as text.
        """
        ...
