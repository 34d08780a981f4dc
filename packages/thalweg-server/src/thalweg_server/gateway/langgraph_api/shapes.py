"""Bodies of LangGraph's API. Unsupported fields are ignored, as its own server does."""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Response
from pydantic import Field, JsonValue

from thalweg_server.api.graph_runs import Body, Checkpoint, Fields
from thalweg_server.api.shape import ThreadId

T = TypeVar("T")
Limit = Annotated[int, Field(ge=1, le=1_000)]
Offset = Annotated[int, Field(ge=0)]
Order = Literal["asc", "desc"]


class Page(Body):
    """Part of a list."""

    limit: Limit = 10
    offset: Offset = 0

    def of(self, found: Sequence[T], response: Response) -> Sequence[T]:
        """Return this part of a list; a header has the offset of the next part."""
        end = self.offset + self.limit
        if end < len(found):
            response.headers["X-Pagination-Next"] = str(end)
        return found[self.offset : end]


def selected(row: dict[str, Any], names: Collection[str] | None) -> dict[str, Any]:
    """Return the named fields of a row, all by default."""
    return {name: one for name, one in row.items() if names is None or name in names}


def has_fields(row: Any, fields: Mapping[str, Any] | None) -> bool:  # noqa: ANN401 (any state)
    """Return whether a row has all of some fields; the state of a graph may be no mapping."""
    row = row if isinstance(row, Mapping) else {}
    return all(row.get(name) == value for name, value in (fields or {}).items())


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
    metadata: dict[Annotated[str, Field(pattern=r"^[\w.-]+$")], JsonValue] | None = None
    checkpoint: Checkpoint | None = None


class CancelMany(Body):
    """Which runs to cancel."""

    thread_id: str
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


class CronCount(Body):
    """Filters of crons."""

    assistant_id: str | None = None
    thread_id: str | None = None
    metadata: Fields | None = None
    enabled: bool | None = None


class CronSearch(CronCount, Page):
    """Filters, order and page of crons."""

    sort_by: Literal[
        "cron_id", "assistant_id", "thread_id", "next_run_date", "end_time", "created_at",
        "updated_at",
    ] = "created_at"  # fmt: skip
    sort_order: Order = "desc"
    select: tuple[str, ...] | None = None
