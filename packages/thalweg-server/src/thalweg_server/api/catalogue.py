"""Available models and skills, the health of the gateway, and usage: tokens and cost."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from thalweg_server.api.shape import Shape


class Model(Shape):
    """A model that a run may name."""

    name: str
    display_name: str = ""
    description: str = ""
    provider: str = ""
    model: str = ""
    window: int | None = None
    max_output: int | None = None
    supports_thinking: bool = False
    supports_vision: bool = False
    is_default: bool = False


class Models(Shape):
    """All models, the default first."""

    items: tuple[Model, ...]


class Skill(Shape):
    """A skill that agents can load."""

    name: str
    description: str
    path: str
    license: str = ""
    text: str | None = None
    """The whole `SKILL.md`, in the response for one skill."""


class Skills(Shape):
    """All skills."""

    items: tuple[Skill, ...]


class Check(Shape):
    """One part of the gateway."""

    name: str
    status: Literal["ok", "failed"]
    detail: str = ""


class Health(Shape):
    """Whether the gateway works, by its parts."""

    status: Literal["ok", "failed"]
    version: str
    checks: tuple[Check, ...] = ()


class Usage(Shape):
    """Tokens of some calls, as providers reported them, and their cost."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    """Input tokens read from the provider's cache."""
    written_tokens: int = 0
    """Input tokens written to it."""
    output_tokens: int = 0
    cost: float | None = None
    """In `currency`; `None` if no price is available."""
    currency: str = "USD"


class ThreadUsage(Shape):
    """What one thread spent."""

    thread: str
    total: Usage
    callers: Mapping[str, Usage] = Field(default_factory=dict)
    """By caller of a model: `agent`, `summaries`, `subagent:NAME`, `memory`."""
    sections: Mapping[str, int] = Field(default_factory=dict)
    """Tokens of the newest request by section: `system`, `tools`, `memory`, `history`…"""
    window: int = 0
    """Tokens that the model accepts."""
    limit: int = 0
    """Most tokens of a request."""
    saved: float | None = None
    """What compaction has saved so far, in `total.currency`."""


class OwnerUsage(Shape):
    """Usage of an owner, by thread and by model."""

    total: Usage
    threads: Mapping[str, Usage] = Field(default_factory=dict)
    models: Mapping[str, Usage] = Field(default_factory=dict)
