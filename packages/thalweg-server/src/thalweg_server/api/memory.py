"""Memory over HTTP: the document in DeerFlow's shape, and single facts."""

from typing import Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from thalweg_memory.facts.values import Category
from thalweg_server.api.shape import Shape


class MemoryDocument(Shape):
    """The content of a memory, in DeerFlow's shape."""

    model_config = ConfigDict(frozen=True, extra="allow")

    version: str = "1.0"
    lastUpdated: str = ""  # noqa: N815 (the document's own key)
    userContext: dict[str, Any] = Field(default_factory=dict)  # noqa: N815
    history: dict[str, Any] = Field(default_factory=dict)
    facts: tuple[dict[str, Any], ...] = ()


class FactView(Shape):
    """One fact, with its source and the time since which it is valid."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    content: str
    category: str
    confidence: float
    createdAt: str = ""  # noqa: N815
    source: str = ""
    status: str = "active"


class Facts(Shape):
    """Facts, the newest first."""

    items: tuple[FactView, ...]


class NewFact(Shape):
    """A fact that the user adds."""

    content: str = Field(min_length=1, max_length=2000)
    category: Category | None = None
    confidence: float = Field(default=1.0, ge=0, le=1)


class FactChange(Shape):
    """Changes of a fact; fields that are not set are unchanged."""

    content: str | None = Field(default=None, min_length=1, max_length=2000)
    category: Category | None = None
    confidence: float | None = Field(default=None, ge=0, le=1)


class Found(Shape):
    """One candidate of a recall, and why it was selected or not."""

    kind: Literal["fact", "turn"]
    id: str
    content: str
    score: float
    is_told: bool
    why: str = ""
    detail: dict[str, JsonValue] = Field(default_factory=dict)


class Recall(Shape):
    """What memory recalls for a query, and why."""

    query: str
    text: str
    """The block for the context."""
    tokens: int
    items: tuple[Found, ...]


class Commit(Shape):
    """One change of a memory; it can be undone."""

    operation: int
    at: str
    actor: str
    kind: str
    summary: str = ""


class Commits(Shape):
    """Changes of a memory, the newest first."""

    items: tuple[Commit, ...]


class Forget(Shape):
    """What to delete everywhere."""

    facts: tuple[str, ...] = ()
    words: str = ""
    """Deletes everything that contains these words."""
    threads: tuple[str, ...] = ()
    everything: bool = False


class Forgotten(Shape):
    """The deleted items, and the places that may still hold copies."""

    facts: int
    turns: int
    detail: dict[str, Any] = Field(default_factory=dict)


class Review(Shape):
    """A person's decision on a fact that waits for it."""

    accept: bool
