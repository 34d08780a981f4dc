"""The messages that a framework passes: its whole history, or the last view in its place."""

from collections.abc import Sequence
from dataclasses import replace

from thalweg.archive.threads.session import ThreadSession
from thalweg.engine.entries import Message, Text, common_prefix_length


def all_messages(
    session: ThreadSession,
    messages: Sequence[Message],
    replaced: tuple[Sequence[Message], Sequence[Message]],
) -> Sequence[Message]:
    """Return the messages of a thread for a state that continues from a view.

    Args:
        session: The thread.
        messages: The state.
        replaced: The framework's messages when a view took the place of its history, and that view.
    """
    held, shown = session.held, shown_messages(session)
    if not shown or common_prefix_length(held, messages) == len(held):
        return messages
    for before, view in (replaced, (held, shown)):
        new = _after_view(messages, view) if view else None
        if new is not None:
            return [*before, *new]
    return messages


def shown_messages(session: ThreadSession) -> list[Message]:
    """Return the last view of a thread, and after it the messages logged since.

    The window ends with a note of the user's after an answer, for a provider; no state has it.
    """
    session.engine.window.settle()
    items = session.engine.window.items
    ends = items[-2:]
    is_note = len(ends) > 1 and ends[1].position < 0 and ends[0].message.role == "assistant"
    return [item.message for item in (items[:-1] if is_note else items)]


def _after_view(messages: Sequence[Message], shown: Sequence[Message]) -> list[Message] | None:
    """Return the messages that follow a view in a framework's state; `None` if it has another one.

    A framework may join adjacent messages of the user, as providers want it.
    """
    left = list(shown)
    for k, message in enumerate(messages):
        if not left:
            return list(messages[k:])
        first = left.pop(0)
        if _reads_as(message, first):
            continue
        if message.role != "user" or not message.text.startswith(first.text):
            return None
        rest = message.text.removeprefix(first.text).strip()
        while rest and left and left[0].role == "user" and rest.startswith(left[0].text.strip()):
            rest = rest.removeprefix(left.pop(0).text.strip()).strip()
        if rest and left:
            return None
        if rest:
            return [replace(message, parts=(Text(rest),), origin=None), *messages[k + 1 :]]
    return None if left else []


def _reads_as(message: Message, shown: Message) -> bool:
    """Return whether a message is one of a view, as a framework kept it."""
    expected, actual = [
        (m.role, m.answers, m.text, [c.id for c in m.calls]) for m in (shown, message)
    ]
    return expected == actual
