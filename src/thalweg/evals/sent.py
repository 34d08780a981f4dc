"""The requests of a trace as messages of a thread, for graders that know those."""

import json
from collections.abc import Iterable

from thalweg.entries import Message, Text, ToolCall
from thalweg.evals.trace import Said


def as_message(said: Said) -> Message:
    """Make the message that was sent.

    Example:
        >>> as_message(Said("user", "Hello")).text
        'Hello'
    """
    calls = tuple(
        ToolCall(call.id, call.name, json.dumps(dict(call.arguments), ensure_ascii=False))
        for call in said.calls
    )
    texts = (Text(said.text),) if said.text else ()
    return Message(
        said.role, (*texts, *calls), answers=said.answers, name=said.name, is_error=said.is_error
    )


def as_messages(said: Iterable[Said]) -> list[Message]:
    """Make the messages that were sent; see `as_message`."""
    return [as_message(one) for one in said]
