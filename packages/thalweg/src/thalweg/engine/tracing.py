"""Events in a trace, where OpenTelemetry is installed."""

from collections.abc import Mapping
from typing import Any


def trace(event: Mapping[str, Any]) -> None:
    """Add an event to the span that is open: its `type` as the name, and its plain values."""
    try:
        from opentelemetry import trace as spans  # noqa: PLC0415 (only where it is installed)
    except ImportError:
        return
    attributes = {k: v for k, v in event.items() if isinstance(v, (str, int, float))}
    spans.get_current_span().add_event(event["type"], attributes)
