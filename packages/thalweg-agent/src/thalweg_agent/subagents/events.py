"""Events of a subagent's run: LangGraph's custom stream, `logging`, OpenTelemetry.

The logger is `thalweg.subagents`. No event contains text of a task or a report.
"""

import logging
from collections.abc import Callable
from typing import Any, Literal

from thalweg.engine.tracing import trace

_log = logging.getLogger("thalweg.subagents")
Kind = Literal[
    "task_started",
    "task_running",
    "task_completed",
    "task_failed",
    "task_cancelled",
    "task_timed_out",
]
"""Type of an event; the last four end a task."""
Write = Callable[[Any], None]
"""Writes to the custom stream of the parent's run."""


def emit(write: Write, kind: Kind, task_id: str, subagent: str, **more: Any) -> None:  # noqa: ANN401
    """Emit one event to the stream, the log and the trace."""
    event = {"type": kind, "task_id": task_id, "subagent": subagent, **more}
    write(event)
    level = logging.DEBUG if kind == "task_running" else logging.INFO
    if kind in {"task_failed", "task_timed_out"}:
        level = logging.WARNING
    if _log.isEnabledFor(level):
        _log.log(level, "%s", sentence(event), extra={"thalweg": event})
    trace(event)


def sentence(event: dict[str, Any]) -> str:
    """Render an event as one line for a person."""
    happened = str(event["type"]).removeprefix("task_").replace("_", " ")
    text = f"subagent {event['subagent']}, task {event['task_id']}: {happened}"
    if "turn" in event:
        text += f", turn {event['turn']}, {event['tokens']} tokens, {event['seconds']} s"
    if event.get("tool"):
        text += f", last tool {event['tool']}"
    return text
