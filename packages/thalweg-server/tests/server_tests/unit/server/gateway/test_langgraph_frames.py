"""What a graph streams is what a client reads, from any row on."""

import json
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langgraph.types import Interrupt

from thalweg_server.app.streaming import PartEncoder, jsonable
from thalweg_server.gateway.langgraph_api.frames import (
    START,
    StreamView,
    frames_after,
    position_of,
)
from thalweg_server.runs.base import Draft, Event
from thalweg_server.runs.drafts import joined


def rows(drafts: Sequence[Draft]) -> list[Event]:
    """Number drafts as a journal does that joins those of one moment."""
    written, _ = joined([drafts])
    return [Event(n, one.type, one.data) for n, one in enumerate(written, start=1)]


def frames(events: Sequence[Event], modes: Sequence[str]) -> list[tuple[str, Any]]:
    """Return all frames of a run."""
    view = StreamView("r1", modes)
    return [frame for event in events for frame in view.frames(event)]


def states(seed: int) -> list[dict[str, Any]]:
    """Make states of a run: messages that are added, changed and removed, and other channels."""
    chance = random.Random(seed)  # noqa: S311 (no secret)
    messages: list[Any] = [HumanMessage("hi", id="m0")]
    made: list[dict[str, Any]] = []
    for number in range(1, 30):
        act = chance.randrange(5)
        if act == 0 and len(messages) > 1:
            messages = messages[1:]
        elif act == 1:
            changed = messages[-1].model_copy(update={"content": f"changed {number}"})
            messages = [*messages[:-1], changed]
        else:
            messages = [*messages, AIMessage(f"text {number}", id=f"m{number}")]
        state: dict[str, Any] = {"messages": list(messages), "count": number // 7}
        if act == 2:
            state["__interrupt__"] = (Interrupt(value={"ask": number}, id="i1"),)
        made.append(state)
    return made


@pytest.mark.parametrize("seed", range(20))
def test_states_are_read_as_they_were_streamed(seed: int) -> None:
    """Each of them, of the graph and a subgraph, also after a second attempt."""
    made = states(seed)
    encoder, again = (PartEncoder({"values"}, subgraphs=True) for _ in range(2))
    drafts = [
        draft
        for encoder_, part in ((encoder, made), (again, made[20:]))
        for state in part
        for namespace in ((), ("sub:1",))
        if (draft := encoder_.encode(namespace, "values", state)) is not None
    ]
    found = frames(rows(drafts), ["values"])
    wanted = [*made, *made[20:]]
    assert [data for name, data in found if name == "values"] == [jsonable(one) for one in wanted]
    assert [data for name, data in found if name != "values"] == [jsonable(one) for one in wanted]


def test_rows_of_states_grow_with_the_messages() -> None:
    """A thousand steps of a thousand messages are not a million messages."""
    encoder, written = PartEncoder({"values"}, subgraphs=False), 0
    messages: list[AIMessage] = []
    for number in range(300):
        messages = [*messages, AIMessage("word " * 20, id=str(number))]
        draft = encoder.encode((), "values", {"messages": messages})
        assert draft is not None
        written += len(draft.data)
    whole = len(json.dumps(jsonable(messages)))
    assert written < 6 * whole


@dataclass
class Custom:
    """Any value of a state."""

    x: float = float("nan")


def test_any_value_becomes_json() -> None:
    """Also what JSON does not have."""
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    given = {"a": Custom(), "b": {1}, "c": b"x", 3: object, "deep": deep, "text": "\ud800"}
    json.loads(json.dumps(jsonable(given), allow_nan=False))
    assert jsonable({"a": Custom()}) == {"a": {"x": None}}


def pieces() -> list[Draft]:
    """Encode a message in pieces, and a tool's result."""
    encoder = PartEncoder({"messages"}, subgraphs=False)
    call: Any = {"name": "look", "args": "{}", "id": "c1", "index": 0, "type": "tool_call_chunk"}
    parts: list[Any] = [
        AIMessageChunk(content="one ", id="a"),
        AIMessageChunk(content="two ", id="a"),
        AIMessageChunk(content="three", id="a"),
        AIMessageChunk(content="", id="a", tool_call_chunks=[call]),
        AIMessageChunk(content="", id="a", chunk_position="last"),
        ToolMessage("done", tool_call_id="c1", id="t"),
    ]
    about = {"langgraph_node": "model"}
    drafts = [encoder.encode((), "messages", (part, about)) for part in parts]
    return [one for one in drafts if one is not None]


def test_pieces_of_a_message_add_up() -> None:
    """As pairs, with their metadata each; and as what was written so far."""
    found = frames(rows(pieces()), ["messages-tuple"])
    assert {name for name, _ in found} == {"messages"}
    chunks = [data[0] for _, data in found]
    assert "".join(one["content"] for one in chunks if one["type"] != "tool") == "one two three"
    assert all(data[1]["langgraph_node"] == "model" for _, data in found)
    assert (chunks[-2]["chunk_position"], chunks[-1]["type"]) == ("last", "tool")

    found = frames(rows(pieces()), ["messages"])
    last = [data for name, data in found if name == "messages/partial"][-1][0]
    assert (last["type"], last["content"]) == ("ai", "one two three")
    assert [call["name"] for call in last["tool_calls"]] == ["look"]
    assert found[0][0] == "messages/metadata"
    assert found[-1] == ("messages/complete", [chunks[-1]])


def test_what_was_not_asked_for_is_not_kept() -> None:
    """Other modes, and subgraphs."""
    encoder = PartEncoder({"updates"}, subgraphs=False)
    assert encoder.encode((), "values", {"a": 1}) is None
    assert encoder.encode(("sub:1",), "updates", {"n": {}}) is None
    assert encoder.encode((), "updates", {"n": {}}) is not None


@pytest.mark.anyio
async def test_a_stream_continues_after_any_frame() -> None:
    """On any process: nothing is sent twice, and nothing is missing."""
    started = Draft("run.started", '{"type":"run.started"}')
    problem = json.dumps({"problem": {"code": "run.failed", "detail": "no"}})
    events = rows([started, *pieces(), Draft("run.failed", problem)])

    async def source() -> AsyncIterator[Event]:
        for event in events:
            yield event

    modes = ["messages", "messages-tuple"]
    whole = [frame async for frame in frames_after(source(), StreamView("r1", modes), START)]
    assert [frame.type for frame in whole][0 :: len(whole) - 1] == ["metadata", "error"]
    for number, frame in enumerate(whole, start=1):
        view = StreamView("r1", modes)
        rest = [one async for one in frames_after(source(), view, position_of(frame.id))]
        assert rest == whole[number:]
    for odd in ("", "x", "1", "-1", "1-", "9" * 40 + "-1"):
        assert position_of(odd) == START


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"
