"""What a middleware puts before messages of the user, for as long as those are sent.

A middleware sees the messages of the state; `ContextMiddleware` sends a view of the whole thread,
with messages that left the state long ago. So whoever wants to stand before a message says it by
the message's id, and is told which of the messages were sent. Without `ContextMiddleware` the
messages of the request are all there are.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import AnyMessage, HumanMessage

from thalweg.entries import Message
from thalweg.middleware.desk import Desk
from thalweg.middleware.notes import SOURCE
from thalweg.middleware.wording import read_state

_KEY = "thalweg_inserts"
"""Where in the state of a request, which nobody keeps, they are handed on."""


@dataclass(slots=True)
class Inserts:
    """Messages by the id of the message each stands before."""

    messages: Mapping[str, AnyMessage]
    shown: set[str] = field(default_factory=set)
    """The ids at which they were sent; whoever sends them says it."""
    desk: Desk | None = None
    """Of the `ContextMiddleware` that sent them, if it was one."""

    def read(self) -> dict[str, Message]:
        """Read them as the engine does."""
        read = read_state(list(self.messages.values()))
        return dict(zip(self.messages, read, strict=True))

    def without(self, messages: list[AnyMessage]) -> list[AnyMessage]:
        """Take them out of a request again."""
        if not self.messages:
            return messages
        ours = {message.id for message in self.messages.values()}
        return [message for message in messages if message.id not in ours]


def told_before(uid: str, text: str) -> HumanMessage:
    """Make the message that stands before another; it is nobody's words."""
    return HumanMessage(text, id=f"before-{uid}", additional_kwargs={SOURCE: "thalweg"})


def handed_on(request: ModelRequest[Any], inserts: Inserts) -> ModelRequest[Any]:
    """Put them before the messages that the request has, and hand on all of them."""
    placed: list[AnyMessage] = []
    inserts.shown.clear()
    for message in request.messages:
        if insert := inserts.messages.get(message.id or ""):
            placed.append(insert)
            inserts.shown.add(message.id or "")
        placed.append(message)
    state: Any = {**request.state, _KEY: inserts}
    return request.override(messages=placed, state=state)


def inserts_of(request: ModelRequest[Any]) -> Inserts:
    """Read what was handed on with a request; nothing, where nobody did."""
    state: Any = request.state
    found = state.get(_KEY)
    return found if isinstance(found, Inserts) else Inserts({})
