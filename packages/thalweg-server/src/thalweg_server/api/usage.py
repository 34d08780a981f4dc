"""Usage: tokens and cost, by caller, thread and model."""

from collections.abc import Mapping

from pydantic import Field

from thalweg_server.api.shape import Shape


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
