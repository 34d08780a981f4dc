"""The protocols of dialects of messages: read into our types, and of a wire, written back.

Two rules: a wire carries content that it does not support (`Opaque`, `extra`) and reports it
in a `Note`; an unmodified message is written as the very object it came from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from thalweg.engine.entries import Message


@dataclass(frozen=True, slots=True)
class Note:
    """An irregularity in a recording that was read or skipped, and the reason."""

    line: int
    """Line or index in the source, from 0; -1 for the whole file."""
    code: str
    """Stable name of the irregularity, like `glued_json` or `odd_row`."""
    text: str


class WireReader(Protocol):
    """A provider's dialect: converts its message objects to messages."""

    name: str

    def read(self, items: Sequence[Any]) -> tuple[list[Message], list[Note]]:
        """Parse the provider's message objects (including the system prompt, if there is one).

        Never raises on malformed content: parts that cannot be parsed are kept as `Opaque` and
        noted. Objects are not copied; each message's `origin` refers to them.
        """
        ...


class Wire(WireReader, Protocol):
    """A dialect that is written, too.

    It must carry text, tool calls with ids, their results and a system prompt; it may drop media
    and other providers' reasoning.
    """

    def write(self, messages: Sequence[Message]) -> list[Any]:
        """Return messages as the provider's objects: a list, never the body of a request.

        A message whose `origin` is of this wire and complete is written as the very object it
        came from; if that is a provider's response, as a shallow copy without the fields
        that a request refuses. Other messages are built from their parts, without foreign
        signatures and without another wire's `Opaque`, unless the message has nothing else:
        then its JSON is sent as text.
        """
        ...
