"""Messages in a stream that another process did not finish: incomplete, or not kept."""

import json
from collections.abc import Collection, Iterable

from thalweg_server.api.events import MessageWithdrawn
from thalweg_server.runs.base import Draft, Event

ABOUT_MESSAGES = ("message.", "thinking.")
"""How the types of events about messages begin."""


def withdrawals(events: Iterable[Event], kept: Collection[str]) -> list[Draft]:
    """Return the events that withdraw messages that were streamed and are not kept.

    A message may have been completed in the stream and be lost all the same: its process died
    before the checkpoint that was to have it.

    Args:
        events: Of one run.
        kept: Ids of the messages that a checkpoint or an archive has.

    Example:
        >>> events = [Event(1, "message.completed", '{"message": "a"}')]
        >>> [draft.data for draft in withdrawals(events, kept=[])], withdrawals(events, ["a"])
        (['{"type":"message.withdrawn","message":"a"}'], [])
    """
    return [
        Draft("message.withdrawn", MessageWithdrawn(message=message).model_dump_json())
        for message in _told(events)
        if message not in kept
    ]


def untold(events: Iterable[Event], kept: Iterable[str]) -> list[str]:
    """Return the kept messages whose end was not emitted, in order.

    Example:
        >>> untold([Event(1, "message.completed", '{"message": "a"}')], kept=["a", "b"])
        ['b']
    """
    told = _told(events)
    return [message for message in kept if told.get(message, True)]


def _told(events: Iterable[Event]) -> dict[str, bool]:
    """Return the messages that were emitted and not withdrawn, and whether they are open."""
    told: dict[str, bool] = {}
    for event in events:
        if not event.type.startswith(ABOUT_MESSAGES):
            continue
        message = json.loads(event.data)["message"]
        if event.type == "message.withdrawn":
            told.pop(message, None)
        elif event.type == "message.completed":
            told[message] = False
        else:
            told.setdefault(message, True)
    return told
