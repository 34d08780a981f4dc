"""Delegated tasks by the id of their tool call: the subagent, the status and the result.

The ledger is a channel of the parent's state: it is in every checkpoint, and no compaction of
messages changes it.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NotRequired

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from typing_extensions import TypedDict  # pydantic asks for it before Python 3.12

Status = Literal[
    "running",
    "completed",
    "completed without an answer",
    "partial",
    "timed_out",
    "failed",
    "cancelled",
    "refused",
]
"""Status of a task. `partial` was stopped at its limit of turns or tokens; `refused` never began:
a person or the tool itself rejected it. `completed without an answer` ended by itself, and its
report is an account of what it did."""
KEPT = 500
"""Most tasks that are kept; of those that ended, the oldest are dropped first."""
BRIEF_CHARS = 200
"""Most characters of a task's description and of its report's first line."""


class Task(TypedDict):
    """One task of the ledger, as JSON values."""

    status: Status
    subagent: str
    description: str
    started_at: str
    """Aware UTC, ISO 8601."""
    ended_at: NotRequired[str]
    report: NotRequired[str]
    """First line of the report."""
    thread: NotRequired[str]
    """The subagent's thread, by its id in the archive."""
    report_id: NotRequired[str]
    """Id of the message that holds the report."""
    pruned_at: NotRequired[str]
    """When the subagent's thread was deleted; see `Retention`."""


def merge_tasks(
    before: Mapping[str, Task] | None, after: Mapping[str, Task] | None
) -> dict[str, Task]:
    """Merge tasks into a ledger: an id that is present is replaced, the others are kept.

    Example:
        >>> one: Task = {"status": "running", "subagent": "s", "description": "d", "started_at": ""}
        >>> list(merge_tasks({"a": one}, {"b": one}))
        ['a', 'b']
    """
    merged = {**(before or {}), **(after or {})}
    over = len(merged) - KEPT
    if over > 0:
        ended = [name for name, task in merged.items() if task["status"] != "running"]
        for name in ended[:over]:
            del merged[name]
    return merged


def delegated_tasks(messages: Iterable[AnyMessage], tool: str, at: datetime) -> dict[str, Task]:
    """Return the tasks that a model's answer delegates, before any of them begins."""
    delegated: dict[str, Task] = {}
    for message in messages:
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            if call["name"] != tool or not call["id"]:
                continue
            description = call["args"].get("description") or call["args"].get("prompt") or ""
            subagent = call["args"].get("subagent_type") or "general-purpose"
            delegated[call["id"]] = {
                "status": "running",
                "subagent": str(subagent),
                "description": brief(str(description)),
                "started_at": iso(at),
            }
    return delegated


def place_of(call_id: str, messages: Sequence[AnyMessage], tool: str, delegated: int) -> int:
    """Return the position of a call among all delegations of a run, from 1.

    Args:
        call_id: The call.
        messages: The conversation, whose newest answer makes the call.
        tool: Name of the tool that delegates.
        delegated: Delegations of the run, those of the newest answer included.
    """
    answer = next((m for m in reversed(messages) if isinstance(m, AIMessage)), None)
    calls = [c["id"] for c in answer.tool_calls if c["name"] == tool] if answer else []
    return delegated - len(calls) + calls.index(call_id) + 1 if call_id in calls else delegated


def abandoned_tasks(
    tasks: Mapping[str, Task], messages: Sequence[AnyMessage], at: datetime
) -> dict[str, Task]:
    """Return ended tasks for those still marked as running when the parent's model is called again.

    Their calls were answered otherwise (a person rejected one, the tool could not parse its
    arguments), or the parent was cancelled together with them.
    """
    running = {name: task for name, task in tasks.items() if task["status"] == "running"}
    if not running:
        return {}
    results = {m.tool_call_id: m.text for m in messages if isinstance(m, ToolMessage)}
    ended: dict[str, Task] = {}
    for name, task in running.items():
        status: Status = "refused" if name in results else "cancelled"
        done: Task = {**task, "status": status, "ended_at": iso(at)}
        ended[name] = {**done, "report": brief(results[name])} if name in results else done
    return ended


def brief(text: str) -> str:
    """Return the first non-blank line of a text, cut to `BRIEF_CHARS`."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return first if len(first) <= BRIEF_CHARS else first[: BRIEF_CHARS - 1] + "…"


def iso(at: datetime) -> str:
    """Return a time in the ledger's format."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds")


def plain(tasks: Any) -> Mapping[str, Task]:  # noqa: ANN401 (any agent's state)
    """Return the ledger of a state, empty if it has none."""
    return tasks if isinstance(tasks, Mapping) else {}
