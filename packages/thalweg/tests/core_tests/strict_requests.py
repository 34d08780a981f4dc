"""Requests to a strict provider as messages of the engine."""

from strict_llm import Request
from thalweg.engine.entries import Message
from thalweg.engine.wires import READERS


def messages_of(request: Request) -> tuple[Message, ...]:
    """Return the messages of a request, in the shape that all wires share."""
    return tuple(READERS[request.wire].read(request.items)[0])
