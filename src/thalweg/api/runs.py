"""Runs: what an agent is asked, and how far it got."""

from typing import Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from thalweg.api.problems import Problem
from thalweg.api.shape import Identifier, Moment, Shape

RunStatus = Literal["queued", "running", "interrupted", "completed", "failed", "cancelled"]


class Input(Shape):
    """A message to the agent."""

    role: Literal["user"] = "user"
    content: str | tuple[dict[str, JsonValue], ...]
    """Text, or content blocks as LangChain has them (text, image)."""


class NewRun(Shape):
    """What an agent is asked: a message, or a person's word on what it waits for."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={
            "oneOf": [
                {"required": ["message"], "properties": {"message": {"type": "string"}}},
                {"required": ["messages"], "properties": {"messages": {"minItems": 1}}},
                {"required": ["resume"], "properties": {"resume": {"not": {"type": "null"}}}},
            ]
        },
    )

    id: Identifier | None = None
    """Yours to choose: the same id twice is one run (a request can be sent again safely)."""
    message: str | None = Field(default=None, max_length=10_000_000)
    """Short for one user message."""
    messages: tuple[Input, ...] = ()
    resume: JsonValue | None = None
    """The answer to `State.questions`: LangGraph's `Command(resume=…)`."""
    model: str | None = None
    """A name of `/api/models`; the agent's own where it is not given."""
    memory: Literal["on", "read_only", "incognito", "off"] = "on"
    agent: Identifier | None = None
    """The agent whose memory of its own is used; the one that all agents share where not given."""
    place: str | None = Field(default=None, max_length=500)
    """Where the user is, such as a folder and its project: the agent is told."""
    if_busy: Literal["reject", "cancel"] = "reject"
    """What to do where another run of the thread has not ended: refuse, or cancel that one."""

    @model_validator(mode="after")
    def _asks_one_thing(self) -> Self:
        given = [self.message is not None, bool(self.messages), self.resume is not None]
        if sum(given) != 1:
            msg = "give one of message, messages and resume"
            raise ValueError(msg)
        return self


class Run(Shape):
    """What is known of a run."""

    id: str
    thread: str
    status: RunStatus
    created: Moment
    started: Moment | None = None
    ended: Moment | None = None
    attempts: int = 0
    """How many processes took it up; more than one where one died."""
    last_event: int = 0
    problem: Problem | None = None
    """Why it failed."""


class Runs(Shape):
    """Some runs, the newest first."""

    items: tuple[Run, ...]
    before: str | None = None
