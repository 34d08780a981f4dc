"""Event streams of OpenHands: a list of actions and observations, alone or under `history`.

A model message is recorded with each action it requested, so one with two calls is there
twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg.engine.entries import Kind
from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg_recorder.recordings.base import Recording
from thalweg_recorder.recordings.rows import (
    LogFormat,
    Recorded,
    SessionRows,
    as_list,
    as_object,
    as_str,
    as_text,
    chat_call,
)
from thalweg_recorder.recordings.source import JsonObject, RecordedFile
from thalweg_recorder.recordings.times import iso_time

NAME = "openhands"

_SILENT = frozenset({"recall", "change_agent_state", "agent_state_changed", "null", ""})


def detect(source: RecordedFile) -> bool:
    """Return whether events have a source and are an action or an observation."""
    return any(
        isinstance(event, dict)
        and "source" in event
        and not {"action", "observation"}.isdisjoint(event)
        for event in _events(source.document)
    )


def _events(document: object) -> Sequence[Any]:
    if isinstance(document, dict):
        found = (document.get(name) for name in ("history", "events", "trajectory"))
        document = next((events for events in found if isinstance(events, list)), None)
    if not isinstance(document, list):
        return ()
    # Older files hold pairs of an action and its observation.
    return [one for event in document for one in (event if isinstance(event, list) else [event])]


def read(source: RecordedFile) -> Recording:
    """Return the recording of messages, actions and observations; program states are skipped."""
    events = enumerate(_events(source.document))
    return _EventStream.of(source).read(events, NAME, OpenAIChatWire().read)


@dataclass(slots=True)
class _EventStream(SessionRows):
    """The events processed so far."""

    responses: set[str] = field(default_factory=set)
    """Ids of the processed model messages."""
    calls: set[str] = field(default_factory=set)
    """Ids of actions that became tool calls without text of the model."""

    def take(self, line: int, row: JsonObject) -> None:
        if "observation" in row:
            self._observed(line, row)
        else:
            self._acted(line, row)

    def _acted(self, index: int, event: JsonObject) -> None:
        action = as_str(event.get("action"))
        response = as_object(event.get("tool_call_metadata")).get("model_response")
        arguments = as_object(event.get("args"))
        if isinstance(response, dict):
            self._add_response(index, event, response)
        elif action == "condensation":
            self.note_summary(index, len(as_str(arguments.get("summary"))))
        elif action in _SILENT:
            self.skipped[action or "event"] += 1
        elif action in {"system", "message"}:
            role = "system" if action == "system" else event.get("source")
            role = {"agent": "assistant", "system": "system"}.get(str(role), "user")
            self._append(index, event, {"role": role, "content": arguments.get("content")})
        else:
            self._add_action(index, event, action, arguments)

    def _add_response(self, index: int, event: JsonObject, response: JsonObject) -> None:
        response_id = as_str(response.get("id"))
        if response_id and response_id in self.responses:
            return
        self.responses.add(response_id)
        (first, *_) = as_list(response.get("choices")) or [None]
        message = as_object(first).get("message")
        if not isinstance(message, dict):
            self.odd(index, event)
            return
        self._append(index, event, {"role": "assistant", **message}, response)

    def _add_action(
        self, index: int, event: JsonObject, action: str, arguments: JsonObject
    ) -> None:
        call_id = str(event.get("id", index))
        thought = as_str(arguments.get("thought")) or as_str(arguments.get("final_thought"))
        call_arguments = {name: value for name, value in arguments.items() if name != "thought"}
        call = chat_call(call_id, action, as_text(call_arguments))
        self.calls.add(call_id)
        self._append(index, event, {"role": "assistant", "content": thought, "tool_calls": [call]})

    def _observed(self, index: int, event: JsonObject) -> None:
        seen = as_str(event.get("observation"))
        metadata = event.get("tool_call_metadata")
        cause = str(event.get("cause"))
        raw: JsonObject = {"role": "user", "content": event.get("content")}
        if seen in _SILENT:
            self.skipped[seen or "event"] += 1
            return
        if isinstance(metadata, dict):
            raw |= {"role": "tool", "tool_call_id": metadata.get("tool_call_id")}
            raw["name"] = metadata.get("function_name")
        elif cause in self.calls:
            raw |= {"role": "tool", "tool_call_id": cause, "name": seen}
        self._append(index, event, raw)

    def _append(
        self,
        index: int,
        event: JsonObject,
        raw: JsonObject,
        response: JsonObject | None = None,
    ) -> None:
        # An observation that the program sent without a call is not a message of the user.
        harness = raw["role"] == "user" and ("observation" in event)
        kind: Kind = "injected" if harness else "said"
        response = response or {}
        self.items.append(
            Recorded(
                index,
                raw,
                uid=str(event.get("id", "")),
                at=iso_time(event.get("timestamp")),
                kind=kind,
                is_error=event.get("observation") == "error",
                usage=as_usage(response.get("usage")),
                model=as_str(response.get("model")),
                answer=as_str(response.get("id")),
            )
        )


FORMAT = LogFormat(NAME, detect, read)
