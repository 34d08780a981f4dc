"""Trajectories of Harbor: the Agent Trajectory Interchange Format (ATIF), one JSON document.

A step has one source (`system`, `user`, `agent`), a message, and of an agent its reasoning, its
tool calls and the observation that answers them. `harborframework.com/docs/trajectory-format`.
"""

import json
from collections.abc import Iterator
from typing import Any

from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg.lab.recordings.base import Recording, SessionInfo
from thalweg.lab.recordings.rows import LogFormat, Recorded, as_recording, as_str, odd_row
from thalweg.lab.recordings.source import BrokenLine, JsonObject, RecordedFile
from thalweg.lab.recordings.times import iso_time

NAME = "atif"
_INNER = "subagent_trajectories"

_ROLES = {"system": "system", "user": "user", "agent": "assistant"}


def detect(source: RecordedFile) -> bool:
    """Return whether the document names the format and lists steps."""
    return _is_trajectory(source.document)


def split(document: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yield a trajectory and those of its subagents, which ATIF 1.7 embeds, by their ids.

    A `session_id` is of a run: subagents may have that of their parent.
    """
    yield as_str(document.get("trajectory_id")) or "main", {**document, _INNER: None}
    for inner in _objects(document.get(_INNER)):
        if _is_trajectory(inner):
            yield from split({"session_id": document.get("session_id"), **inner})


def _is_trajectory(document: object) -> bool:
    return (
        isinstance(document, dict)
        and as_str(document.get("schema_version")).startswith("ATIF")
        and isinstance(document.get("steps"), list)
    )


def read(source: RecordedFile) -> Recording:
    """Read every step; `Message.line` is its index."""
    notes = list(source.notes)
    items = [
        item
        for index, step in enumerate(source.document["steps"])
        for item in _items(index, step, notes)
    ]
    return as_recording(
        source.name,
        NAME,
        OpenAIChatWire().read,
        items,
        notes=notes,
        session=_session(source.document),
    )


def _session(document: JsonObject) -> SessionInfo:
    agent = document.get("agent")
    named = [agent, *document["steps"]]
    models = [as_str(one.get("model_name")) for one in named if isinstance(one, dict)]
    model = next((name for name in reversed(models) if name), "")
    names = (as_str(document.get(key)) for key in ("session_id", "trajectory_id"))
    return SessionInfo(id="/".join(filter(None, names)), model=model)


def _items(index: int, step: object, notes: list[Note]) -> Iterator[Recorded | BrokenLine]:
    role = _ROLES.get(as_str(step.get("source"))) if isinstance(step, dict) else None
    if not isinstance(step, dict) or role is None:
        yield odd_row(index, step, notes)
        return
    at = iso_time(step.get("timestamp"))
    raw: JsonObject = {"role": role, "content": step.get("message")}
    if reasoning := step.get("reasoning_content"):
        raw["reasoning_content"] = reasoning
    if calls := [_call(call) for call in _objects(step.get("tool_calls"))]:
        raw["tool_calls"] = calls
    yield Recorded(index, raw, at=at, usage=as_usage(step.get("metrics")))
    observation = step.get("observation")
    results = _objects(observation.get("results")) if isinstance(observation, dict) else []
    for result in results:
        if answered := as_str(result.get("source_call_id")):
            told = {"role": "tool", "tool_call_id": answered, "content": result.get("content")}
            yield Recorded(index, told, at=at)
        else:
            told = {"role": "user", "content": result.get("content")}
            yield Recorded(index, told, at=at, kind="injected")


def _objects(value: object) -> list[JsonObject]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _call(call: JsonObject) -> dict[str, Any]:
    arguments = call.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    function = {"name": as_str(call.get("function_name")), "arguments": text}
    return {"id": as_str(call.get("tool_call_id")), "type": "function", "function": function}


FORMAT = LogFormat(NAME, "an ATIF document (`schema_version`, `steps`)", detect, read, split)
