"""Bodies of LangGraph's API. Unsupported fields are ignored, as its own server does."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from thalweg_server.api.graph_runs import Mode
from thalweg_server.api.shape import ThreadId
from thalweg_server.app.graph_runs import Strategy

Fields = dict[str, JsonValue]
Limit = Annotated[int, Field(ge=1, le=1_000)]
Offset = Annotated[int, Field(ge=0)]
Order = Literal["asc", "desc"]
StreamMode = Literal[Mode, "messages-tuple"]
Behaviour = Literal["cancel", "continue"]


class Body(BaseModel):
    """The base of the bodies."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Page(Body):
    """Part of a list."""

    limit: Limit = 10
    offset: Offset = 0


class Checkpoint(Body):
    """A point in the history of a thread."""

    checkpoint_id: str | None = None
    checkpoint_ns: str = ""


class AssistantChange(Body):
    """New fields of an assistant."""

    graph_id: str | None = None
    name: str | None = None
    description: str | None = None
    config: Fields | None = None
    context: JsonValue = None
    metadata: Fields | None = None


class NewAssistant(AssistantChange):
    """A graph with a config."""

    graph_id: str
    assistant_id: str | None = Field(default=None, min_length=1, max_length=128)
    if_exists: Literal["raise", "do_nothing"] = "raise"


class AssistantSearch(Page):
    """What assistants have."""

    metadata: Fields | None = None
    graph_id: str | None = None
    name: str | None = None
    sort_by: Literal["assistant_id", "graph_id", "name", "created_at", "updated_at"] | None = None
    sort_order: Order = "desc"


class Version(Body):
    """A version of an assistant."""

    version: int


class Superstep(Body):
    """Updates that were made together."""

    updates: tuple[dict[str, Any], ...] = ()


class NewThread(Body):
    """A thread."""

    thread_id: ThreadId | None = None
    metadata: Fields | None = None
    if_exists: Literal["raise", "do_nothing"] = "raise"
    supersteps: tuple[Superstep, ...] = ()


class ThreadPatch(Body):
    """Fields to add to the metadata of a thread."""

    metadata: Fields | None = None


class ThreadSearch(Page):
    """What threads have."""

    ids: tuple[str, ...] | None = None
    metadata: Fields | None = None
    values: Fields | None = None
    status: Literal["idle", "busy", "interrupted", "error"] | None = None
    sort_by: (
        Literal["thread_id", "status", "created_at", "updated_at", "state_updated_at"] | None
    ) = None
    sort_order: Order = "desc"
    select: tuple[str, ...] | None = None


class StateUpdate(Body):
    """A change of a thread's state."""

    values: Any = None
    as_node: str | None = None
    checkpoint: Checkpoint | None = None
    checkpoint_id: str | None = None


class HistorySearch(Body):
    """Which states of a thread."""

    limit: Limit = 10
    before: str | dict[str, Any] | None = None
    metadata: Fields | None = None
    checkpoint: Checkpoint | None = None


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
    on_completion: Literal["delete", "keep"] = "delete"
    after_seconds: Annotated[float, Field(ge=0, le=31_536_000)] | None = None

    @property
    def modes(self) -> tuple[StreamMode, ...]:
        """The stream modes."""
        return (self.stream_mode,) if isinstance(self.stream_mode, str) else self.stream_mode


class CancelMany(Body):
    """Which runs to cancel."""

    thread_id: str | None = None
    run_ids: tuple[str, ...] | None = None
    status: Literal["pending", "running", "all"] | None = None


class ItemPut(Body):
    """An item of the store."""

    namespace: tuple[str, ...]
    key: str = Field(min_length=1, max_length=1_000)
    value: dict[str, JsonValue]


class ItemKey(Body):
    """The place of an item."""

    namespace: tuple[str, ...] = ()
    key: str


class ItemSearch(Page):
    """What items have."""

    namespace_prefix: tuple[str, ...] = ()
    filter: Fields | None = None
    query: str | None = None


class NamespaceSearch(Page):
    """Which namespaces."""

    prefix: tuple[str, ...] | None = None
    suffix: tuple[str, ...] | None = None
    max_depth: Annotated[int, Field(ge=1)] | None = None
    limit: Limit = 100
