"""Memory over HTTP: the document in DeerFlow's shape, and facts one by one."""

from typing import Any, Literal

from pydantic import ConfigDict, Field, JsonValue

from thalweg.api.shape import Shape
from thalweg.facts.values import Category


class MemoryDocument(Shape):
    """What is remembered, in DeerFlow's shape."""

    model_config = ConfigDict(frozen=True, extra="allow")

    version: str = "1.0"
    lastUpdated: str = ""  # noqa: N815 (the document's own key)
    userContext: dict[str, Any] = Field(default_factory=dict)  # noqa: N815
    history: dict[str, Any] = Field(default_factory=dict)
    facts: tuple[dict[str, Any], ...] = ()


class FactView(Shape):
    """One fact, with where it comes from and since when it holds."""

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
    """A fact to remember, by the user's own hand."""

    content: str = Field(min_length=1, max_length=2000)
    category: Category | None = None
    confidence: float = Field(default=1.0, ge=0, le=1)


class FactChange(Shape):
    """What to change of a fact; what is not given stays."""

    content: str | None = Field(default=None, min_length=1, max_length=2000)
    category: Category | None = None
    confidence: float | None = Field(default=None, ge=0, le=1)


class Found(Shape):
    """One thing that a recall looked at, and why it was told or not."""

    kind: Literal["fact", "turn"]
    id: str
    content: str
    score: float
    is_told: bool
    why: str = ""
    detail: dict[str, JsonValue] = Field(default_factory=dict)


class Recall(Shape):
    """What memory tells about some words, and why."""

    query: str
    text: str
    """The block that a context is given."""
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
    """What is to be nowhere any more."""

    facts: tuple[str, ...] = ()
    words: str = ""
    """Whatever has these words in it."""
    threads: tuple[str, ...] = ()
    everything: bool = False


class Forgotten(Shape):
    """What was deleted, and where it may still be."""

    facts: int
    turns: int
    detail: dict[str, Any] = Field(default_factory=dict)


class Review(Shape):
    """A person's word on a fact that waits for it."""

    accept: bool
