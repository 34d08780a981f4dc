"""Messages of the harness in a conversation, marked as not written by the user."""

from collections.abc import Sequence
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage

SOURCE_KEY = "lc_source"
"""Key in which LangChain's own middleware marks messages that are not the user's."""
_OWN_SOURCE = "thalweg"
_ENDED = "thalweg_ended"
"""Key of `response_metadata` with the reason why the harness ended a run."""


def note(text: str) -> HumanMessage:
    """Make a message of the harness to the model."""
    return HumanMessage(text, id=str(uuid4()), additional_kwargs={SOURCE_KEY: _OWN_SOURCE})


def closing_answer(text: str, end_reason: str) -> AIMessage:
    """Create the answer with which the harness ends a run in place of the model.

    Args:
        text: Text for the caller.
        end_reason: The reason, in one word for programs: `response_metadata["thalweg_ended"]`.
    """
    return AIMessage(text, id=str(uuid4()), response_metadata={_ENDED: end_reason})


def end_reason(message: BaseMessage) -> str | None:
    """Return the reason of a `closing_answer`; `None` for a message of another origin."""
    return message.response_metadata.get(_ENDED)


def is_note(message: BaseMessage) -> bool:
    """Return whether a message with the user's role was inserted by a harness."""
    return bool(message.additional_kwargs.get(SOURCE_KEY))


def begins_run(messages: Sequence[AnyMessage]) -> bool:
    """Return whether the next model call is the first of a run: no answer follows the user's words.

    Example:
        >>> begins_run([HumanMessage("Go.")]), begins_run([HumanMessage("Go."), AIMessage("Done.")])
        (True, False)
    """
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return False
        if isinstance(message, HumanMessage) and not is_note(message):
            return True
    return True
