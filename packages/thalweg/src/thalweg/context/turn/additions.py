"""What middleware adds to requests: to the system prompt, and before messages of the user.

A middleware sees the messages of the state; `ContextMiddleware` sends a view of the whole thread,
with messages that are no longer in the state. So an addition refers to its message by id, and the
sender of the request reports which of the messages were sent. Without `ContextMiddleware` the
messages of the request are all there are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langchain_core.messages.content import ContentBlock

from thalweg.context.notes import SOURCE_KEY
from thalweg.context.request.last_check import count_text
from thalweg.context.request.messages import parse_message
from thalweg.context.turn.threads import SessionPool
from thalweg.engine.additions import MEMORY, Addition, AdditionSize
from thalweg.engine.entries import Message
from thalweg.engine.tokens import Counter

_PARTS_KEY = "thalweg_parts"
"""Key in the state of a request, which is not stored, to pass on the named parts."""


def with_text(request: ModelRequest[Any], text: str) -> ModelRequest[Any]:
    """Add a text to the end of the system prompt, as a block of its own."""
    old_prompt = request.system_message
    blocks: list[ContentBlock] = list(old_prompt.content_blocks) if old_prompt else []
    blocks.append({"type": "text", "text": f"\n\n{text}" if blocks else text})
    return request.override(system_message=SystemMessage(content_blocks=blocks))


def with_part(request: ModelRequest[Any], addition: Addition) -> ModelRequest[Any]:
    """Add a text as `with_text` does, and list it as a part of its own."""
    state: Any = {**request.state, _PARTS_KEY: (*parts_of(request), addition)}
    return with_text(request, addition.text).override(state=state)


def parts_of(request: ModelRequest[Any]) -> Sequence[Addition]:
    """Return the parts of the system prompt that middleware has added by name."""
    state: Any = request.state
    parts = state.get(_PARTS_KEY)
    return parts if isinstance(parts, tuple) else ()


INSERTS_KEY = "thalweg_inserts"
"""Key in the state of a request, which is not stored, to pass them on."""
_SOURCE = {SOURCE_KEY: "thalweg"}
"""Marks a message that is not the user's."""


@dataclass(slots=True)
class Inserts:
    """Additions before messages, those of outer middleware first."""

    additions: Sequence[Addition] = ()
    outer: Optional["Inserts"] = None
    """The inserts of middleware further out."""
    shown: set[str] = field(default_factory=set)
    """Ids of the messages before which they were sent; the sender reports them."""
    sessions: SessionPool | None = None
    """The pool of the `ContextMiddleware` that sent them; `None` if there was none."""
    messages: dict[str, AnyMessage] = field(init=False)
    """One message for each id: all additions before it."""

    def __post_init__(self) -> None:
        texts: dict[str, list[str]] = {}
        for addition in self.additions:
            texts.setdefault(addition.before, []).append(addition.text)
        self.messages = {
            uid: HumanMessage("\n\n".join(parts), id=f"before-{uid}", additional_kwargs=_SOURCE)
            for uid, parts in texts.items()
        }

    def read(self) -> dict[str, Message]:
        """Parse the inserted messages for the engine."""
        return {uid: parse_message(message) for uid, message in self.messages.items()}

    @property
    def of_memory(self) -> set[str]:
        """The ids of messages with memory before them."""
        return {one.before for one in self.additions if one.part == MEMORY}

    def without(self, messages: list[AnyMessage]) -> list[AnyMessage]:
        """Take them out of a request again."""
        if not self.messages:
            return messages
        inserted = {message.id for message in self.messages.values()}
        return [message for message in messages if message.id not in inserted]

    def sent(self, shown: set[str], sessions: SessionPool) -> None:
        """Report to every middleware at which ids they were sent."""
        self.shown, self.sessions = shown, sessions
        if self.outer is not None:
            self.outer.sent(shown, sessions)


def with_inserts(
    request: ModelRequest[Any], additions: Iterable[Addition]
) -> tuple[ModelRequest[Any], Inserts]:
    """Insert additions before the messages that the request has, and pass on all of them.

    Returns:
        The request, and the object in which its sender reports the sent additions.
    """
    outer = inserts_of(request) or Inserts()
    inserts = Inserts((*outer.additions, *additions), outer)
    placed: list[AnyMessage] = []
    for message in outer.without(request.messages):
        if insert := inserts.messages.get(message.id or ""):
            placed.append(insert)
            inserts.shown.add(message.id or "")
        placed.append(message)
    state: Any = {**request.state, INSERTS_KEY: inserts}
    return request.override(messages=placed, state=state), inserts


def inserts_of(request: ModelRequest[Any]) -> Inserts | None:
    """Read the additions before messages of a request; `None` if there are none."""
    state: Any = request.state
    inserts = state.get(INSERTS_KEY)
    return inserts if isinstance(inserts, Inserts) else None


def listed_additions(
    request: ModelRequest[Any], places: Mapping[str, int], count: Counter
) -> list[AdditionSize]:
    """List the sent content of a request besides messages; the system prompt's first.

    Args:
        request: The request.
        places: Positions of the messages that have an insert, by id.
        count: Counts the tokens of a text.
    """
    inserts = inserts_of(request)
    return [
        AdditionSize(
            addition.part,
            count_text(addition.text, count),
            addition.about,
            places.get(addition.before, -1),
        )
        for addition in (*parts_of(request), *(inserts.additions if inserts else ()))
        if not addition.before or addition.before in places
    ]
