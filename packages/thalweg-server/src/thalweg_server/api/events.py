"""Events of a run in its stream: each is one row of the run's journal.

Over HTTP an event is a server-sent event: `id` is its number in the run, `event` its `type`,
`data` the JSON of its shape. Numbers begin with 1 and have no gap; `Last-Event-ID` resumes
after one.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, TypeAdapter

from thalweg_server.api.catalogue import Usage
from thalweg_server.api.problems import Problem
from thalweg_server.api.shape import Shape
from thalweg_server.api.threads import Question, ToolCall


class RunStarted(Shape):
    """The first event."""

    type: Literal["run.started"] = "run.started"
    run: str
    thread: str
    model: str = ""
    trace: str = ""
    """The `traceparent` of its span; later attempts continue the trace."""


class RunResumed(Shape):
    """The process that performed it died; another resumed from its last checkpoint."""

    type: Literal["run.resumed"] = "run.resumed"
    attempt: int


class MessageStarted(Shape):
    """A model began to answer."""

    type: Literal["message.started"] = "message.started"
    message: str
    caller: str = ""
    """Empty for the agent itself; else the subagent's task."""


class MessageDelta(Shape):
    """More of an answer."""

    type: Literal["message.delta"] = "message.delta"
    message: str
    text: str


class ThinkingDelta(Shape):
    """More of a model's thinking."""

    type: Literal["thinking.delta"] = "thinking.delta"
    message: str
    text: str


class MessageCompleted(Shape):
    """An answer is complete and stored."""

    type: Literal["message.completed"] = "message.completed"
    message: str
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    caller: str = ""
    usage: Usage | None = None


class MessageWithdrawn(Shape):
    """An answer was begun and never finished: discard it; another follows."""

    type: Literal["message.withdrawn"] = "message.withdrawn"
    message: str


class ToolStarted(Shape):
    """A tool was called."""

    type: Literal["tool.started"] = "tool.started"
    call: str
    name: str
    arguments: str = ""
    caller: str = ""


class ToolCompleted(Shape):
    """A tool returned."""

    type: Literal["tool.completed"] = "tool.completed"
    call: str
    name: str
    text: str = ""
    """Beginning of the result; the history has all of it."""
    is_error: bool = False
    caller: str = ""


class SubagentEvent(Shape):
    """Something happened to a subagent."""

    type: Literal["subagent"] = "subagent"
    kind: str
    """`task_started`, `task_running`, `task_completed`, `task_failed`, `task_cancelled`,
    `task_timed_out`."""
    task: str
    subagent: str
    detail: dict[str, JsonValue] = Field(default_factory=dict)


class ContextChanged(Shape):
    """The context was compacted: the decision, its reason, its cost and its savings."""

    type: Literal["context.changed"] = "context.changed"
    turn: int
    """Number of the model call in its thread, from 1."""
    tokens_before: int
    tokens_after: int
    limit: int
    reasons: tuple[str, ...]
    detail: dict[str, Any] = Field(default_factory=dict)
    """The whole event `thalweg.context`."""


class Notice(Shape):
    """Another event of LangGraph's custom stream: memory, prices, your own tools."""

    type: Literal["notice"] = "notice"
    kind: str
    detail: dict[str, Any] = Field(default_factory=dict)


class GraphStreamed(Shape):
    """A part of the graph's own stream, in the runs of LangGraph's API that ask for it."""

    type: Literal["graph"] = "graph"
    mode: str
    """The stream mode of LangGraph."""
    namespace: tuple[str, ...] = ()
    """The subgraph; empty for the graph itself."""
    text: str = ""
    """In mode `messages`: the text of a piece that has nothing else."""
    data: Any = None
    """The part. `values` holds what differs from the part before; `message_changes` of
    `thalweg_server.app.streaming` describes it."""


class UsageReported(Shape):
    """Usage of the run so far, and tokens of the window in use."""

    type: Literal["usage"] = "usage"
    total: Usage
    tokens: int
    """Tokens of the newest request."""
    limit: int


class RunInterrupted(Shape):
    """The run ended with a question to a person; answer with `NewRun.resume`."""

    type: Literal["run.interrupted"] = "run.interrupted"
    questions: tuple[Question, ...]


class RunCompleted(Shape):
    """The run ended successfully."""

    type: Literal["run.completed"] = "run.completed"
    text: str
    """The final answer."""
    usage: Usage


class RunFailed(Shape):
    """The run ended with an error; the thread is in the state of its last checkpoint."""

    type: Literal["run.failed"] = "run.failed"
    problem: Problem


class RunCancelled(Shape):
    """The run was cancelled; the thread is in the state of its last checkpoint."""

    type: Literal["run.cancelled"] = "run.cancelled"


Event = Annotated[
    RunStarted
    | RunResumed
    | MessageStarted
    | MessageDelta
    | ThinkingDelta
    | MessageCompleted
    | MessageWithdrawn
    | ToolStarted
    | ToolCompleted
    | SubagentEvent
    | ContextChanged
    | Notice
    | GraphStreamed
    | UsageReported
    | RunInterrupted
    | RunCompleted
    | RunFailed
    | RunCancelled,
    Field(discriminator="type"),
]
END_EVENTS = frozenset({"run.interrupted", "run.completed", "run.failed", "run.cancelled"})
"""Types of the events that end a stream."""
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
"""Parses and serializes any event."""


class Numbered(Shape):
    """An event with its number in the run."""

    seq: int
    event: Event
