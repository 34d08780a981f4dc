"""Event streams of OpenHands: a list of actions and observations, alone or under `history`.

A model message is recorded with each action it requested, so one with two calls is there
twice.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg.engine.entries import Kind
from thalweg.engine.wires.base import Note
from thalweg.engine.wires.fields import as_usage
from thalweg.engine.wires.openai_chat import OpenAIChatWire
from thalweg.lab.recordings.base import Recording
from thalweg.lab.recordings.rows import (
    LogFormat,
    Recorded,
    as_recording,
    as_str,
    odd_row,
    summary_note,
)
from thalweg.lab.recordings.source import BrokenLine, JsonObject, RecordedFile
from thalweg.lab.recordings.times import iso_time

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
    stream = _EventStream()
    for index, event in enumerate(_events(source.document)):
        stream.take(index, event)
    return as_recording(
        source.name,
        NAME,
        OpenAIChatWire().read,
        stream.items,
        notes=[*source.notes, *stream.notes],
        skipped=stream.skipped,
    )


@dataclass(slots=True)
class _EventStream:
    """The events processed so far."""

    notes: list[Note] = field(default_factory=list)
    items: list[Recorded | BrokenLine] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    responses: set[str] = field(default_factory=set)
    """Ids of the processed model messages."""
    calls: set[str] = field(default_factory=set)
    """Ids of actions that became tool calls without text of the model."""

    def take(self, index: int, event: object) -> None:
        if not isinstance(event, dict):
            self.items.append(odd_row(index, event, self.notes))
        elif "observation" in event:
            self._observed(index, event)
        else:
            self._acted(index, event)

    def _acted(self, index: int, event: JsonObject) -> None:
        action = as_str(event.get("action"))
        metadata = event.get("tool_call_metadata")
        arguments = args if isinstance(args := event.get("args"), dict) else {}
        if isinstance(metadata, dict) and isinstance(metadata.get("model_response"), dict):
            self._asked(index, event, metadata["model_response"])
        elif action == "condensation":
            self.notes.append(summary_note(index, len(as_str(arguments.get("summary")))))
        elif action in _SILENT:
            self.skipped[action or "event"] += 1
        elif action in {"system", "message"}:
            role = "system" if action == "system" else event.get("source")
            role = {"agent": "assistant", "system": "system"}.get(str(role), "user")
            self._say(index, event, {"role": role, "content": arguments.get("content")})
        else:
            self._asked_in_text(index, event, action, arguments)

    def _asked(self, index: int, event: JsonObject, response: JsonObject) -> None:
        response_id = as_str(response.get("id"))
        if response_id and response_id in self.responses:
            return
        self.responses.add(response_id)
        choices = response.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else {}
        message = first.get("message") if isinstance(first, dict) else None
        if not isinstance(message, dict):
            self.items.append(odd_row(index, event, self.notes))
            return
        self._say(index, event, {"role": "assistant", **message}, response.get("usage"))

    def _asked_in_text(
        self, index: int, event: JsonObject, action: str, arguments: JsonObject
    ) -> None:
        call_id = str(event.get("id", index))
        thought = as_str(arguments.get("thought")) or as_str(arguments.get("final_thought"))
        told = {name: value for name, value in arguments.items() if name != "thought"}
        function = {"name": action, "arguments": json.dumps(told, ensure_ascii=False)}
        call = {"id": call_id, "type": "function", "function": function}
        self.calls.add(call_id)
        self._say(index, event, {"role": "assistant", "content": thought, "tool_calls": [call]})

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
        self._say(index, event, raw)

    def _say(self, index: int, event: JsonObject, raw: JsonObject, usage: object = None) -> None:
        # An observation that the program sent without a call is not a message of the user.
        harness = raw["role"] == "user" and ("observation" in event)
        kind: Kind = "injected" if harness else "said"
        self.items.append(
            Recorded(
                index,
                raw,
                uid=str(event.get("id", "")),
                at=iso_time(event.get("timestamp")),
                kind=kind,
                is_error=event.get("observation") == "error",
                usage=as_usage(usage),
            )
        )


FORMAT = LogFormat(NAME, "OpenHands events (`source`, `action` or `observation`)", detect, read)
