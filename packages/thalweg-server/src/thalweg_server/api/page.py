"""Shapes of the web page: threads at a glance, calls with their cost, requests as sent."""

from typing import Literal

from thalweg_server.api.catalogue import Usage
from thalweg_server.api.shape import Moment, Shape
from thalweg_server.api.threads import Edit, Role, ToolCall

Form = Literal["whole", "shortened", "summary", "added"]
"""How a request has a message: verbatim; by a preview or without a part; a structured summary of
earlier ones; or a message that is not of the thread."""


class ThreadRow(Shape):
    """One thread of the list."""

    id: str
    title: str = ""
    created: Moment
    updated: Moment
    agent: str = ""
    """The agent whose imported session it is; empty for a thread of this gateway."""
    project: str = ""
    model: str = ""
    messages: int
    calls: int
    cost: float | None = None
    """Of all calls, in `currency`; `None` if a price is unknown."""
    currency: str = "USD"
    tokens: int = 0
    """Of the newest request."""
    window: int = 0
    """Tokens that its model accepts; 0 if unknown: the archive keeps none of a recorded session."""
    changes: int = 0
    """Changes of the context."""
    compactions: int = 0
    lost: int = 0
    """Requests of the user that a recorded agent lost."""
    run: str | None = None
    passage: str = ""
    """The text around the hit, if words were searched for."""
    position: int | None = None
    """Position of the message of the passage."""


class ThreadRows(Shape):
    """Some threads, the newest first."""

    items: tuple[ThreadRow, ...]
    before: str | None = None
    """Cursor for older threads."""
    agents: tuple[str, ...] = ()
    """The agents of all threads, `own` for this gateway; in the newest stretch alone."""
    projects: tuple[str, ...] = ()
    """The projects of all recorded sessions, likewise."""


class OwnerRow(Shape):
    """What an owner does now and spent today, with its limits."""

    owner: str
    runs: int
    """Queued or running."""
    today: Usage
    """Since midnight UTC."""
    limits: dict[str, float | None]
    """By their names in the settings; `None` is no limit."""


class OwnerRows(Shape):
    """The owners of the keys, and those of the last requests of this process."""

    items: tuple[OwnerRow, ...]


class DeletedOwner(Shape):
    """A deleted owner, with copies that may remain."""

    owner: str
    left: tuple[str, ...]
    """Copies that may remain, and where, one line each; without any content."""


class Call(Shape):
    """One call of the model."""

    turn: int
    at: Moment | None
    model: str
    tokens: int
    sections: dict[str, int]
    """Its tokens by section."""
    limit: int = 0
    window: int = 0
    input_tokens: int | None = None
    """As the provider reported it."""
    cached_tokens: int | None = None
    written_tokens: int | None = None
    output_tokens: int | None = None
    is_output_counted: bool = False
    """Whether `output_tokens` is counted from the answer: the log states less, such as the first
    token alone; `cost` is of what the log states."""
    cost: float | None = None
    saved: float | None = None
    """What all changes up to this call have saved by then, compared with sending everything."""
    position: int | None = None
    """Position of its answer."""
    is_current: bool = True
    """Whether the thread includes it; a rewind abandons calls."""


class Change(Shape):
    """The edits before one request, or a manual operation, with their price and their gain."""

    turn: int
    """The first call that shows it."""
    kind: str
    """`compaction`, `clearing`, or a manual operation: `undo`, `rewind`, `pin` …"""
    at: Moment | None = None
    reason: str = ""
    edits: tuple[Edit, ...] = ()
    tokens_before: int = 0
    tokens_after: int = 0
    summary: str = ""
    """The text that replaces the messages; of a compaction."""
    price: float | None = None
    """What dropping the content costs once, as predicted."""
    reread: float | None = None
    """What each call would pay to read the content again, as predicted."""
    predicted: float | None = None
    """Net gain that was predicted."""
    predicted_calls: int = 0
    realised: float | None = None
    """Net gain so far."""
    calls: int = 0
    """Calls since."""
    last: int | None = None
    """Last position that a compaction replaced."""
    can_undo: bool = False
    is_current: bool = True
    note: str = ""


class LostRequest(Shape):
    """A request of the user that the context no longer had."""

    position: int
    text: str
    turn: int
    """The first call without it."""
    at: Moment | None = None


class Placement(Shape):
    """Consecutive messages, and how the next request has them."""

    first: int
    last: int
    form: Literal["whole", "shortened", "summarized"]


class Overview(Shape):
    """A thread with all of its calls and changes."""

    thread: ThreadRow
    calls: tuple[Call, ...]
    changes: tuple[Change, ...]
    lost: tuple[LostRequest, ...]
    """Always empty for threads of this gateway, which remove nothing for good."""
    requests: int
    """Requests of the user."""
    placements: tuple[Placement, ...]
    saved: float | None = None
    """What all changes have saved so far, in the thread's currency."""
    is_whole: bool = True
    """Whether the log has whole requests; logs of agents lack system prompt and tools."""


class MessageMedia(Shape):
    """An image, audio or file of a message."""

    mime: str
    index: int | None
    """Its number in the thread's message, from 0; `None` if it is not of it."""


class RequestMessage(Shape):
    """One message of a request."""

    index: int
    position: int | None
    """Its position in the thread; `None` if it is no message of it."""
    role: Role
    form: Form
    section: str
    tokens: int
    original_tokens: int
    text: str
    """Its beginning."""
    more: int = 0
    """Characters that `text` omits."""
    thinking: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    name: str = ""
    is_error: bool = False
    media: tuple[MessageMedia, ...] = ()
    is_new: bool = True
    """Whether the request before did not have it in this form."""


class Tool(Shape):
    """One tool of a request."""

    name: str
    description: str = ""


class Removed(Shape):
    """Consecutive messages that the request before had and this one has not."""

    first: int
    last: int


class SentRequest(Shape):
    """A request as it was sent, compared with the one before."""

    turn: int
    system: str
    tools: tuple[Tool, ...]
    messages: tuple[RequestMessage, ...]
    same: int
    """Number of leading messages that are equal to those of the request before."""
    removed: tuple[Removed, ...]
    thinking_lost: int = 0
    """Messages whose reasoning is not sent again."""
