"""The graph's own stream as rows of a journal: what a part holds, without what is known already.

A state is streamed after each step, and most of it is as it was before. A row of mode `values`
holds the names of all channels, the channels that changed, and of `messages` the ids in order and
the messages that changed:

    {"keys": ["messages", "todos"], "set": {"todos": []},
     "ids": ["m1", "m2"], "messages": [{"id": "m2", "type": "ai", "content": "Hello."}]}

So the rows of a run grow with its messages, not with their square. The first row of an attempt
holds everything. A piece of a message that is only text is a row whose `text` is joined with its
neighbours; the metadata of a message is in its first row.
"""

import dataclasses
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from langchain_core.messages import AIMessageChunk, BaseMessage
from langgraph.types import Interrupt
from pydantic import BaseModel

from thalweg_server.runs.base import Draft

TYPE = "graph"
"""The type of the rows; `GraphStreamed` is their shape."""
_MESSAGES = "messages"
_DEPTH = 64


def jsonable(value: Any, depth: int = 0) -> Any:  # noqa: ANN401, C901, PLR0911 (any state)
    """Return a value of a graph's state as JSON can represent it, in the shapes of LangGraph's API.

    Example:
        >>> jsonable({"n": float("nan"), "t": (1, 2)})
        {'n': None, 't': [1, 2]}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > _DEPTH:
        return repr(value)[:200]
    inner = depth + 1
    if isinstance(value, BaseMessage):
        return jsonable(value.model_dump(), inner)
    if isinstance(value, Interrupt):
        return {"value": jsonable(value.value, inner), "id": value.id}
    if isinstance(value, Mapping):
        return {str(key): jsonable(one, inner) for key, one in value.items()}
    if isinstance(value, BaseModel):
        return jsonable(value.model_dump(), inner)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: jsonable(getattr(value, field.name), inner) for field in fields}
    if hasattr(value, "_asdict"):
        return jsonable(value._asdict(), inner)
    if isinstance(value, Iterable) and not isinstance(value, bytes | Iterator):
        return [jsonable(one, inner) for one in value]
    return str(value)


class PartEncoder:
    """Makes the rows of one attempt at a run.

    Args:
        modes: The modes that are kept.
        subgraphs: Whether those of subgraphs are kept, too.
    """

    def __init__(self, modes: Collection[str], *, subgraphs: bool) -> None:
        self._modes = frozenset(modes)
        self._subgraphs = subgraphs
        self._states: dict[tuple[str, ...], dict[str, Any]] = {}
        self._messages: dict[str, BaseMessage] = {}
        self._pieces: set[str] = set()

    def encode(self, namespace: tuple[str, ...], mode: str, payload: Any) -> Draft | None:  # noqa: ANN401 (LangGraph's)
        """Return the row of a part; `None` if it is not kept."""
        if mode not in self._modes or (namespace and not self._subgraphs):
            return None
        if mode == "messages":
            return self._message(namespace, *payload)
        if mode == "values" and isinstance(payload, Mapping):
            return _draft(namespace, mode, self._values(namespace, payload))
        return _draft(namespace, mode, jsonable(payload))

    def _message(
        self, namespace: tuple[str, ...], message: BaseMessage, metadata: Mapping[str, Any]
    ) -> Draft:
        id_ = message.id or ""
        is_first = id_ not in self._pieces
        self._pieces.add(id_)
        if not is_first and _is_text(message):
            row = {
                "type": TYPE,
                "mode": "messages",
                "namespace": namespace,
                "text": message.content,
                "data": {"id": id_},
            }
            return Draft(TYPE, json.dumps(row, ensure_ascii=False), f"{'|'.join(namespace)} {id_}")
        data = {"message": jsonable(message)}
        if is_first:
            data["metadata"] = jsonable(metadata)
        return _draft(namespace, "messages", data)

    def _values(self, namespace: tuple[str, ...], state: Mapping[str, Any]) -> dict[str, Any]:
        """Return the difference from the state before; see the module."""
        before = self._states.get(namespace)
        now = {str(key): value for key, value in state.items() if not _is_messages(key, value)}
        row: dict[str, Any] = {"keys": [str(key) for key in state]}
        if before is None:
            row["is_whole"] = True
            before = {}
        encoded = {key: jsonable(value) for key, value in now.items()}
        row["set"] = {
            key: value
            for key, value in encoded.items()
            if key not in before or before[key] != value
        }
        self._states[namespace] = encoded
        if _MESSAGES in state and _MESSAGES not in now:
            messages: list[BaseMessage] = state[_MESSAGES]
            row["ids"] = [message.id or "" for message in messages]
            row["messages"] = [
                jsonable(message) for message in messages if self._is_changed(namespace, message)
            ]
        return row

    def _is_changed(self, namespace: tuple[str, ...], message: BaseMessage) -> bool:
        key = "|".join((*namespace, message.id or ""))
        before = self._messages.get(key)
        self._messages[key] = message
        return before is None or (before is not message and before != message)


def _is_messages(key: object, value: object) -> bool:
    """Return whether a channel holds messages that their ids tell apart."""
    if key != _MESSAGES or not isinstance(value, list):
        return False
    ids = {one.id for one in value if isinstance(one, BaseMessage) and one.id}
    return len(ids) == len(value)


def _is_text(message: BaseMessage) -> bool:
    """Return whether a piece is nothing but text."""
    return (
        isinstance(message, AIMessageChunk)
        and isinstance(message.content, str)
        and bool(message.content)
        and not message.tool_call_chunks
        and not message.additional_kwargs
        and not message.usage_metadata
        and not message.response_metadata.get("finish_reason")
        and message.chunk_position is None
    )


def _draft(namespace: tuple[str, ...], mode: str, data: object) -> Draft:
    row = {"type": TYPE, "mode": mode, "namespace": namespace, "data": data}
    return Draft(TYPE, json.dumps(row, ensure_ascii=False))
