"""Threads: their messages, their turns, and the exact context of any of them."""

from typing import Any, Literal

from pydantic import Field, JsonValue

from thalweg.api.shape import Identifier, Moment, Number, Shape

Role = Literal["system", "user", "assistant", "tool"]


class ToolCall(Shape):
    """What a model asked a tool to do."""

    id: str
    name: str
    arguments: str
    """As the model wrote them: JSON, if it did well."""


class Message(Shape):
    """One message, as people read it."""

    id: str = ""
    role: Role
    text: str = ""
    thinking: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    answers: str = ""
    """Of a tool's result: the id of the call."""
    name: str = ""
    """Of a tool's result: the tool."""
    is_error: bool = False
    media: int = 0
    """Images, audio and files in it that are not shown here."""


class HistoryItem(Shape):
    """A message of a thread at its place."""

    position: int
    message: Message
    is_abandoned: bool = False
    """Whether a rewind left it behind."""


class History(Shape):
    """A stretch of a thread, oldest first."""

    items: tuple[HistoryItem, ...]
    before: int | None = None
    """Ask with it for what stands before; `None` at the beginning."""


class NewThread(Shape):
    """A thread to be made."""

    id: Identifier | None = None
    """Yours to choose; made up where it is not given."""
    title: str = Field(default="", max_length=200)


class ThreadChange(Shape):
    """What can be changed of a thread."""

    title: str = Field(max_length=200)


class Thread(Shape):
    """What is known of a thread at a glance."""

    id: str
    title: str = ""
    created: Moment
    updated: Moment
    messages: int = 0
    turns: int = 0
    run: str | None = None
    """The run under way."""


class Threads(Shape):
    """Some threads, the newest first."""

    items: tuple[Thread, ...]
    before: str | None = None
    """Ask with it for older ones."""


class Todo(Shape):
    """A step of the agent's plan."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


class Question(Shape):
    """Something the agent waits for a person to decide."""

    id: str
    value: JsonValue
    """As LangChain's human in the loop has it: `action_requests`, `review_configs`."""


class State(Shape):
    """Where a thread stands now."""

    thread: Thread
    todos: tuple[Todo, ...] = ()
    files: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    """What the last run was interrupted for."""
    next: tuple[str, ...] = ()
    """Nodes of the graph that are still to run."""


class Edit(Shape):
    """One decision about the context, with its reason and its price."""

    kind: Literal["evict", "elide", "supersede", "strip", "fold", "pin", "unpin"]
    reason: str
    tokens_before: int
    tokens_after: int
    position: int
    """The message; of a fold the last of them."""
    detail: dict[str, JsonValue] = Field(default_factory=dict)


class Turn(Shape):
    """One request to the model, and what was decided before it."""

    turn: int
    at: Moment
    kind: str
    """`call`, or what a hand did: `rewind`, `compact`, `pin`…"""
    model: str = ""
    edits: tuple[Edit, ...] = ()
    tokens: int = 0
    limit: int = 0
    sections: dict[str, int] = Field(default_factory=dict)
    input_tokens: int | None = None
    """As the provider told it."""
    cached_tokens: int | None = None
    output_tokens: int | None = None
    is_current: bool = True
    """Whether the thread still stands on it; a rewind leaves turns behind."""
    note: str = ""


class Turns(Shape):
    """Turns of a thread, oldest first."""

    items: tuple[Turn, ...]


class AdditionView(Shape):
    """One part of a request that is no message of its thread."""

    part: str
    """`instructions`, `date`, `memory`, `skills`, `uploads`, `tasks` …"""
    tokens: int
    about: str = ""
    position: int | None = None
    """Of the user's message that it stands before; `None` for the system prompt."""


class Context(Shape):
    """The exact request of a turn."""

    turn: int
    at: Moment
    model: str
    system: str
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...]
    sections: dict[str, int] = Field(default_factory=dict)
    additions: tuple[AdditionView, ...] = ()
    """What went along besides messages and tools."""
    tokens: int
    limit: int
    window: int


class Done(Shape):
    """What a hand did to a thread."""

    turn: int
    """The new turn."""
    about: int
    """The turn or message it was about."""
    tokens: int
    limit: int


class DeletedThread(Shape):
    """What was deleted, and what of it may be left."""

    thread: str
    forgotten: bool
    """Whether memory forgot what it learned from it, and its bytes were erased."""
    left: tuple[str, ...] = ()
    """What may be left, and where, one line each; no content is in it."""


class Rewind(Shape):
    """Where to go back to."""

    turn: Number


class Branch(Shape):
    """A thread to be made of the beginning of another."""

    id: Identifier | None = None
    turn: Number | None = None
    """The last turn it has in common; the newest where it is not given."""
    title: str = Field(default="", max_length=200)


class Pinned(Shape):
    """Words of the user to be kept verbatim, or let go of."""

    position: Number
    quote: str = Field(min_length=1, max_length=4000)
