"""Runs of any graph: input, config and stream modes as LangGraph has them."""

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

from thalweg_server.api.runs import NewRun
from thalweg_server.api.shape import Shape

Mode = Literal[
    "values", "updates", "messages", "custom", "tasks", "checkpoints", "debug", "tools", "events",
    "lifecycle",
]  # fmt: skip
"""What a graph streams; `events` are those of LangChain's `astream_events`, version 2, and
`lifecycle` starts and ends of subgraphs."""

StreamMode = Literal[Mode, "messages-tuple"]
Strategy = Literal["enqueue", "reject", "interrupt", "rollback"]
Behaviour = Literal["cancel", "continue"]
Completion = Literal["delete", "keep"]
Fields = dict[str, JsonValue]
BUILT_IN = "agent"
"""The id of the gateway's agent as a graph."""


class GraphRun(Shape):
    """The request of a run of a graph, as its row stores it."""

    graph: str
    """The id of the graph."""
    assistant: str = ""
    """The id of the assistant, a graph with a config."""
    input: JsonValue = None
    """The input of the graph."""
    command: dict[str, JsonValue] | None = None
    """Instead of an input: `resume`, `update` and `goto` of LangGraph's `Command`."""
    config: dict[str, JsonValue] = Field(default_factory=dict)
    """`configurable`, `tags`, `metadata` and `recursion_limit` of a `RunnableConfig`."""
    context: JsonValue = None
    """The static context of the graph's runtime."""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    checkpoint: str | None = None
    """The checkpoint that the run begins at; the thread's newest by default."""
    modes: tuple[Mode, ...] = ("values",)
    """What the journal keeps of the graph's stream."""
    subgraphs: bool = False
    """Whether it keeps that of subgraphs, too."""
    interrupt_before: Literal["*"] | tuple[str, ...] = ()
    interrupt_after: Literal["*"] | tuple[str, ...] = ()
    webhook: str | None = None
    """Address that receives the run when it has ended."""
    client: dict[str, JsonValue] = Field(default_factory=dict)
    """Fields that a client reads again: its stream modes, its strategy for a busy thread."""

    @property
    def model_name(self) -> str | None:
        """The name of the model in `configurable.model`; `None` if it names none."""
        configurable = self.config.get("configurable")
        model = configurable.get("model") if isinstance(configurable, dict) else None
        return model if isinstance(model, str) and model else None


class Body(BaseModel):
    """The base of the bodies of LangGraph's API. Unsupported fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Checkpoint(Body):
    """A point in the history of a thread."""

    checkpoint_id: str | None = None
    checkpoint_ns: str = ""


class NewGraphRun(Body):
    """A run."""

    assistant_id: str
    input: JsonValue = None
    command: Fields | None = None
    config: Fields | None = None
    context: JsonValue = None
    metadata: Fields | None = None
    checkpoint: Checkpoint | None = None
    checkpoint_id: str | None = None
    stream_mode: StreamMode | tuple[StreamMode, ...] = ("values",)
    stream_subgraphs: bool = False
    interrupt_before: Literal["*"] | tuple[str, ...] | None = None
    interrupt_after: Literal["*"] | tuple[str, ...] | None = None
    webhook: str | None = Field(default=None, max_length=2_000)
    multitask_strategy: Strategy | None = None
    if_not_exists: Literal["create", "reject"] = "reject"
    on_disconnect: Behaviour | None = None
    on_completion: Completion = "delete"
    after_seconds: Annotated[float, Field(ge=0, le=31_536_000)] | None = None

    @property
    def modes(self) -> tuple[StreamMode, ...]:
        """The stream modes."""
        return (self.stream_mode,) if isinstance(self.stream_mode, str) else self.stream_mode


class NewCron(NewGraphRun):
    """A run that is repeated."""

    schedule: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """A cron expression."""
    timezone: str | None = None
    """The time zone of the schedule, by its IANA name; UTC by default."""
    end_time: datetime | None = None
    """No run is due after it; UTC by default."""
    enabled: bool = True
    on_run_completed: Completion | None = None
    """What happens to the thread of a run that has one of its own."""


def read_request(request: str) -> NewRun | GraphRun:
    """Parse the stored request of a run.

    Raises:
        ValidationError: It is neither.
    """
    given: dict[str, Any] = json.loads(request)
    kind = GraphRun if "graph" in given else NewRun
    return kind.model_validate(given)


def as_graph_run(request: NewRun | GraphRun) -> GraphRun:
    """Return a run of `/api` as one of the gateway's agent."""
    if isinstance(request, GraphRun):
        return request
    contents = [one.content for one in request.messages]
    if request.message is not None:
        contents = [request.message]
    messages: list[JsonValue] = [
        {"role": "user", "content": content if isinstance(content, str) else [*content]}
        for content in contents
    ]
    names = ("memory", "agent", "place", "model")
    return GraphRun(
        graph=BUILT_IN,
        input={"messages": messages} if messages else None,
        command=None if request.resume is None else {"resume": request.resume},
        config={"configurable": {name: getattr(request, name) for name in names}},
        modes=(),
    )
