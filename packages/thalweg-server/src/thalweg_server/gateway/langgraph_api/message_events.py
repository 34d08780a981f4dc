"""Pieces of messages as the `messages` events of LangGraph's thread protocol."""

import json
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from thalweg_server.gateway.langgraph_api.frames import Namespace, text_chunk

if TYPE_CHECKING:
    from langchain_core.outputs import ChatGenerationChunk


class ThreadEvent(NamedTuple):
    """An event of a run, before it has its number."""

    method: str
    namespace: Namespace
    data: Any
    node: str = ""


class MessageEvents:
    """Makes the events of the messages of a run that are being written."""

    def __init__(self) -> None:
        self._open: dict[str, _Writing] = {}
        """By the id of each piece."""

    def take(self, namespace: Namespace, row: Mapping[str, Any]) -> Iterator[ThreadEvent]:
        """Yield the events of a row of mode `messages`: a piece, or a whole message."""
        data = row["data"]
        message = data.get("message") or text_chunk(data["id"], row["text"])
        id_, metadata = message["id"] or "", data.get("metadata", {})
        if message["type"] == "AIMessageChunk":
            writing = self._open.get(id_) or self._begin(namespace, id_, metadata)
            yield from writing.take(message)
            if message.get("chunk_position") == "last":
                yield from self._close(writing)
        elif message["type"] == "ai":
            node = str(metadata.get("langgraph_node", ""))
            for event in _whole(message):
                yield ThreadEvent("messages", namespace, event, node)

    def result(self, namespace: Namespace, data: Mapping[str, Any]) -> Iterator[ThreadEvent]:
        """Yield the answer of a tool as a message, in a namespace of its call."""
        output: Any = data.get("output")
        call = data.get("tool_call_id")
        content = output.get("content") if isinstance(output, dict) else None
        if data.get("event") != "tool-finished" or content is None:
            return
        if not isinstance(content, str):
            content = json.dumps(content, ensure_ascii=False)
        whole = {"type": "ai", "content": content, "id": output.get("id") or f"tool-{call}"}
        about = {"role": "tool", "tool_call_id": call}
        for number, event in enumerate(_whole(whole)):
            yield ThreadEvent(
                "messages", (*namespace, f"tools:{call}"), event if number else {**event, **about}
            )

    def finish(self) -> Iterator[ThreadEvent]:
        """Yield the ends of messages that are still being written."""
        while self._open:
            yield from self._close(next(iter(self._open.values())))

    def fail(self, problem: str) -> Iterator[ThreadEvent]:
        """Yield that messages are not written to their end."""
        for writing in {id(one): one for one in self._open.values()}.values():
            yield writing.event({"event": "error", "message": problem})
        for _ in self.finish():  # asyncio complains about generators that are dropped
            pass

    def _begin(self, namespace: Namespace, id_: str, metadata: Mapping[str, Any]) -> "_Writing":
        """Return the message of a piece with a new id: a new one, or the one of its task.

        A provider's first piece may have an id of its own, and the others the id of the call.
        """
        task = str(metadata.get("langgraph_checkpoint_ns", ""))
        for known, writing in self._open.items():
            if writing.task == task and known.startswith("lc_run-") != id_.startswith("lc_run-"):
                self._open[id_] = writing
                return writing
        node = str(metadata.get("langgraph_node", ""))
        writing = self._open[id_] = _Writing(namespace, id_, task, node)
        return writing

    def _close(self, writing: "_Writing") -> Iterator[ThreadEvent]:
        self._open = {id_: one for id_, one in self._open.items() if one is not writing}
        return writing.finish()


class _Writing:
    """A message that is being written.

    LangChain makes events from an asynchronous iterator of pieces. It is driven by hand: it
    waits for a piece by yielding, and is resumed with the piece, `None` after the last one.
    """

    def __init__(self, namespace: Namespace, id_: str, task: str, node: str) -> None:
        from langchain_core.language_models._compat_bridge import (  # noqa: PLC0415 (LangChain: seconds)
            achunks_to_events,
        )

        self._namespace, self._id, self._node = namespace, id_, node
        self.task = task
        events: Any = achunks_to_events(_Pieces(), message_id=id_)
        self._events = events
        self._next = events.__anext__()
        self._next.send(None)  # it waits for the first piece

    def take(self, piece: Mapping[str, Any]) -> Iterator[ThreadEvent]:
        """Yield the events of a piece."""
        from langchain_core.messages import AIMessageChunk  # noqa: PLC0415 (LangChain: seconds)
        from langchain_core.outputs import ChatGenerationChunk  # noqa: PLC0415 (the same)

        fields = {key: value for key, value in piece.items() if key != "type"}
        return self._resume(ChatGenerationChunk(message=AIMessageChunk(**fields)))

    def finish(self) -> Iterator[ThreadEvent]:
        """Yield the end of the message."""
        return self._resume(None)

    def event(self, data: Mapping[str, Any]) -> ThreadEvent:
        """Return an event of the message."""
        about = {} if data["event"] == "message-start" else {"message_id": self._id}
        return ThreadEvent("messages", self._namespace, {**data, **about}, self._node)

    def _resume(self, given: "ChatGenerationChunk | None") -> Iterator[ThreadEvent]:
        try:
            while True:
                try:
                    self._next.send(given)
                except StopIteration as made:
                    yield self.event(made.value)
                    self._next, given = self._events.__anext__(), None
                else:
                    return
        except StopAsyncIteration:
            return


class _Pieces:
    """An iterator over the pieces that its driver sends."""

    def __aiter__(self) -> "_Pieces":
        return self

    async def __anext__(self) -> "ChatGenerationChunk":
        piece: ChatGenerationChunk | None = await _Wait()
        if piece is None:
            raise StopAsyncIteration
        return piece


class _Wait:
    def __await__(
        self,
    ) -> "Generator[None, ChatGenerationChunk | None, ChatGenerationChunk | None]":
        return (yield)


def _whole(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    from langchain_core.language_models._compat_bridge import (  # noqa: PLC0415 (LangChain: seconds)
        message_to_events,
    )
    from langchain_core.messages import AIMessage  # noqa: PLC0415 (the same)

    fields = {key: value for key, value in message.items() if key != "type"}
    for event in message_to_events(AIMessage(**fields)):
        yield {**event}
