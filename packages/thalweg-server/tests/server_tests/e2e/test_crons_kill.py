"""A cron while gateways are killed: each due time has exactly one run."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import pytest
from langgraph_sdk import get_client

from memory_tests.e2e.gateways_models import asking
from server_tests.e2e.gateways_world import World, roles, world

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(600)]
EVERY_S = 2


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


def due_ms(cron: Any) -> int:  # noqa: ANN401 (LangGraph's)
    """Return when a cron is due next, in milliseconds."""
    return round(1000 * datetime.fromisoformat(cron["next_run_date"]).timestamp())


async def kill_while_due(made: World) -> None:
    """Kill one gateway after the other, and compare the runs of a cron with its due times."""
    say = {"messages": [{"role": "user", "content": asking("amphora", "1", "run-c")}]}
    async with AsyncExitStack() as stack:
        clients: list[Any] = [
            await stack.enter_async_context(
                get_client(url=one.url, api_key="key-of-owner-0", timeout=120)
            )
            for one in made.gateways
        ]
        await compare(made, clients, say)


async def compare(made: World, clients: list[Any], say: dict[str, Any]) -> None:
    """Kill gateways while a cron is due every other second."""
    thread = (await clients[0].threads.create())["thread_id"]
    cron = await clients[0].crons.create_for_thread(
        thread, "agent", schedule=f"* * * * * */{EVERY_S}", input=say
    )
    for number in (0, 1, 0):
        gateway = made.gateways[number]
        await asyncio.sleep(1.5 * EVERY_S)
        gateway.kill()
        await asyncio.sleep(EVERY_S)
        gateway.start()
        await asyncio.to_thread(gateway.wait_ready)
    await asyncio.sleep(2 * EVERY_S)
    last = await clients[1].crons.update(cron["cron_id"], enabled=False, metadata={"ended": True})
    (newest,) = await clients[0].crons.search(thread_id=thread)
    assert (newest, newest["next_run_date"]) == (last, None)

    runs = await clients[0].runs.list(thread, limit=1000)
    assert len(runs) > 5
    first = due_ms(cron)
    ids = [
        str(uuid5(UUID(cron["cron_id"]), str(first + 1000 * EVERY_S * number)))
        for number in range(len(runs))
    ]
    assert Counter(one["run_id"] for one in runs) == Counter(ids)  # none is missing, none is double
    for id_ in ids:
        await clients[1].runs.join(thread, id_)
    statuses = {one["status"] for one in await clients[1].runs.list(thread, limit=1000)}
    assert statuses == {"success"}
    assert len(await clients[0].runs.list(thread, limit=1000)) == len(runs)


async def test_each_due_time_has_one_run_whatever_is_killed(tmp_path: Path) -> None:
    """SQLite: two processes of one machine."""
    with world(tmp_path, None, owners=1, followers=0, pause_s=0.0, words=3) as made:
        await kill_while_due(made)


@pytest.mark.nightly
async def test_the_same_over_a_server(postgres_url: str, tmp_path: Path) -> None:
    """PostgreSQL, as a role that row-level security holds."""
    with (
        roles(postgres_url) as url,
        world(tmp_path, url, owners=1, followers=0, pause_s=0.0, words=3) as made,
    ):
        await kill_while_due(made)
