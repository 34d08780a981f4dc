"""LangGraph's thread protocol: its own client against a gateway on a socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from langgraph_sdk import get_client, get_sync_client

from server_tests.gateway.worlds import KEYS, settings
from server_tests.serving import Served, chat_input, gateway
from thalweg_server.settings import Settings

pytestmark = pytest.mark.anyio
Client = Any
"""LangGraph's; its overloads tell apart what is one call here."""
Json = Any
APPROVED = {"decisions": [{"type": "approve"}]}
ALL = ["values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks"]


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve graphs with scripted models."""
    made = settings(tmp_path_factory.mktemp("home"), keys=KEYS)
    place = "server_tests.gateway.protocol_graphs"
    agents = [{"name": name, "graph": f"{place}:{name}"} for name in ("agent", "nested", "stalled")]
    own = Settings.from_mapping({"agents": agents}).agents
    with gateway(made.model_copy(update={"agents": own})) as found:
        yield found


@pytest.fixture
def ada(served: Served) -> Client:
    """Return a client with Ada's key."""
    return get_client(url=served.url, api_key="ada-s-key", timeout=60)


@pytest.fixture
async def http(served: Served) -> AsyncIterator[httpx2.AsyncClient]:
    """Return a connection with Ada's key."""
    headers = {"x-api-key": "ada-s-key"}
    async with httpx2.AsyncClient(
        base_url=served.url, headers=headers, timeout=30, trust_env=False
    ) as opened:
        yield opened


async def command(
    http: httpx2.AsyncClient, thread: str, method: str, params: Json
) -> dict[str, Any]:
    """Send a command."""
    body = {"id": 7, "method": method, "params": params}
    answered = (await http.post(f"/threads/{thread}/commands", json=body)).raise_for_status()
    answer: dict[str, Any] = answered.json()
    assert answer["id"] == 7
    return answer


@asynccontextmanager
async def stream(
    http: httpx2.AsyncClient, thread: str, headers: dict[str, str] | None = None, **body: Json
) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """Open a stream of events."""
    url = f"/threads/{thread}/stream/events"
    async with http.stream("POST", url, json=body, headers=headers) as opened:
        opened.raise_for_status()

        async def events() -> AsyncIterator[dict[str, Any]]:
            id_ = ""
            async for line in opened.aiter_lines():
                if line.startswith("id: "):
                    id_ = line[4:]
                if line.startswith("data: "):
                    event = json.loads(line[6:])
                    assert str(event["seq"]) == id_
                    yield event

        yield events()


def status(event: dict[str, Any]) -> str:
    """Return the status of the run in an event; empty for other events."""
    is_root = event["method"] == "lifecycle" and not event["params"]["namespace"]
    return str(event["params"]["data"]["event"]) if is_root else ""


async def read(
    http: httpx2.AsyncClient, thread: str, runs: int = 1, **body: Json
) -> list[dict[str, Any]]:
    """Read the events of some runs to their ends."""
    found: list[dict[str, Any]] = []
    async with stream(http, thread, **{"channels": ALL, **body}) as events:
        async for event in events:
            found.append(event)
            ends = [status(one) for one in found if status(one) not in {"", "running"}]
            if len(ends) == runs:
                break
    return found


async def test_a_run_is_started_and_its_messages_tools_and_output_are_read(ada: Client) -> None:
    """On a thread that the command creates: text, tool calls, usage, the final state."""
    async with ada.threads.stream(assistant_id="agent") as thread:
        started = await thread.run.start(input=chat_input("call lookup"), metadata={"a": "b"})
        messages, calls = await asyncio.gather(listed(thread.messages), listed(thread.tool_calls))
        assert [str(await one.text) for one in messages] == ["Calling.", "One, two."]
        assert [call["name"] for call in await messages[0].tool_calls] == ["lookup"]
        assert (await messages[1].output).usage_metadata["total_tokens"] == 12
        assert [(one.name, one.input, (await one.output)["content"]) for one in calls] == [
            ("lookup", {"what": "x"}, "saw x")
        ]
        output = (await thread.output)["messages"]
        assert [one["type"] for one in output] == ["human", "ai", "tool", "ai"]
        assert [one.message_id for one in messages] == [output[1]["id"], output[3]["id"]]
        run = await ada.runs.get(thread.thread_id, started["run_id"])
        assert (run["status"], run["metadata"]["a"]) == ("success", "b")


async def listed(found: Json) -> list[Any]:
    """Return all that an iterator of the client yields."""
    return [one async for one in found]


async def test_a_second_run_of_a_thread_streams_itself_alone(ada: Client) -> None:
    """Also with a new client, while an earlier run of the thread may be running."""
    thread = (await ada.threads.create())["thread_id"]
    await ada.runs.create(thread, "agent", input=chat_input("none"))
    for number in (1, 2):
        async with ada.threads.stream(thread, assistant_id="agent") as opened:
            await opened.run.start(input=chat_input(f"number {number}"))
            messages = await listed(opened.messages)
            assert [str(await one.text) for one in messages] == ["One, two."]
    state = await ada.threads.get_state(thread)
    assert len(state["values"]["messages"]) == 6


async def test_an_interrupt_is_answered(ada: Client) -> None:
    """Its value is readable; the run of the answer continues the stream."""
    async with ada.threads.stream(assistant_id="agent") as thread:
        await thread.run.start(input=chat_input("call risky"))
        states = await listed(thread.values)
        assert not any("__interrupt__" in one for one in states)
        while not thread.interrupted:  # noqa: ASYNC110 (the client has no event)
            await asyncio.sleep(0.05)
        (interrupt,) = thread.interrupts
        assert interrupt["value"]["action_requests"][0]["name"] == "risky"
        await thread.run.respond(APPROVED)
        messages = await listed(thread.messages)
        assert [str(await one.text) for one in messages] == ["One, two."]
        assert (await thread.output)["messages"][2]["content"] == "did x"


async def test_a_subagent_is_found_by_its_call(ada: Client) -> None:
    """With its name, messages and tools; the tool call is the cause of its start."""
    async with ada.threads.stream(assistant_id="agent") as thread:
        await thread.run.start(input=chat_input("call delegate"))
        (inner,) = await listed(thread.subagents)
        assert inner.status == "completed"
        messages = await listed(inner.messages)
        assert [str(await one.text) for one in messages] == ["Calling.", "One, two."]
        assert [one.name for one in await listed(inner.tool_calls)] == ["lookup"]
        id_ = thread.thread_id
    async with ada.threads.stream(id_, assistant_id="agent") as thread:
        events = thread.subscribe(["lifecycle"], namespaces=[["tools"]])
        started, ended = [await anext(events), await anext(events)]
    assert (started["params"]["data"]["event"], ended["params"]["data"]["event"]) == (
        "started",
        "completed",
    )
    assert started["params"]["data"]["graph_name"] == "inner"
    cause = {"type": "toolCall", "tool_call_id": "call-delegate"}
    assert started["params"]["data"]["cause"] == cause


async def test_a_failure_ends_the_tool_and_the_run(ada: Client) -> None:
    async with ada.threads.stream(assistant_id="agent") as thread:
        await thread.run.start(input=chat_input("call fails"))
        (call,) = await listed(thread.tool_calls)
        with pytest.raises(RuntimeError, match="x"):
            await call.output
        with pytest.raises(RuntimeError, match="Run errored: ValueError: x"):
            await thread.output


async def test_the_blocking_client_does_the_same(served: Served) -> None:
    def run() -> list[str]:
        client = get_sync_client(url=served.url, api_key="ada-s-key")
        with client.threads.stream(assistant_id="agent") as thread:
            thread.run.start(input=chat_input("call lookup"))
            return [str(one.text) for one in thread.messages]

    assert await asyncio.to_thread(run) == ["Calling.", "One, two."]


async def test_an_interrupt_of_a_subgraph_has_its_namespace(http: httpx2.AsyncClient) -> None:
    """Its values and its lifecycle have it, too; a message that a node returns has events."""
    thread = str(uuid4())
    started = await command(
        http, thread, "run.start", {"assistant_id": "nested", "input": chat_input("hi")}
    )
    events = await read(http, thread, channels=[*ALL, "custom"])
    (request,) = [one["params"] for one in events if one["method"] == "input.requested"]
    assert request["namespace"][0].startswith("child:")
    assert request["data"]["payload"] == {"ask": 1}
    assert [one["params"]["data"] for one in events if one["method"] == "custom"] == [
        {"payload": {"half": True}}
    ]
    life = [
        (len(one["params"]["namespace"]), one["params"]["data"]["event"])
        for one in events
        if one["method"] == "lifecycle"
    ]
    assert life == [(0, "running"), (1, "started"), (1, "interrupted"), (0, "interrupted")]
    params = {
        "responses": [
            {"interrupt_id": request["data"]["interrupt_id"], "response": "it", "namespace": []}
        ]
    }
    answered = await command(http, thread, "input.respond", params)
    assert answered["result"] == {}
    since = answered["meta"]["applied_through_seq"]
    assert since > started["meta"]["applied_through_seq"]
    events = await read(http, thread, since=since)
    assert status(events[0]) == "running"
    deltas = [
        one["params"]["data"]["delta"]["text"]
        for one in events
        if one["params"]["data"].get("event") == "content-block-delta"
    ]
    assert deltas == ["got it"]


async def test_events_are_numbered_over_runs_and_a_stream_continues_after_any(
    http: httpx2.AsyncClient,
) -> None:
    """By `since` or `Last-Event-ID`; each connection reads the same events."""
    thread = str(uuid4())
    for text in ("call lookup", "more"):
        body = {"assistant_id": "agent", "input": chat_input(text)}
        assert (await command(http, thread, "run.start", body))["type"] == "success"
    whole = await read(http, thread, runs=2)
    assert await read(http, thread, runs=2) == whole
    numbers = [one["seq"] for one in whole]
    assert all(before < after for before, after in pairwise(numbers))
    assert len({one["event_id"] for one in whole}) == len(whole)
    first = next(place for place, one in enumerate(whole) if status(one) == "completed")
    for place in (0, 3, first, first + 1, len(whole) - 2):
        ends = 1 if place >= first else 2
        assert await read(http, thread, runs=ends, since=numbers[place]) == whole[place + 1 :]
    headers = {"Last-Event-ID": str(numbers[-2])}
    assert await read(http, thread, headers=headers) == whole[-1:]
    for malformed in ("7-1", "9007199254740992", "9" * 5_000):
        headers = {"Last-Event-ID": malformed}
        assert await read(http, thread, runs=2, headers=headers) == whole


async def test_channels_and_namespaces_filter(http: httpx2.AsyncClient) -> None:
    thread = str(uuid4())
    body = {"assistant_id": "agent", "input": chat_input("call delegate")}
    await command(http, thread, "run.start", body)
    whole = await read(http, thread)
    some = await read(http, thread, channels=["lifecycle", "tools"])
    assert some == [one for one in whole if one["method"] in {"lifecycle", "tools"}]

    async def lengths(**body: Json) -> set[int]:
        channels = {"channels": ["messages", "lifecycle"], **body}
        found = await read(http, thread, **channels)
        return {len(one["params"]["namespace"]) for one in found}

    assert await lengths() == {0, 1, 2}
    assert await lengths(namespaces=[[]], depth=0) == {0}
    assert await lengths(namespaces=[[]], depth=1) == {0, 1}
    async with stream(
        http, thread, channels=["messages"], namespaces=[["tools"]], depth=0
    ) as some_:
        event = await anext(some_)
    assert event["params"]["namespace"][0].startswith("tools:")


@pytest.mark.parametrize(
    ("method", "params", "code", "words"),
    [
        ("state.get", {}, "unknown_command", "there is no command 'state.get' over HTTP"),
        ("run.start", {}, "invalid_argument", "run.start: assistant_id: Field required"),
        ("run.start", {"assistant_id": "absent"}, "unknown_error", "no graph 'absent'"),
        (
            "run.start",
            {"assistant_id": "agent", "multitaskStrategy": "never"},
            "invalid_argument",
            "multitaskStrategy",
        ),
        (
            "run.start",
            {"assistant_id": "agent", "config": {"configurable": {"checkpoint_id": 7}}},
            "invalid_argument",
            "checkpoint_id",
        ),
        ("input.respond", {"interrupt_id": "x"}, "no_such_interrupt", "waits for nothing"),
        ("input.respond", {"responses": []}, "invalid_argument", "responses"),
        ("input.respond", {}, "invalid_argument", "interrupt_id: Field required"),
    ],
)
async def test_a_command_that_cannot_be_performed_says_why(
    ada: Client, http: httpx2.AsyncClient, method: str, params: Json, code: str, words: str
) -> None:
    thread = (await ada.threads.create())["thread_id"]
    answer = await command(http, thread, method, params)
    assert (answer["type"], answer["error"]) == ("error", code)
    assert words in answer["message"]
    assert await ada.runs.list(thread) == []


async def test_a_thread_that_is_missing_or_anothers_has_neither_events_nor_interrupts(
    ada: Client, http: httpx2.AsyncClient, served: Served
) -> None:
    thread = (await ada.threads.create())["thread_id"]
    headers = {"x-api-key": "bob-s-key"}
    for id_, who in ((thread, headers), (str(uuid4()), {})):
        url = f"/threads/{id_}/stream/events"
        answered = await http.post(url, json={"channels": ["values"]}, headers=who)
        assert (answered.status_code, answered.json()["code"]) == (404, "thread.not_found")
    answer = await command(http, str(uuid4()), "input.respond", {"interrupt_id": "x"})
    assert answer["error"] == "no_such_run"
    async with httpx2.AsyncClient(base_url=served.url, headers=headers, trust_env=False) as bob:
        answer = await command(bob, thread, "input.respond", {"interrupt_id": "x"})
        assert answer["error"] == "no_such_run"
        body = {"assistant_id": "agent", "input": chat_input("x")}  # on his own thread with that id
        assert (await command(bob, thread, "run.start", body))["type"] == "success"
    assert await ada.runs.list(thread) == []
    assert (await ada.threads.get(thread))["metadata"] == {}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"channels": []}, "channels"),
        ({"channels": ["values", "nope"]}, "there is no channel 'nope'; name some of"),
        ({"channels": ["custom:"]}, "there is no channel 'custom:'"),
        ({"channels": ["values"], "since": -1}, "since"),
        ({"channels": ["values"], "since": 1 << 60}, "since"),
        ({"channels": ["values"], "depth": -1}, "depth"),
    ],
)
async def test_a_filter_that_is_none_is_refused(
    ada: Client, http: httpx2.AsyncClient, body: Json, words: str
) -> None:
    thread = (await ada.threads.create())["thread_id"]
    answered = await http.post(f"/threads/{thread}/stream/events", json=body)
    assert answered.status_code == 422
    assert words in answered.json()["detail"]


async def test_input_for_a_thread_that_waits_is_its_answer(http: httpx2.AsyncClient) -> None:
    thread = str(uuid4())
    for given in (chat_input("hi"), "it"):
        body = {"assistant_id": "nested", "input": given}
        started = await command(http, thread, "run.start", body)
        since = started["meta"]["applied_through_seq"]
        events = await read(http, thread, since=since)
    assert status(events[-1]) == "completed"
    state = (await http.get(f"/threads/{thread}/state")).json()["values"]
    assert [one["content"] for one in state["messages"]] == ["hi", "got it"]


async def interrupted(http: httpx2.AsyncClient, thread: str) -> Json:
    """Run a graph up to its question; return the question."""
    await command(http, thread, "run.start", {"assistant_id": "nested", "input": chat_input("hi")})
    (request,) = [one for one in await read(http, thread) if one["method"] == "input.requested"]
    return request["params"]["data"]


async def contents(http: httpx2.AsyncClient, thread: str) -> list[str]:
    """Return the texts of the messages of a thread."""
    state = (await http.get(f"/threads/{thread}/state")).json()["values"]
    return [one["content"] for one in state["messages"]]


async def test_input_is_a_message_once_the_question_was_answered_by_an_update(
    ada: Client, http: httpx2.AsyncClient
) -> None:
    thread = str(uuid4())
    await interrupted(http, thread)
    update = {"messages": [{"role": "assistant", "content": "edited"}]}
    await ada.threads.update_state(thread, update, as_node="child")
    body = {"assistant_id": "nested", "input": chat_input("more")}
    started = await command(http, thread, "run.start", body)
    events = await read(http, thread, since=started["meta"]["applied_through_seq"])
    assert status(events[-1]) == "interrupted"
    assert await contents(http, thread) == ["hi", "edited", "more"]


async def test_input_at_a_checkpoint_is_a_message_while_a_question_waits(
    ada: Client, http: httpx2.AsyncClient
) -> None:
    thread = str(uuid4())
    await interrupted(http, thread)
    place = (await ada.threads.get_history(thread))[0]["checkpoint"]["checkpoint_id"]
    config = {"configurable": {"checkpoint_id": place}}
    body = {"assistant_id": "nested", "input": chat_input("more"), "config": config}
    started = await command(http, thread, "run.start", body)
    events = await read(http, thread, since=started["meta"]["applied_through_seq"])
    assert status(events[-1]) == "interrupted"
    assert await contents(http, thread) == ["hi", "more"]


async def test_a_delayed_run_is_followed_when_it_starts(
    ada: Client, http: httpx2.AsyncClient
) -> None:
    """It holds up neither the stream nor an answer, and is no past run of a later stream."""
    thread = (await ada.threads.create())["thread_id"]
    delayed = await ada.runs.create(thread, "agent", input=chat_input("hi"), after_seconds=3600)
    question = await interrupted(http, thread)
    params = {"interrupt_id": question["interrupt_id"], "response": "it"}
    answered = await command(http, thread, "input.respond", params)
    assert answered["type"] == "success"
    ended = await read(http, thread, since=answered["meta"]["applied_through_seq"])
    assert status(ended[-1]) == "completed"
    joined = await ada.threads.join_stream(thread)
    async with stream(http, thread, channels=["lifecycle"], since=ended[-1]["seq"]) as events:
        await ada.runs.cancel(thread, delayed["run_id"], wait=True)
        event = await asyncio.wait_for(anext(events), 20)
    assert delayed["run_id"] in event["event_id"]
    assert event["seq"] > ended[-1]["seq"]
    await joined.aclose()


async def test_an_answer_during_a_run_starts_none(
    ada: Client, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The question may be the one that the run answers."""
    thread = str(uuid4())
    question = await interrupted(http, thread)
    run = await ada.runs.create(thread, "stalled", input=chat_input("hi"))
    monkeypatch.setattr("thalweg_server.gateway.langgraph_api.thread_protocol._SETTLED_S", 0.2)
    params = {"interrupt_id": question["interrupt_id"], "response": "it"}
    answer = await command(http, thread, "input.respond", params)
    assert (answer["error"], "under way" in answer["message"]) == ("no_such_interrupt", True)
    assert len(await ada.runs.list(thread)) == 2
    await ada.runs.cancel(thread, run["run_id"], wait=True)


async def test_a_cancelled_run_ends_its_messages(ada: Client, http: httpx2.AsyncClient) -> None:
    """Also a run of the other API."""
    thread = (await ada.threads.create())["thread_id"]
    modes = ["values", "messages-tuple"]
    run = await ada.runs.create(thread, "stalled", input=chat_input("hi"), stream_mode=modes)
    async with stream(http, thread, channels=["messages"]) as events:
        written = [await anext(events)]
        while written[-1]["params"]["data"]["event"] != "content-block-delta":
            written.append(await anext(events))
        await ada.runs.cancel(thread, run["run_id"], wait=True)
    found = await read(http, thread)
    kinds = [one["params"]["data"]["event"] for one in found if one["method"] == "messages"]
    assert kinds[len(written) :] == ["content-block-finish", "message-finish"]
    assert status(found[-1]) == "interrupted"
