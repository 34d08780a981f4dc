"""The result of a subagent: an answer for the parent's model, and JSON values for programs."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from pydantic_core import to_jsonable_python

from thalweg.context.notes import end_reason
from thalweg_agent.prompts import prompt
from thalweg_agent.subagents.ledger import Status
from thalweg_agent.subagents.progress import CALL_CHARS, Progress, SubagentCall, newest

PATHS = 30
"""Most paths that a footer lists."""
_SILENCES = {
    "empty": "its model returned an empty message, and again when it was called once more",
    "broken": "its model wrote tool calls that could not be parsed",
    "loop": "its model repeated the same calls, which gave the same results",
}
"""Reasons of `closing_answer`, as clauses for a parent's model."""


@dataclass(frozen=True, slots=True)
class SubagentReport:
    """How a run of a subagent ended."""

    subagent: str
    task_id: str
    status: Status
    answer: str
    """The text for the parent's model."""
    turns: int = 0
    tokens: int = 0
    seconds: float = 0.0
    files: tuple[str, ...] = ()
    """Paths that it changed."""
    artifacts: tuple[str, ...] = ()
    denied: Mapping[str, str] = field(default_factory=dict[str, str])
    """Changes of files that a rule denied: the errors by path."""
    conflicts: tuple[str, ...] = ()
    """A line for each key of the state that another task of the same step wrote, too."""
    thread: str | None = None
    limit: str | None = None
    """The limit that stopped it."""
    error: str | None = None
    """Type and message of the error that ended it."""

    def plain(self) -> dict[str, Any]:
        """Return the report as JSON values, without the answer, which is a message of its own."""
        values = dataclasses.asdict(self)
        del values["answer"]
        lists = ("files", "artifacts", "conflicts")
        return values | {name: [*values[name]] for name in lists}


def answer_of(result: Mapping[str, Any], task: str) -> tuple[str, bool]:
    """Return a subagent's answer: its structured response as JSON, else its model's last text.

    A text next to tool calls is no answer, nor is the one with which the harness ends a run.

    Returns:
        The answer, empty if there is none; and whether it is JSON, which must not be changed.
    """
    structured = result.get("structured_response")
    if structured is not None:
        return as_json(structured), True
    for message in reversed(newest(result["messages"], task)):
        if not isinstance(message, AIMessage) or message.tool_calls or end_reason(message):
            continue
        if text := str(message.text).rstrip():
            return text, False
    return "", False


def as_json(value: Any) -> str:  # noqa: ANN401 (any type of an agent's schema)
    """Return a structured response as JSON."""
    if hasattr(value, "model_dump_json"):
        return str(value.model_dump_json())
    plain = to_jsonable_python(value, by_alias=False, fallback=str, bytes_mode="base64")
    written = json.dumps(plain, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(plain)
    return written


def footer(progress: Progress, files: Sequence[str]) -> str:
    """Render the notes for a parent that follow the answer; empty if there are none.

    Changes that a rule denied are not in it: they are in the report's `denied`.
    """
    lines: list[str] = []
    if files:
        lines.append(f"[Files changed: {_listed(files)}]")
    lines += _unchanged(progress.unwritten)
    return "\n\n" + "\n".join(lines) if lines else ""


def _unchanged(errors: Mapping[str, str]) -> list[str]:
    return [f"[Not changed: {path}: {why}]" for path, why in errors.items()]


def silence(messages: Sequence[AnyMessage]) -> str:
    """Return why a run that ended by itself has no answer, as a clause."""
    reason = end_reason(messages[-1]) if messages else None
    return _SILENCES.get(reason or "", "its last message has no text")


def account(progress: Progress, files: Sequence[str]) -> str:
    """Render a run without an answer: last texts, calls, last result, files, open to-dos."""
    parts: list[str] = []
    if progress.texts:
        parts.append("Last said:\n" + "\n\n".join(progress.texts))
    if progress.calls:
        done = [f"- {_call_line(call)}" for call in progress.calls.values()]
        parts.append("Done:\n" + "\n".join(done))
    if "\n" in progress.result or len(progress.result) > CALL_CHARS:
        parts.append(f"Last result:\n{progress.result}")
    if changes := footer(progress, files).strip():
        parts.append(changes)
    if progress.denied:
        parts.append("\n".join(_unchanged(progress.denied)))
    if todos := open_todos(progress.values or {}):
        parts.append("Still open:\n" + "\n".join(f"- {todo}" for todo in todos))
    return "\n\n".join(parts) or prompt("task_nothing").render()


def _call_line(call: SubagentCall) -> str:
    ended = {None: "not ended", True: "ok", False: "FAILED"}[call.ended]
    answer = f": {call.answer}" if call.answer else ""
    return f"{call.tool}({call.arguments}) → {ended}{answer}"


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - PATHS} more" if len(paths) > PATHS else ""
    return ", ".join(paths[:PATHS]) + more


def open_todos(values: Mapping[str, Any]) -> list[str]:
    """Return the items of a to-do list that are not done."""
    todos = values.get("todos")
    if not isinstance(todos, (list, tuple)):
        return []
    items = [todo for todo in todos if isinstance(todo, Mapping)]
    return [str(todo.get("content", "")) for todo in items if todo.get("status") != "completed"]
