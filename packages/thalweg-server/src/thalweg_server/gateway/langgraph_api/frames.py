"""Rows of a run's journal as the events of LangGraph's streams: a pure function of the rows.

Any process can continue a stream of any other: it reads the rows from the first on, and sends
what follows the last frame that the client has. The id of a frame is the number of its row and
its own number among the frames of that row.
"""

import json
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from thalweg_server.gateway.streams import Frame
from thalweg_server.runs.base import Event

Namespace = tuple[str, ...]
Position = tuple[int, int]
START: Position = (0, -1)
"""Before the first frame."""


def position_of(last_event_id: str | None) -> Position:
    """Return the position of the last frame that a client has.

    Example:
        >>> position_of("12-1"), position_of("-1"), position_of(None)
        ((12, 1), (0, -1), (0, -1))
    """
    row, _, number = (last_event_id or "").partition("-")
    if not (row.isdecimal() and number.isdecimal()) or len(row + number) > 30:  # noqa: PLR2004
        return START
    return int(row), int(number)


class StreamView:
    """The stream of one run in the modes of a client.

    Args:
        run: The id of the run.
        modes: Modes as a client names them: `messages` and `messages-tuple` are two.
    """

    def __init__(self, run: str, modes: Collection[str]) -> None:
        self._run = run
        self._modes = frozenset(modes)
        self._attempt = 1
        self._states: dict[Namespace, dict[str, Any]] = {}
        self._messages: dict[Namespace, dict[str, Any]] = {}
        self._metadata: dict[str, Any] = {}
        self._partial: dict[str, Any] = {}
        self.values: Any = None
        """The newest state of the graph; `None` before the first."""

    def frames(self, event: Event) -> Iterator[tuple[str, Any]]:
        """Yield names and data of the frames that a row makes."""
        match event.type:
            case "run.started":
                yield "metadata", {"run_id": self._run, "attempt": 1}
            case "run.resumed":
                attempt = json.loads(event.data)["attempt"]
                yield "metadata", {"run_id": self._run, "attempt": attempt}
            case "run.failed":
                yield "error", error_of(json.loads(event.data)["problem"])
            case "graph":
                row = json.loads(event.data)
                yield from self._part(row["mode"], tuple(row["namespace"]), row)
            case _:
                pass

    def _part(
        self, mode: str, namespace: Namespace, row: Mapping[str, Any]
    ) -> Iterator[tuple[str, Any]]:
        data = row["data"]
        if mode == "messages":
            yield from self._message(namespace, row)
            return
        if mode == "values" and isinstance(data, dict):
            data = self.state(namespace, data)
            if not namespace:
                self.values = data
        if mode in self._modes:
            yield _named(mode, namespace), data

    def state(self, namespace: Namespace, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the state that a row differs from the one before to; see `PartEncoder`."""
        if row.get("is_whole"):
            self._states[namespace], self._messages[namespace] = {}, {}
        state = self._states.setdefault(namespace, {})
        state.update(row["set"])
        messages = self._messages.setdefault(namespace, {})
        messages.update({message["id"]: message for message in row.get("messages", ())})
        whole = {key: state.get(key) for key in row["keys"]}
        if "ids" in row:
            whole["messages"] = [messages[id_] for id_ in row["ids"]]
        return whole

    def _message(self, namespace: Namespace, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        data, wants_parts = row["data"], "messages" in self._modes
        message = data.get("message") or text_chunk(data["id"], row["text"])
        id_ = message["id"] or ""
        is_first = "metadata" in data
        if is_first:
            self._metadata[id_] = {**data["metadata"], "run_attempt": self._attempt}
        metadata = self._metadata.get(id_, {})
        if "messages-tuple" in self._modes:
            yield _named("messages", namespace), [message, metadata]
        if wants_parts and is_first:
            yield _named("messages/metadata", namespace), {id_: {"metadata": metadata}}
        if wants_parts and message["type"] == "AIMessageChunk":
            yield _named("messages/partial", namespace), [self._so_far(id_, message)]
        elif wants_parts:
            yield _named("messages/complete", namespace), [message]

    def _so_far(self, id_: str, piece: Mapping[str, Any]) -> Any:  # noqa: ANN401 (a message)
        from langchain_core.messages import (  # noqa: PLC0415 (LangChain: seconds)
            AIMessageChunk,
            message_chunk_to_message,
        )

        chunk = AIMessageChunk(**{key: value for key, value in piece.items() if key != "type"})
        before = self._partial.get(id_)
        self._partial[id_] = chunk if before is None else before + chunk
        return message_chunk_to_message(self._partial[id_]).model_dump()


def error_of(problem: Mapping[str, Any]) -> dict[str, Any]:
    """Return a problem of the API as LangGraph's clients read an error."""
    return {"error": problem.get("code") or "run.failed", "message": problem.get("detail") or ""}


async def frames_after(
    events: AsyncIterator[Event], view: StreamView, after: Position
) -> AsyncIterator[Frame]:
    """Yield the frames of a run after the last one that a client has."""
    async with aclosing(events):  # type: ignore[type-var]  # a generator
        async for event in events:
            for number, (name, data) in enumerate(view.frames(event)):
                if (event.seq, number) > after:
                    text = json.dumps(data, ensure_ascii=False)
                    yield Frame(f"{event.seq}-{number}", name, text)


def _named(mode: str, namespace: Namespace) -> str:
    return "|".join((mode, *namespace))


def text_chunk(id_: str, text: str) -> dict[str, Any]:
    """Return a piece of a message that is only text, as the journal has whole pieces."""
    return {
        "content": text,
        "additional_kwargs": {},
        "response_metadata": {},
        "type": "AIMessageChunk",
        "name": None,
        "id": id_,
        "tool_calls": [],
        "invalid_tool_calls": [],
        "usage_metadata": None,
        "tool_call_chunks": [],
        "chunk_position": None,
    }
