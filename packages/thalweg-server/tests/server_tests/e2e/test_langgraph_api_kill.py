"""LangGraph's client while gateways are killed: streams continue at another one."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from langgraph_sdk import get_client

from memory_tests.e2e.gateways_models import asking
from server_tests.e2e.gateways_world import Gateway, World, roles, world
from server_tests.serving import chat_input

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(400)]
KEY = "key-of-owner-0"
MODES: Any = ["values", "messages-tuple", "updates"]
Connect = Callable[[Gateway], Awaitable[Any]]
"""Makes LangGraph's client; its overloads tell apart what is one call here."""
Part = tuple[str | None, str, Any]


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


@pytest.fixture
async def client() -> AsyncIterator[Connect]:
    """Return a function that makes a client of a gateway; all are closed at the end."""
    async with AsyncExitStack() as stack:
        made: dict[str, Any] = {}

        async def connect(gateway: Gateway) -> Any:  # noqa: ANN401 (see `Connect`)
            if gateway.url not in made:
                one = get_client(url=gateway.url, api_key=KEY, timeout=60)
                made[gateway.url] = await stack.enter_async_context(one)
            return made[gateway.url]

        yield connect


async def read(stream: Any, most: int = 10**9) -> list[Part]:  # noqa: ANN401 (an iterator)
    """Read frames of a stream."""
    parts: list[Part] = []
    async for part in stream:
        parts.append((part.id, part.event, part.data))
        if len(parts) == most:
            await stream.aclose()
            break
    return parts


async def follow(made: World, client: Connect) -> None:
    """Kill the gateway of a run in the midst of its stream, and read on at the other one."""
    first, second = made.gateways
    one, other = await client(first), await client(second)
    thread = (await one.threads.create(metadata={"user": "u1"}))["thread_id"]
    await one.store.put_item(("a",), "k", {"v": 1})
    run = await one.runs.create(
        thread, "agent", input=chat_input(asking("amphora", "1", "run-a")), stream_mode=MODES
    )
    waits = await one.runs.create(
        thread, "agent", input=chat_input(asking("brush", "2", "run-b")), stream_mode=MODES
    )
    run_id = run["run_id"]
    begun = await read(one.runs.join_stream(thread, run_id), 12)
    assert (begun[0][1], begun[0][2]["run_id"]) == ("metadata", run_id)
    first.kill()

    rest = await read(other.runs.join_stream(thread, run_id, last_event_id=begun[-1][0]))
    whole = [*begun, *rest]
    ids = [id_ for id_, _, _ in whole]
    assert len({*ids}) == len(ids)
    assert whole == await read(other.runs.join_stream(thread, run_id, last_event_id="-1"))
    values = [data for _, name, data in whole if name == "values"][-1]
    assert values["messages"][-1]["type"] == "ai"
    assert len([one for one in values["messages"] if one["type"] == "human"]) == 1
    assert [one["type"] for one in values["messages"]].count("tool") == 1
    last = values["messages"][-1]
    pieces = [data[0] for _, name, data in whole if name == "messages"]
    text = "".join(one["content"] for one in pieces if one["id"] == last["id"])
    assert text in {last["content"], ""}  # empty: only its state was emitted before the kill
    assert await other.runs.join(thread, run_id) == values

    later = await other.runs.join(thread, waits["run_id"])
    assert later["messages"][: len(values["messages"])] == values["messages"]
    assert len([one for one in later["messages"] if one["type"] == "human"]) == 2
    statuses = {one["run_id"]: one["status"] for one in await other.runs.list(thread)}
    assert statuses == {run_id: "success", waits["run_id"]: "success"}
    await same(other, thread, later)

    second.kill()
    first.start()
    await asyncio.to_thread(first.wait_ready)
    await same(await client(first), thread, later)
    assert whole == await read((await client(first)).runs.join_stream(thread, run_id))
    second.start()
    await asyncio.to_thread(second.wait_ready)


async def protocol(made: World, client: Connect) -> None:
    """Kill the gateway of a run between its events, and read the rest at the other one."""
    first, second = made.gateways
    one, other = await client(first), await client(second)
    thread = (await one.threads.create())["thread_id"]
    async with one.threads.stream(thread, assistant_id="agent") as opened:
        await opened.run.start(input=chat_input(asking("amphora", "1", "run-p")))
        begun = []
        async for event in opened.events:
            begun.append(event)
            if len(begun) == 12:
                break
        first.kill()
    whole = await events(second, thread)
    assert whole[:12] == begun
    rest = await events(second, thread, since=begun[-1]["seq"])
    assert [*begun, *rest] == whole
    numbers = [event["seq"] for event in whole]
    assert sorted({*numbers}) == numbers
    assert whole[-1]["params"]["data"]["event"] == "completed"
    async with other.threads.stream(thread, assistant_id="agent") as opened:
        output = await opened.output
    answer = output["messages"][-1]
    written = [event["params"]["data"] for event in whole if event["method"] == "messages"]
    text = "".join(
        data["delta"]["text"]
        for data in written
        if data["event"] == "content-block-delta" and data.get("message_id") == answer["id"]
    )
    assert text in {answer["content"], ""}  # empty: only its state was emitted before the kill
    second.kill()
    first.start()
    await asyncio.to_thread(first.wait_ready)
    assert await events(first, thread) == whole
    second.start()
    await asyncio.to_thread(second.wait_ready)


async def events(gateway: Gateway, thread: str, **body: int) -> list[Any]:
    """Read the events of a thread of one run to its end."""
    found: list[Any] = []
    channels = ["values", "messages", "tools", "custom", "lifecycle", "input"]
    wanted = {"channels": channels, **body}
    url = f"{gateway.url}/threads/{thread}/stream/events"
    headers = {"x-api-key": KEY}
    async with (
        httpx2.AsyncClient(timeout=60, trust_env=False) as http,
        http.stream("POST", url, json=wanted, headers=headers) as opened,
    ):
        async for line in opened.raise_for_status().aiter_lines():
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
                last = found[-1]["params"]
                if found[-1]["method"] == "lifecycle" and last["data"]["event"] != "running":
                    break
    return found


async def same(one: Any, thread: str, values: Any) -> None:  # noqa: ANN401 (a client, a state)
    """Compare what a gateway answers with what the other one did."""
    assert (await one.threads.get_state(thread))["values"]["messages"] == values["messages"]
    assert (await one.threads.search(metadata={"user": "u1"}))[0]["thread_id"] == thread
    assert (await one.store.get_item(("a",), "k"))["value"] == {"v": 1}
    assert (await one.threads.get(thread))["status"] == "idle"


@pytest.mark.slow
@pytest.mark.nightly
async def test_a_stream_continues_at_another_gateway_after_a_kill(
    tmp_path: Path, client: Connect
) -> None:
    """SQLite: two processes of one machine."""
    with world(tmp_path, None, owners=1, followers=0, pause_s=0.1, words=20) as made:
        await follow(made, client)
        await protocol(made, client)
        await completion(made, client)


@pytest.mark.slow
@pytest.mark.nightly
async def test_the_same_over_a_server(postgres_url: str, tmp_path: Path, client: Connect) -> None:
    """PostgreSQL, as a role that row-level security holds."""
    with (
        roles(postgres_url) as url,
        world(tmp_path, url, owners=1, followers=0, pause_s=0.1, words=20) as made,
    ):
        await follow(made, client)


async def completion(made: World, client: Connect) -> None:
    """Ask both gateways for a completion of one thread; the second continues it."""
    headers = {"Authorization": f"Bearer {KEY}", "X-Thread-Id": "of-openai"}
    lengths = []
    for number, gateway in enumerate(made.gateways):
        message = {"role": "user", "content": asking("compass", "3", f"run-c{number}")}
        async with httpx2.AsyncClient(timeout=60, trust_env=False) as http:
            body = {"model": "noting", "messages": [message]}
            url = f"{gateway.url}/v1/chat/completions"
            answer = (await http.post(url, json=body, headers=headers)).raise_for_status().json()
        assert answer["choices"][0]["message"]["content"]
        state = await (await client(gateway)).threads.get_state("of-openai")
        lengths.append(len(state["values"]["messages"]))
    assert lengths == [4, 8]
