"""Event streams of OpenHands: a list of actions and observations, alone or under `history`.

A model message is recorded with each action it requested, so one with two calls is there
twice.
"""

from collections.abc import Iterator
from itertools import chain

from thalweg_recorder.recordings.formats.agent_rows import MapRow, row_format
from thalweg_recorder.recordings.rows import as_list, as_object, as_str, as_text, chat_call
from thalweg_recorder.recordings.source import JsonObject, RecordedFile, RecordedRow

NAME = "openhands"

_SILENT = frozenset({"recall", "change_agent_state", "agent_state_changed", "null", ""})


def detect(source: RecordedFile) -> bool:
    """Return whether events have a source and are an action or an observation."""
    return any(
        isinstance(event, dict)
        and "source" in event
        and not {"action", "observation"}.isdisjoint(event)
        for _, event in _rows(source)
    )


def _rows(source: RecordedFile) -> list[RecordedRow]:
    events = source.document
    if isinstance(events, dict):
        lists = (as_list(events.get(name)) for name in ("history", "events", "trajectory"))
        events = next(filter(None, lists), None)
    # Older files hold pairs of an action and its observation.
    pairs = (event if isinstance(event, list) else [event] for event in as_list(events))
    return [*enumerate(chain.from_iterable(pairs))]


def _begin(_: RecordedFile) -> MapRow:
    """Return a function that maps an event; the model messages of several events count once."""
    responses, calls = set[str](), set[str]()

    def map_row(event: JsonObject) -> Iterator[JsonObject]:
        about = {"id": str(event.get("id", "")), "at": event.get("timestamp")}
        response = as_object(event.get("tool_call_metadata")).get("model_response")
        kind = as_str(event.get("observation") if "observation" in event else event.get("action"))
        if "observation" in event:
            yield {**about, **_observed(event, kind, calls)}
        elif isinstance(response, dict):
            if (answer := as_str(response.get("id"))) not in responses:
                (choice, *_) = response["choices"]
                more = {"usage": response.get("usage"), "model": response.get("model")}
                message = {"role": "assistant", **choice["message"]}
                responses.update(filter(None, (answer,)))
                yield {**about, "message": message, "answer": answer, **more}
        elif kind not in {"system", "message", "condensation", *_SILENT}:
            calls.add(call_id := str(event.get("id", f"call {len(calls)}")))
            yield {**about, "message": _action(event, kind, call_id)}
        else:
            yield {**about, **_state(event, kind)}

    return map_row


def _observed(event: JsonObject, seen: str, calls: set[str]) -> JsonObject:
    """Map an observation: the result of a call, or injected text if it has none."""
    message: JsonObject = {"role": "user", "content": event.get("content")}
    metadata, cause = event.get("tool_call_metadata"), str(event.get("cause"))
    if seen in _SILENT:
        return {"left_out": seen or "event"}
    if isinstance(metadata, dict):
        message |= {"role": "tool", "tool_call_id": metadata.get("tool_call_id")}
        message["name"] = metadata.get("function_name")
    elif cause in calls:
        message |= {"role": "tool", "tool_call_id": cause, "name": seen}
    injected = message["role"] == "user"
    return {"message": message, "injected": injected, "is_error": seen == "error"}


def _action(event: JsonObject, action: str, call_id: str) -> JsonObject:
    arguments = as_object(event.get("args"))
    thought = as_str(arguments.get("thought")) or as_str(arguments.get("final_thought"))
    passed = {name: value for name, value in arguments.items() if name != "thought"}
    calls = [chat_call(call_id, action, as_text(passed))]
    return {"role": "assistant", "content": thought, "tool_calls": calls}


def _state(event: JsonObject, action: str) -> JsonObject:
    """Map an action that calls nothing."""
    arguments = as_object(event.get("args"))
    if action == "condensation":
        return {"compaction": {"summary": arguments.get("summary"), "at": event.get("timestamp")}}
    if action in _SILENT:
        return {"left_out": action or "event"}
    source = "system" if action == "system" else str(event.get("source"))
    role = {"agent": "assistant", "system": "system"}.get(source, "user")
    return {"message": {"role": role, "content": arguments.get("content")}}


FORMAT = row_format(NAME, detect, _begin, rows=_rows, wire="openai-chat")
