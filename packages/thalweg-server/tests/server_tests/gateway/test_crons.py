"""Crons of LangGraph's API, with its own client against a gateway on a socket."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.errors import NotFoundError, UnprocessableEntityError

from server_tests.gateway.worlds import KEYS, settings
from server_tests.serving import Served, gateway
from thalweg_server.settings import Settings

pytestmark = pytest.mark.anyio
Client = Any
"""LangGraph's client; its overloads distinguish calls that are one here."""
YEARLY, SECONDLY = "0 0 1 1 *", "* * * * * *"
PATIENCE_S = 60.0


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a graph that counts; Bob may have one run at a time."""
    home = tmp_path_factory.mktemp("home")
    others = [
        {"key": "cleo-s-key", "owner": "cleo"},
        {"key": "key-of-operators", "owner": "ops", "role": "operator"},
    ]
    keys = [KEYS[0], {**KEYS[1], "limits": {"runs_at_once": 1}}, *others]
    own = [{"name": "counting", "graph": "server_tests.gateway.own_graphs:counting"}]
    given = settings(home).model_dump(mode="json")
    changed = {"gateway": {"keys": keys, "webhook_hosts": []}, "agents": own}
    with gateway(Settings.from_mapping({**given, **changed})) as found:
        yield found


@pytest.fixture
async def ada(served: Served) -> AsyncIterator[Client]:
    """Return a client with Ada's key."""
    async with get_client(url=served.url, api_key="ada-s-key", timeout=60) as client:
        yield client


@pytest.fixture
async def bob(served: Served) -> AsyncIterator[Client]:
    """Return a client with Bob's key."""
    async with get_client(url=served.url, api_key="bob-s-key", timeout=60) as client:
        yield client


async def until(found: Callable[[], Any]) -> Any:  # noqa: ANN401 (what is found)
    """Wait for a result that is true."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if result := await found():
                return result
            await asyncio.sleep(0.1)


async def test_a_cron_of_a_thread_runs_at_each_due_time(ada: Client) -> None:
    """Each due time has one run in the order of the times; none follows the deletion."""
    thread = (await ada.threads.create())["thread_id"]
    await ada.runs.wait(thread, "counting", input={"count": 0})
    made = await ada.crons.create_for_thread(
        thread,
        "counting",
        schedule=SECONDLY,
        input={},
        metadata={"job": "tick"},
        config={"configurable": {"step": 5}},
        stream_mode="updates",
    )
    assert (made["thread_id"], made["on_run_completed"]) == (thread, None)

    async def three() -> list[Any]:
        runs = await ada.runs.list(thread, status="success")
        return runs if len(runs) > 3 else []

    runs = await until(three)
    await ada.crons.delete(made["cron_id"])
    assert (await ada.threads.get_state(thread))["values"]["count"] % 5 == 1
    newest = runs[0]
    assert newest["metadata"]["job"] == "tick"
    assert newest["kwargs"]["config"]["configurable"] == {"step": 5, "cron_id": made["cron_id"]}
    assert newest["kwargs"]["stream_mode"] == ["updates"]
    count = len(await ada.runs.list(thread))
    await asyncio.sleep(2.2)
    assert len(await ada.runs.list(thread)) == count
    with pytest.raises(NotFoundError):
        await ada.crons.delete(made["cron_id"])


async def test_runs_without_a_thread_keep_or_delete_their_own(ada: Client, served: Served) -> None:
    """Each has a new thread with the cron's metadata."""
    tag = str(uuid4())
    for kept in ("keep", "delete"):
        made = await ada.crons.create(
            "counting",
            schedule=SECONDLY,
            input={"count": 1},
            metadata={"tag": tag, "kept": kept},
            on_run_completed=kept,
        )
        assert (made["thread_id"], made["on_run_completed"]) == (None, kept)

        async def two(made: Any = made) -> list[Any]:  # noqa: ANN401 (a cron)
            threads = await ada.threads.search(metadata=made["metadata"], limit=50)
            return threads if len(threads) > 1 else []

        threads = await until(two)
        await ada.crons.delete(made["cron_id"])
        for thread in threads:
            (run,) = await ada.runs.list(thread["thread_id"])
            assert (await ada.runs.join(thread["thread_id"], run["run_id"]))["count"] == 2
        assert served.app is not None
        documents = served.app.parts.registry.documents
        temporary = {one.name for one in documents.list("ada", "temporary")}
        assert {one["thread_id"] in temporary for one in threads} == {kept == "delete"}


async def test_a_cron_is_shown_as_it_was_made(ada: Client) -> None:
    """Search, count and sorting go by its fields; an update changes some of them."""
    tag = str(uuid4())
    end = datetime.now(UTC) + timedelta(days=800)
    made = await ada.crons.create(
        "counting",
        schedule="30 9 * * *",
        timezone="America/New_York",
        end_time=end,
        input={"count": 1},
        metadata={"tag": tag},
        interrupt_before=["step"],
        multitask_strategy="reject",
        on_run_completed="keep",
    )
    daily = datetime.fromisoformat(made["next_run_date"])
    assert daily.astimezone(UTC).hour in {13, 14}
    assert made["payload"]["interrupt_before"] == ["step"]
    assert datetime.fromisoformat(made["end_time"]) == end
    off = await ada.crons.create("counting", schedule=YEARLY, metadata={"tag": tag}, enabled=False)
    assert (off["enabled"], off["next_run_date"]) == (False, None)
    for query, found in (
        ({}, [off, made]),
        ({"sort_order": "asc"}, [made, off]),
        ({"sort_by": "next_run_date"}, [made, off]),
        ({"enabled": True}, [made]),
        ({"assistant_id": "counting", "limit": 1, "offset": 1}, [made]),
        ({"assistant_id": "agent"}, []),
        ({"thread_id": "none"}, []),
    ):
        assert await ada.crons.search(metadata={"tag": tag}, **query) == found, query
    ids = await ada.crons.search(metadata={"tag": tag}, select=["cron_id"])
    assert ids == [{"cron_id": off["cron_id"]}, {"cron_id": made["cron_id"]}]
    assert await ada.crons.count(metadata={"tag": tag}) == 2

    changed = await ada.crons.update(
        made["cron_id"], schedule=YEARLY, timezone="UTC", end_time=None, metadata={"more": 1}
    )
    assert changed["metadata"] == {"tag": tag, "more": 1}
    assert (changed["end_time"], changed["next_run_date"][4:]) == (None, "-01-01T00:00:00+00:00")
    assert changed["payload"]["input"] == {"count": 1}
    assert changed["updated_at"] > made["updated_at"]
    paused = await ada.crons.update(made["cron_id"], enabled=False)
    assert paused["next_run_date"] is None
    again = await ada.crons.update(made["cron_id"], enabled=True)
    assert again["next_run_date"] == changed["next_run_date"]
    past = await ada.crons.update(made["cron_id"], end_time=datetime.now(UTC))
    assert past["next_run_date"] is None
    for one in (made, off):
        await ada.crons.delete(one["cron_id"])
    assert await ada.crons.count(metadata={"tag": tag}) == 0


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"schedule": "nonsense"}, "schedule: 'nonsense' is invalid"),
        ({"schedule": "61 * * * *"}, "out of range"),
        ({"schedule": "0 0 30 2 *"}, "has no date in the next 50 years"),
        ({"schedule": ""}, "schedule: String"),
        ({"schedule": "1," * 200 + "1 * * * *"}, "schedule: String"),
        ({"timezone": "Mars/Olympus"}, "timezone: there is no 'Mars/Olympus'"),
        ({"timezone": "../../etc/passwd"}, "timezone"),
        ({"timezone": "America"}, "timezone"),
        ({"end_time": "soon"}, "end_time"),
        ({"metadata": "words"}, "metadata"),
        ({"multitask_strategy": "wait"}, "multitask_strategy"),
    ],
)
async def test_an_invalid_cron_is_refused(
    ada: Client, served: Served, fields: dict[str, Any], problem: str
) -> None:
    """With the field and the reason, also as a change of a valid one, which remains."""
    body = {"assistant_id": "counting", "schedule": YEARLY}
    made = await ada.crons.create(**body)
    headers = {"X-Api-Key": "ada-s-key"}
    async with httpx2.AsyncClient(base_url=served.url, headers=headers) as http:
        for method, path in (("POST", ""), ("PATCH", f"/{made['cron_id']}")):
            sent = {**body, **fields} if method == "POST" else fields
            answer = await http.request(method, f"/runs/crons{path}", json=sent)
            assert answer.status_code == 422, answer.text
            assert problem in answer.json()["detail"]
        kept = await http.get(f"/runs/crons/{made['cron_id']}")
    assert kept.json() == made
    await ada.crons.delete(made["cron_id"])


async def test_what_a_cron_names_has_to_exist(ada: Client) -> None:
    """Its assistant and its thread; the deletion of a thread deletes its crons."""
    with pytest.raises(NotFoundError, match="assistant"):
        await ada.crons.create("nobody", schedule=YEARLY)
    with pytest.raises(NotFoundError, match="thread"):
        await ada.crons.create_for_thread("nowhere", "counting", schedule=YEARLY)
    thread = (await ada.threads.create())["thread_id"]
    made = await ada.crons.create_for_thread(thread, "counting", schedule=YEARLY)
    assert await ada.crons.count(thread_id=thread) == 1
    await ada.threads.delete(thread)
    with pytest.raises(NotFoundError):
        await ada.crons.update(made["cron_id"], enabled=True)
    with pytest.raises(UnprocessableEntityError, match="a character that is not allowed"):
        await ada.crons.delete("a\0b")


async def test_another_owner_cannot_reach_a_cron(ada: Client, bob: Client) -> None:
    """It is in no list of theirs, and 404 for every operation."""
    made = await ada.crons.create("counting", schedule=YEARLY)
    id_ = made["cron_id"]
    assert await bob.crons.search() == []
    assert await bob.crons.count() == 0
    for call in (bob.crons.update(id_, enabled=False), bob.crons.delete(id_)):
        with pytest.raises(NotFoundError):
            await call
    (kept,) = [one for one in await ada.crons.search() if one["cron_id"] == id_]
    assert kept == made
    await ada.crons.delete(id_)


async def test_a_due_time_without_a_run_is_logged(
    bob: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """A limit is reached up to the next due time: the cron waits for that one."""
    thread = (await bob.threads.create())["thread_id"]
    slow = {"configurable": {"model": "slow"}}
    say = {"messages": [{"role": "user", "content": "hi"}]}
    run = await bob.runs.create(thread, "agent", input=say, config=slow)
    with caplog.at_level(logging.WARNING, "thalweg.server.crons"):
        made = await bob.crons.create_for_thread(
            thread, "counting", schedule=SECONDLY, input={"count": 1}
        )

        async def logged() -> bool:
            return "has no run at" in caplog.text and "runs_at_once: 1" in caplog.text

        await until(logged)
    assert [one["run_id"] for one in await bob.runs.list(thread)] == [run["run_id"]]
    (now,) = await bob.crons.search()
    assert now["next_run_date"] > made["next_run_date"]
    await bob.runs.cancel(thread, run["run_id"], wait=True)

    async def two() -> bool:
        return len(await bob.runs.list(thread)) > 1

    await until(two)
    await bob.crons.delete(made["cron_id"])


@pytest.fixture
async def cleo(served: Served) -> AsyncIterator[Client]:
    """Return a client with Cleo's key."""
    async with get_client(url=served.url, api_key="cleo-s-key", timeout=60) as client:
        yield client


async def test_a_deleted_owner_has_no_crons(served: Served, cleo: Client) -> None:
    """They are deleted with all that the owner has, and make no more runs."""
    made = await cleo.crons.create("counting", schedule=SECONDLY, input={"count": 1})
    headers = {"X-Api-Key": "key-of-operators"}
    async with httpx2.AsyncClient(base_url=served.url, headers=headers, timeout=60) as http:
        (await http.delete("/api/page/owners/cleo")).raise_for_status()
    assert await cleo.crons.search() == []
    with pytest.raises(NotFoundError):
        await cleo.crons.delete(made["cron_id"])
    await asyncio.sleep(1.5)
    assert await cleo.threads.search() == []
