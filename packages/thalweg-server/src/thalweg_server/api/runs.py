"""Runs: their input and their status."""

from typing import Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from thalweg_memory.facts.values import Mode
from thalweg_server.api.problems import Problem
from thalweg_server.api.shape import Identifier, Moment, Shape

RunStatus = Literal["queued", "running", "interrupted", "completed", "failed", "cancelled"]


class Input(Shape):
    """A message to the agent."""

    role: Literal["user"] = "user"
    content: str | tuple[dict[str, JsonValue], ...]
    """Text, or content blocks as LangChain has them (text, image)."""


class NewRun(Shape):
    """Input of a run: a message, a person's answer to a pending question, or another attempt."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={
            "oneOf": [
                {"required": ["message"], "properties": {"message": {"type": "string"}}},
                {"required": ["messages"], "properties": {"messages": {"minItems": 1}}},
                {"required": ["resume"], "properties": {"resume": {"not": {"type": "null"}}}},
                {"required": ["retry"], "properties": {"retry": {"const": True}}},
            ]
        },
    )

    id: Identifier | None = None
    """Optional id: the same id twice is one run, so a request can be retried safely."""
    message: str | None = Field(default=None, max_length=10_000_000)
    """Short form for one user message."""
    messages: tuple[Input, ...] = ()
    resume: JsonValue | None = None
    """The answer to `State.questions`: LangGraph's `Command(resume=…)`."""
    retry: bool = False
    """Instead of a message: continue a failed or cancelled run after its last step."""
    unanswered: Literal["keep", "drop"] = "keep"
    """With a message: whether the messages of the newest run, if it failed or was cancelled before
    anything followed them, are sent with it or removed from the thread."""
    model: str | None = None
    """A name of `/api/models`; by default the agent's own."""
    memory: Mode = "on"
    agent: Identifier | None = None
    """The agent whose own memory is used; by default the one that all agents share."""
    place: str | None = Field(default=None, max_length=500)
    """The user's location, such as a folder and its project; added to the agent's context."""
    if_busy: Literal["enqueue", "reject", "cancel"] = "enqueue"
    """If another run of the thread has not ended: wait for its end, refuse, or cancel that one."""
    priority: int = Field(default=0, ge=-100, le=100)
    """Among runs that wait for a worker, those of a higher priority start first."""

    @model_validator(mode="after")
    def _validate_one_input(self) -> Self:
        given = (self.message is not None, self.messages, self.resume is not None, self.retry)
        if sum(map(bool, given)) != 1:
            msg = "send one of message, messages, resume and retry"
            raise ValueError(msg)
        return self


class Run(Shape):
    """The status of a run."""

    id: str
    thread: str
    status: RunStatus
    created: Moment
    started: Moment | None = None
    ended: Moment | None = None
    attempts: int = 0
    """How many processes started it; more than one if one died."""
    last_event: int = 0
    problem: Problem | None = None
    """Why it failed."""


class Runs(Shape):
    """Some runs, the newest first."""

    items: tuple[Run, ...]
    before: str | None = None
