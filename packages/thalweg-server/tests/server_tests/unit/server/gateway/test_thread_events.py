"""Rows of a run as events of LangGraph's thread protocol, without a server."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessageChunk, ToolMessage
from langgraph.types import Command

from thalweg_server.api.graph_runs import GraphRun
from thalweg_server.app.streaming import PartEncoder
from thalweg_server.app.subgraphs import SubgraphTracker
from thalweg_server.gateway.langgraph_api.protocol import (
    CHANNELS,
    MODES,
    EventFilter,
    RunEvents,
    event_frames,
    number_before,
)
from thalweg_server.runs.base import Draft, Event, RunKey, RunRecord
from thalweg_server.runs.drafts import joined

STARTED = datetime(2026, 11, 30, 12, 0, 0, 17, tzinfo=UTC)
RUN = RunRecord(
    key=RunKey("ann", "t1", "r1"),
    status="running",
    request=GraphRun(graph="own").model_dump_json(),
    created=STARTED,
    started=STARTED,
)
EVERY = EventFilter(channels=tuple(CHANNELS))


def row(type_: str, **fields: Any) -> Draft:  # noqa: ANN401 (JSON)
    """Return a row of the run itself."""
    return Draft(type_, json.dumps({"type": type_, **fields}))


def piece(encoder: PartEncoder, text: str, id_: str, task: str = "model:1", **more: Any) -> Draft:  # noqa: ANN401 (LangChain's)
    """Return the row of a piece of a message."""
    metadata = {"langgraph_node": task.partition(":")[0], "langgraph_checkpoint_ns": task}
    message = AIMessageChunk(content=text, id=id_, **more)
    found = encoder.encode((), "messages", (message, metadata))
    assert found is not None
    return found


def events(drafts: Sequence[Draft], wanted: EventFilter = EVERY) -> list[dict[str, Any]]:
    """Return the events of a run whose rows are written at once."""
    written, _ = joined([drafts])
    view = RunEvents(RUN)
    rows = [Event(n, one.type, one.data) for n, one in enumerate(written, start=1)]
    found = [json.loads(frame.data) for one in rows for frame in view.frames(one, wanted)]
    view.close()
    return found


def messages(found: Sequence[dict[str, Any]]) -> list[Any]:
    """Return the kind and the id of each event of a message."""
    datas = [one["params"]["data"] for one in found if one["method"] == "messages"]
    return [(one["event"], one.get("id") or one.get("message_id")) for one in datas]


def encoder() -> PartEncoder:
    """Return the encoder of a run of the protocol."""
    return PartEncoder(MODES, subgraphs=True)


def test_pieces_of_two_kinds_of_ids_are_one_message() -> None:
    """The provider's id is in the first piece only, and the state has it."""
    made = encoder()
    drafts = [
        piece(made, "", "msg_1"),
        piece(made, "One, ", "lc_run--1"),
        piece(made, "two.", "lc_run--1"),
        piece(made, "", "lc_run--1", chunk_position="last"),
    ]
    found = events(drafts)
    assert {id_ for _, id_ in messages(found)} == {"msg_1"}
    assert [kind for kind, _ in messages(found)] == [
        "message-start",
        "content-block-start",
        "content-block-delta",
        "content-block-delta",
        "content-block-finish",
        "message-finish",
    ]
    assert found[4]["params"]["data"]["content"] == {"type": "text", "text": "One, two."}
    assert found[0]["params"]["node"] == "model"


def test_messages_of_tasks_at_one_time_stay_apart() -> None:
    made = encoder()
    drafts = [
        piece(made, "", "lc_run--1"),
        piece(made, "", "msg_2", "model:2"),
        piece(made, "first", "lc_run--1"),
        piece(made, "second", "msg_2", "model:2"),
    ]
    found = events([*drafts, row("run.completed", text="")])
    texts = {
        one["params"]["data"]["message_id"]: one["params"]["data"]["content"]["text"]
        for one in found
        if one["params"]["data"].get("event") == "content-block-finish"
    }
    assert texts == {"lc_run--1": "first", "msg_2": "second"}


def test_another_attempt_fails_the_messages_of_the_one_before() -> None:
    """Its subgraphs are not started twice, and end with the run."""
    made, again = encoder(), encoder()
    started = {"event": "started", "namespace": ["node:1"], "graph_name": "inner"}
    lifecycle = made.encode(("node:1",), "lifecycle", started)
    assert lifecycle is not None
    drafts = [
        row("run.started"),
        lifecycle,
        piece(made, "half", "lc_run--1"),
        row("run.resumed", attempt=2),
        lifecycle,
        piece(again, "whole", "lc_run--2"),
        piece(again, "", "lc_run--2", chunk_position="last"),
        row("run.failed", problem={"code": "run.failed", "detail": "it broke"}),
    ]
    found = events(drafts)
    assert ("error", "lc_run--1") in messages(found)
    assert ("message-finish", "lc_run--1") not in messages(found)
    assert ("message-finish", "lc_run--2") in messages(found)
    life = [one["params"]["data"] for one in found if one["method"] == "lifecycle"]
    assert life == [
        {"event": "running", "graph_name": "own"},
        started,
        {"event": "failed", "graph_name": "inner"},
        {"event": "failed", "graph_name": "own", "error": "it broke"},
    ]


def test_a_cancelled_run_finishes_the_message_that_is_being_written() -> None:
    drafts = [piece(encoder(), "half", "lc_run--1"), row("run.cancelled")]
    found = events(drafts)
    assert messages(found)[-1] == ("message-finish", "lc_run--1")
    assert found[-1]["params"]["data"]["event"] == "interrupted"


def test_another_attempt_closes_the_messages_of_the_one_before() -> None:
    """Asyncio has no error of a generator that was dropped."""
    errors: list[dict[str, Any]] = []

    async def read() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, about: errors.append(about))
        drafts = [piece(encoder(), "half", "lc_run--1"), row("run.resumed", attempt=2)]
        assert messages(events(drafts))[-1] == ("error", "lc_run--1")
        for _ in range(3):
            gc.collect()
            await asyncio.sleep(0)

    asyncio.run(read())
    gc.collect()
    assert errors == []


def test_a_stream_keeps_no_state_of_a_run_that_ended() -> None:
    alive: list[int] = []

    class Runs:
        async def follow_thread(
            self, thread: str, *, since: datetime
        ) -> AsyncIterator[tuple[RunRecord, Event]]:
            assert since < STARTED, thread
            for number, kind in enumerate(("run.started", "run.completed"), start=1):
                yield RUN, Event(number, kind, json.dumps({"type": kind, "text": ""}))
                gc.collect()
                alive.append(sum(isinstance(one, RunEvents) for one in gc.get_objects()))

    async def read() -> None:
        runs: Any = Runs()
        assert len([frame async for frame in event_frames(runs, "t1", EVERY)]) == 2

    asyncio.run(read())
    assert alive == [1, 0]


def test_questions_are_asked_once() -> None:
    """Also if no state of the graph has them."""
    asked = {"__interrupt__": [{"id": "i1", "value": 1}], "count": 2}
    values = encoder().encode(("child:1",), "values", asked)
    assert values is not None
    questions = [{"id": "i1", "value": 1}, {"id": "i2", "value": 2}]
    found = events([values, row("run.interrupted", questions=questions)])
    requests = [one["params"] for one in found if one["method"] == "input.requested"]
    assert [(one["namespace"], one["data"]["interrupt_id"]) for one in requests] == [
        (["child:1"], "i1"),
        ([], "i2"),
    ]
    assert [one["params"]["data"] for one in found if one["method"] == "values"] == [{"count": 2}]


def test_the_answer_of_a_tool_is_a_message_too() -> None:
    """In each format; an output that is no message has none."""
    made = encoder()
    outputs = [
        ToolMessage("text", tool_call_id="c1", id="m1"),
        ToolMessage([{"type": "text", "text": "block"}], tool_call_id="c1"),
        Command(update={}),
    ]
    parts = [{"event": "tool-finished", "tool_call_id": "c1", "output": one} for one in outputs]
    drafts = [draft for one in parts if (draft := made.encode((), "tools", one)) is not None]
    found = events(drafts)
    assert [one["method"] for one in found].count("tools") == 3
    starts = [
        (one["params"]["namespace"], one["params"]["data"]["role"], one["params"]["data"]["id"])
        for one in found
        if one["params"]["data"]["event"] == "message-start"
    ]
    assert starts == [(["tools:c1"], "tool", "m1"), (["tools:c1"], "tool", "tool-c1")]
    last = [one for one in found if one["params"]["data"]["event"] == "content-block-finish"][-1]
    assert json.loads(last["params"]["data"]["content"]["text"])[0]["text"] == "block"


def test_numbers_begin_with_the_start_of_the_run() -> None:
    """A filter does not change them."""
    drafts = [row("run.started"), *(piece(encoder(), "a", f"lc_run--{n}") for n in range(3))]
    found = events([*drafts, row("run.completed", text="")])
    assert found[0]["seq"] == number_before(RUN) + 1 == 1_796_040_000_000_018
    assert all(after["seq"] - before["seq"] == 1 for before, after in pairwise(found))
    since = found[4]["seq"]
    some = EventFilter(channels=("lifecycle",), since=since)
    assert events([*drafts, row("run.completed", text="")], some) == [found[-1]]
    assert found[0]["event_id"] == f"synth:r1:{found[0]['seq']}"


def test_a_task_ends_the_subgraph_that_runs_in_it() -> None:
    """By the result of the task, while other tasks run."""
    tracker = SubgraphTracker()

    def parts(*namespace: str, **task: Any) -> list[tuple[str, str]]:  # noqa: ANN401 (LangGraph's)
        found = tracker.parts(namespace, {"id": "1", "name": "node", **task})
        return [(one["event"], one["graph_name"]) for one in found]

    assert parts(id="1", input={}) == []
    assert parts("node:1", id="2", input={}) == [("started", "node")]
    assert parts("node:1", id="3", input={}) == []
    named = {"lc_agent_name": "helper"}
    assert parts("node:1", "node:3", id="4", metadata=named) == [("started", "helper")]
    assert parts("node:1", id="2", result={}) == []
    assert parts("node:1", id="3", result={}, error="it broke") == [("failed", "helper")]
    assert parts(id="1", result={}, interrupts=[{"value": 1}]) == [("interrupted", "node")]
    assert parts(id="1", result={}) == []
