"""Trajectories of Harbor: the Agent Trajectory Interchange Format (ATIF), one JSON document.

A step has one source (`system`, `user`, `agent`), a message, and of an agent its reasoning, its
tool calls and the observation that answers them. `harborframework.com/docs/trajectory-format`.
"""

import json
from collections.abc import Iterator

from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg_recorder.recordings.base import Recording, SessionInfo
from thalweg_recorder.recordings.rows import (
    LogFormat,
    Recorded,
    SessionRows,
    as_object,
    as_objects,
    as_str,
    chat_call,
)
from thalweg_recorder.recordings.source import JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "atif"
_INNER = "subagent_trajectories"

_ROLES = {"system": "system", "user": "user", "agent": "assistant"}


def detect(source: RecordedFile) -> bool:
    """Return whether the document names the format and lists steps."""
    return _is_trajectory(source.document)


def split(source: RecordedFile) -> Iterator[tuple[str, JsonObject]]:
    """Yield a trajectory and those of its subagents, which ATIF 1.7 embeds, by their ids.

    A `session_id` is of a run: subagents may have that of their parent.
    """
    yield from _split(source.document)


def _split(document: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    yield as_str(document.get("trajectory_id")) or "main", {**document, _INNER: None}
    for inner in as_objects(document.get(_INNER)):
        if _is_trajectory(inner):
            yield from _split({"session_id": document.get("session_id"), **inner})


def _is_trajectory(document: object) -> bool:
    return (
        isinstance(document, dict)
        and as_str(document.get("schema_version")).startswith("ATIF")
        and isinstance(document.get("steps"), list)
    )


def read(source: RecordedFile) -> Recording:
    """Read every step; `Message.line` is its index."""
    rows = _Steps.of(source)
    rows.info = _session(source.document)
    return rows.read(enumerate(source.document["steps"]), NAME, OpenAIChatWire().read)


def _session(document: JsonObject) -> SessionInfo:
    named = as_objects([document.get("agent"), *document["steps"]])
    models = [as_str(one.get("model_name")) for one in named]
    model = next((name for name in reversed(models) if name), "")
    names = (as_str(document.get(key)) for key in ("session_id", "trajectory_id"))
    return SessionInfo(id="/".join(filter(None, names)), model=model)


class _Steps(SessionRows):
    def take(self, line: int, row: JsonObject) -> None:
        role = _ROLES.get(as_str(row.get("source")))
        if role is None:
            self.odd(line, row)
            return
        at = iso_time(row.get("timestamp"))
        raw: JsonObject = {"role": role, "content": row.get("message")}
        if reasoning := row.get("reasoning_content"):
            raw["reasoning_content"] = reasoning
        if calls := [_call(call) for call in as_objects(row.get("tool_calls"))]:
            raw["tool_calls"] = calls
        self.items.append(Recorded(line, raw, at=at, usage=as_usage(row.get("metrics"))))
        self.items += [
            _result(line, result, at)
            for result in as_objects(as_object(row.get("observation")).get("results"))
        ]


def _result(line: int, result: JsonObject, at: str) -> Recorded:
    content = {"content": result.get("content")}
    if answered := as_str(result.get("source_call_id")):
        return Recorded(line, {"role": "tool", "tool_call_id": answered, **content}, at=at)
    return Recorded(line, {"role": "user", **content}, at=at, kind="injected")


def _call(call: JsonObject) -> JsonObject:
    arguments = call.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return chat_call(as_str(call.get("tool_call_id")), as_str(call.get("function_name")), text)


FORMAT = LogFormat(NAME, detect, read, split)
