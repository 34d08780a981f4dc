"""The time, and new ids, as memory has them."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime

from thalweg_memory.facts.values import FactId

Clock = Callable[[], str]
"""Returns the time: aware UTC in ISO 8601, to the second."""


def utc_now() -> str:
    """Return the current time in memory's format."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def new_fact_id() -> FactId:
    """Make an id for a fact."""
    return FactId(f"fact-{uuid.uuid4().hex[:12]}")
