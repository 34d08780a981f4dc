"""LangGraph's own client against a gateway on a socket."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.errors import ConflictError, NotFoundError, UnprocessableEntityError

from server_tests.gateway.worlds import KEYS, settings
from server_tests.serving import Served, chat_input, gateway
from thalweg.errors import ConfigError, StorageError
from thalweg_server.api.graph_runs import GraphRun
from thalweg_server.app import open_app
from thalweg_server.app.graph_threads import TenantGraphThreads
from thalweg_server.app.opening import checked_address
from thalweg_server.app.runs import TEMPORARY, TenantGraphRuns
from thalweg_server.gateway.langgraph_api import threads as graph_threads
from thalweg_server.runs.journal import Journal
from thalweg_server.settings import Settings
from thalweg_server.uploads.disk import DiskFiles

pytestmark = pytest.mark.anyio
Client = Any
"""LangGraph's; its overloads tell apart what is one call here."""
GRAPHS = Path(__file__).with_name("own_graphs.py")


@pytest.fixture
def anyio_backend() -> str:
    """Run on asyncio."""
    return "asyncio"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve the gateway's agent and graphs of the operator's own."""
    home = tmp_path_factory.mktemp("home")
    (home / "langgraph.json").write_text(
        json.dumps({"graphs": {"asking": f"{GRAPHS}:asking", "lazy": {"path": f"{GRAPHS}:lazy"}}})
    )
    made = settings(home, keys=KEYS, webhook_hosts=["127.0.0.1"])
    own = [
        {"name": "counting", "graph": "server_tests.gateway.own_graphs:counting"},
        {"name": "broken", "graph": "server_tests.gateway.own_graphs:broken"},
        {"name": "halves", "graph": "server_tests.gateway.own_graphs:halves"},
    ]
    given = made.model_dump(mode="json") | {
        "models": [
            {
                "name": "ticking",
                "use": "core_tests.ticking:TickingModel",
                "window": 32_000,
                "rate": 500.0,
                "ticks": 4,
            },
            {
                "name": "slow",
                "use": "core_tests.ticking:TickingModel",
                "window": 32_000,
                "rate": 20.0,
                "ticks": 400,
            },
            {"name": "talker", "use": "server_tests.e2e.talkers:Talker", "window": 32_000},
        ],
        "gateway": {
            "keys": [*KEYS, {"key": "cleo-s-key", "owner": "cleo"}],
            "webhook_hosts": ["127.0.0.1"],
        },
        "agents": own,
        "langgraph": str(home / "langgraph.json"),
    }
    with gateway(Settings.from_mapping(given)) as found:
        yield found


@pytest.fixture
def ada(served: Served) -> Client:
    """Return a client with Ada's key."""
    return get_client(url=served.url, api_key="ada-s-key", timeout=60)


@pytest.fixture
def bob(served: Served) -> Client:
    """Return a client with Bob's key."""
    return get_client(url=served.url, api_key="bob-s-key", timeout=60)


@pytest.fixture
def cleo(served: Served) -> Client:
    """Return a client with Cleo's key, who has no threads before."""
    return get_client(url=served.url, api_key="cleo-s-key", timeout=60)


SLOW = {"configurable": {"model": "slow"}}


async def test_assistants_are_the_graphs_and_what_is_stored(ada: Client) -> None:
    """One for each graph, found by its id; a stored one has versions and is deleted."""
    names = [one["graph_id"] for one in await ada.assistants.search(limit=10)]
    assert names == ["agent", "counting", "broken", "halves", "asking", "lazy"]
    by_name = await ada.assistants.get("counting")
    assert await ada.assistants.get(by_name["assistant_id"]) == by_name
    assert (await ada.assistants.get_graph("counting"))["nodes"]
    schemas = await ada.assistants.get_schemas("counting")
    assert "count" in (schemas["input_schema"] or {})["properties"]
    made = await ada.assistants.create(graph_id="counting", config={"configurable": {"step": 5}})
    await ada.assistants.update(made["assistant_id"], name="fives", metadata={"a": 1})
    versions = await ada.assistants.get_versions(made["assistant_id"])
    assert [one["version"] for one in versions] == [2, 1]
    values = await ada.runs.wait(None, made["assistant_id"], input={"count": 1})
    assert values["count"] == 6
    back = await ada.assistants.set_latest(made["assistant_id"], 1)
    assert (back["version"], back["name"]) == (1, "counting")
    await ada.assistants.delete(made["assistant_id"])
    with pytest.raises(NotFoundError):
        await ada.assistants.get(made["assistant_id"])
    with pytest.raises(NotFoundError):  # that of a graph belongs to the settings
        await ada.assistants.delete(by_name["assistant_id"])


async def test_a_thread_has_metadata_and_is_found_by_it(ada: Client) -> None:
    """It is merged; a run adds its graph and assistant."""
    made = await ada.threads.create(metadata={"user": "u7"})
    id_ = made["thread_id"]
    await ada.threads.update(id_, metadata={"title": "T"})
    await ada.runs.wait(id_, "agent", input=chat_input())
    found = await ada.threads.search(metadata={"user": "u7"}, status="idle")
    assert [one["thread_id"] for one in found] == [id_]
    assert found[0]["metadata"].items() >= {"title": "T", "graph_id": "agent"}.items()
    assert len(found[0]["values"]["messages"]) == 2
    assert await ada.threads.count(metadata={"user": "u7"}) == 1
    assert await ada.threads.search(metadata={"user": "u8"}) == []
    again = await ada.threads.create(thread_id=id_, if_exists="do_nothing")
    assert again["thread_id"] == id_
    with pytest.raises(ConflictError):
        await ada.threads.create(thread_id=id_)
    await ada.threads.delete(id_)
    with pytest.raises(NotFoundError):
        await ada.threads.get(id_)


@pytest.mark.parametrize(
    ("mode", "event"),
    [
        ("values", "values"),
        ("updates", "updates"),
        ("messages", "messages/partial"),
        ("messages-tuple", "messages"),
        ("custom", "custom"),
        ("tasks", "tasks"),
        ("checkpoints", "checkpoints"),
        ("debug", "debug"),
        ("events", "events"),
    ],
)
async def test_each_stream_mode_has_its_events(ada: Client, mode: Any, event: str) -> None:  # noqa: ANN401 (the client's literal)
    """After one that names the run; and no other."""
    graph = "lazy" if mode == "custom" else "agent"
    stream = ada.runs.stream(None, graph, input=chat_input(), stream_mode=mode)
    seen = [part async for part in stream]
    assert seen[0].event == "metadata"
    assert seen[0].data["attempt"] == 1
    assert event in {part.event for part in seen}
    assert all(part.event.startswith(event.partition("/")[0]) for part in seen[1:])


async def test_a_stream_has_the_whole_state_of_each_step(ada: Client) -> None:
    """Also of the second turn, which begins with the messages of the first."""
    id_ = (await ada.threads.create())["thread_id"]
    await ada.runs.wait(id_, "agent", input=chat_input("one"))
    stream = ada.runs.stream(id_, "agent", input=chat_input("two"), stream_mode="values")
    values = [part.data async for part in stream if part.event == "values"]
    assert [len(one["messages"]) for one in (values[0], values[-1])] == [3, 4]
    state = await ada.threads.get_state(id_)
    assert state["values"]["messages"] == values[-1]["messages"]


async def test_a_run_continues_from_a_checkpoint_and_a_state_is_changed(
    ada: Client,
) -> None:
    """As in any graph: a fork does not have the later messages."""
    id_ = (await ada.threads.create())["thread_id"]
    await ada.runs.wait(id_, "agent", input=chat_input("one"))
    fork = (await ada.threads.get_state(id_))["checkpoint"]
    await ada.runs.wait(id_, "agent", input=chat_input("two"))
    history = await ada.threads.get_history(id_, limit=100)
    assert fork["checkpoint_id"] in {one["checkpoint"]["checkpoint_id"] for one in history}
    values = await ada.runs.wait(
        id_, "agent", input=chat_input("three"), checkpoint_id=fork["checkpoint_id"]
    )
    texts = [one["content"] for one in values["messages"] if one["type"] == "human"]
    assert texts == ["one", "three"]
    await ada.threads.update_state(id_, chat_input("by hand"))
    copied = await ada.threads.copy(id_)
    for thread in (id_, copied["thread_id"]):
        state = await ada.threads.get_state(thread)
        assert state["values"]["messages"][-1]["content"] == "by hand"
    values = await ada.runs.wait(copied["thread_id"], "agent", input=chat_input("four"))
    assert len(values["messages"]) == 7
    with pytest.raises(ConflictError):
        await ada.threads.update_state(id_, chat_input("x"), as_node="no such node")


async def test_a_run_from_a_checkpoint_delegates(ada: Client) -> None:
    """As front ends continue a thread: they name the newest checkpoint with each message."""
    talker = {"configurable": {"model": "talker"}}
    id_ = (await ada.threads.create())["thread_id"]
    await ada.runs.wait(id_, "agent", input=chat_input(), config=talker)
    newest = (await ada.threads.get_state(id_))["checkpoint"]

    values = await ada.runs.wait(
        id_, "agent", input=chat_input("delegate"), config=talker, checkpoint=newest
    )

    reported = values["messages"][-2]
    assert reported["name"] == "task"
    assert reported["content"].startswith("You said: look it up."), reported["content"]


async def test_the_newest_state_has_the_files_of_a_thread(ada: Client, bob: Client) -> None:
    """Text files that the gateway's agent wrote, as in the state of deepagents."""
    talker = {"configurable": {"model": "talker"}}
    id_ = (await ada.threads.create())["thread_id"]
    await ada.runs.wait(id_, "agent", input=chat_input("write rivers"), config=talker)

    newest, *older = await ada.threads.get_history(id_)

    assert newest["values"]["files"]["/a.txt"]["content"] == "write rivers"
    assert not any(one["values"].get("files") for one in older)
    assert (await ada.threads.get_state(id_))["values"]["files"] == newest["values"]["files"]
    at = await ada.threads.get_state(id_, checkpoint_id=newest["checkpoint"]["checkpoint_id"])
    assert not at["values"].get("files")
    other = (await bob.threads.create(thread_id=id_))["thread_id"]
    await bob.runs.wait(other, "agent", input=chat_input())
    assert not (await bob.threads.get_state(other))["values"].get("files")


async def test_only_the_newest_state_of_the_built_in_agent_has_files(
    served: Served, ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a state that a search found, nor that of another graph, whose `files` are its own."""
    ticking = await ada.threads.create(
        supersteps=[{"updates": [{"values": chat_input(), "as_node": None}]}]
    )
    counting = await ada.threads.create(metadata={"graph_id": "counting"})
    await ada.threads.update_state(counting["thread_id"], {"files": ["own"]})
    plain = await ada.threads.create(metadata={"graph_id": "counting"})
    await ada.threads.update_state(plain["thread_id"], {"count": 1})
    assert served.app is not None
    for one in (ticking, counting, plain):
        files = served.app.tenant("ada").files.backend(one["thread_id"])
        files.write("/a.txt", "rivers")

    async def state(thread: Any, **body: Any) -> Any:  # noqa: ANN401 (JSON)
        at = f"/threads/{thread['thread_id']}/state/checkpoint"
        return (await ada.http.post(at, json=body))["values"]

    assert (await state(ticking))["files"]["/a.txt"]["content"] == "rivers"
    assert (await state(counting))["files"] == ["own"]
    assert "files" not in await state(plain)
    (newest,) = await ada.threads.get_history(ticking["thread_id"], limit=1)
    assert newest["values"]["files"]
    at = newest["checkpoint"]["checkpoint_id"]
    assert not (await state(ticking, checkpoint={"checkpoint_id": at})).get("files")
    source = newest["metadata"]["source"]
    found = await ada.threads.get_history(ticking["thread_id"], metadata={"source": source})
    assert not found[0]["values"].get("files")

    def fail(*_: object) -> None:
        raise StorageError("files", "it cannot be listed", "check its rights")

    monkeypatch.setattr(DiskFiles, "files", fail)
    shown = await state(ticking)
    assert shown["messages"]
    assert not shown.get("files")


async def test_runs_wait_are_refused_or_replace_others(ada: Client) -> None:
    """By their strategy, with a run under way."""
    id_ = (await ada.threads.create())["thread_id"]

    async def slow() -> str:
        run = await ada.runs.create(id_, "agent", input=chat_input("slow"), config=SLOW)
        while (await ada.runs.get(id_, run["run_id"]))["status"] != "running":  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        return str(run["run_id"])

    first = await slow()
    with pytest.raises(ConflictError):
        await ada.runs.create(id_, "agent", input=chat_input("no"), multitask_strategy="reject")
    waits = await ada.runs.create(id_, "agent", input=chat_input("waits"))
    assert waits["status"] == "pending"
    assert (await ada.threads.get(id_))["status"] == "busy"
    await ada.runs.cancel(id_, first, wait=True)
    await ada.runs.join(id_, waits["run_id"])
    first = await slow()
    new = await ada.runs.create(
        id_, "agent", input=chat_input("now"), multitask_strategy="interrupt"
    )
    values = await ada.runs.join(id_, new["run_id"])
    assert (await ada.runs.get(id_, first))["status"] == "interrupted"
    texts = [one["content"] for one in values["messages"] if one["type"] == "human"]
    assert texts == ["slow", "waits", "slow", "now"]
    first = await slow()
    values = await ada.runs.wait(
        id_, "agent", input=chat_input("again"), multitask_strategy="rollback"
    )
    texts = [one["content"] for one in values["messages"] if one["type"] == "human"]
    assert texts == ["slow", "waits", "slow", "now", "again"]
    with pytest.raises(NotFoundError):
        await ada.runs.get(id_, first)
    await ada.runs.delete(id_, new["run_id"])
    assert new["run_id"] not in {run["run_id"] for run in await ada.runs.list(id_)}


async def test_half_a_character_is_a_question_mark(ada: Client) -> None:
    """In streams, states and histories: UTF-8 has no bytes for it."""
    id_ = (await ada.threads.create())["thread_id"]
    modes: Any = ["values", "updates", "messages", "custom"]
    stream = ada.runs.stream(id_, "halves", input=chat_input(), stream_mode=modes)
    parts = [part async for part in stream]
    assert {"values", "updates", "messages/complete", "custom"} <= {part.event for part in parts}
    for shown in (parts, await ada.threads.get_history(id_), await ada.threads.get_state(id_)):
        assert "caf?" in str(shown)
        assert "\udce9" not in str(shown)


async def test_runs_are_cancelled_by_their_status(ada: Client) -> None:
    """Those of one thread; no other run ends."""
    id_ = (await ada.threads.create())["thread_id"]
    first = await ada.runs.create(id_, "agent", input=chat_input(), config=SLOW)
    waits = await ada.runs.create(id_, "agent", input=chat_input())
    async with asyncio.timeout(20):
        while (await ada.runs.get(id_, first["run_id"]))["status"] != "running":  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    async def statuses() -> list[str]:
        return [(await ada.runs.get(id_, run["run_id"]))["status"] for run in (first, waits)]

    await ada.http.post("/runs/cancel", json={"thread_id": id_, "status": "pending"})
    assert await statuses() == ["running", "interrupted"]
    with pytest.raises(UnprocessableEntityError):
        await ada.http.post("/runs/cancel", json={"status": "running"})
    rolled = {"thread_id": id_, "status": "running"}
    await ada.http.post("/runs/cancel", json=rolled, params={"action": "rollback"})
    left = [run["run_id"] for run in await ada.runs.list(id_)]
    assert left == [waits["run_id"]]


async def test_no_run_is_rolled_back_before_another_one_that_waits(ada: Client) -> None:
    """It would continue from the state that is taken back. Both remain."""
    id_ = (await ada.threads.create())["thread_id"]
    first = await ada.runs.create(id_, "agent", input=chat_input(), config=SLOW)
    waits = await ada.runs.create(id_, "agent", input=chat_input())
    with pytest.raises(ConflictError, match=waits["run_id"]):
        await ada.runs.cancel(id_, first["run_id"], action="rollback")
    assert {run["status"] for run in await ada.runs.list(id_)} <= {"running", "pending"}
    await ada.runs.cancel_many(thread_id=id_, status="all", action="rollback")
    assert await ada.runs.list(id_) == []


async def test_only_the_last_runs_of_a_thread_are_rolled_back(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later one continued from the state of an earlier one: nothing changes, whenever it came."""
    id_ = (await ada.threads.create())["thread_id"]
    runs = []
    for text in ("one", "two", "three"):
        runs.append((await ada.runs.create(id_, "agent", input=chat_input(text)))["run_id"])
        await ada.runs.join(id_, runs[-1])

    async def texts() -> list[str]:
        messages = (await ada.threads.get_state(id_))["values"]["messages"]
        return [one["content"] for one in messages if one["type"] == "human"]

    for earlier in runs[:2]:
        with pytest.raises(UnprocessableEntityError, match=f"run {runs[2]} continued.*{earlier}"):
            await ada.runs.cancel(id_, earlier, action="rollback")
    assert (len(await ada.runs.list(id_)), await texts()) == (3, ["one", "two", "three"])
    await ada.runs.cancel(id_, runs[2], action="rollback")
    assert await texts() == ["one", "two"]

    end = TenantGraphRuns._end  # noqa: SLF001 (the moment between its checks)

    async def ends_late(self: Any, key: Any) -> None:  # noqa: ANN401
        await end(self, key)
        await ada.runs.wait(id_, "agent", input=chat_input("four"))

    monkeypatch.setattr(TenantGraphRuns, "_end", ends_late)
    with pytest.raises(UnprocessableEntityError, match=f"continued.*{runs[1]}"):
        await ada.runs.cancel(id_, runs[1], action="rollback")
    assert await texts() == ["one", "two", "four"]


async def test_a_client_that_leaves_may_end_its_run(ada: Client) -> None:
    """If the client requests it; by default the run continues."""
    for leave, statuses in (("cancel", {"interrupted"}), ("continue", {"running"})):
        id_ = (await ada.threads.create())["thread_id"]
        stream = ada.runs.stream(
            id_,
            "agent",
            input=chat_input(),
            config=SLOW,
            on_disconnect=leave,
            stream_mode="messages-tuple",
        )
        async for part in stream:
            if part.event == "messages":
                break
        await stream.aclose()
        async with asyncio.timeout(20):
            while (await ada.runs.list(id_))[0]["status"] not in statuses:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        await ada.threads.delete(id_)


async def test_a_run_starts_later(ada: Client) -> None:
    """It is pending until then."""
    id_ = (await ada.threads.create())["thread_id"]
    run = await ada.runs.create(id_, "counting", input={"count": 1}, after_seconds=2)
    assert (await ada.runs.get(id_, run["run_id"]))["status"] == "pending"
    assert (await ada.runs.join(id_, run["run_id"]))["count"] == 2
    far = await ada.runs.create(id_, "counting", input={"count": 1}, after_seconds=3600)
    await ada.runs.cancel(id_, far["run_id"], wait=True)
    assert (await ada.runs.get(id_, far["run_id"]))["status"] == "interrupted"


async def test_a_question_is_answered(ada: Client) -> None:
    """A graph of one's own interrupts, and a command resumes it; a wrong graph fails as a run."""
    id_ = (await ada.threads.create())["thread_id"]
    values = await ada.runs.wait(id_, "asking", input={"count": 1})
    assert values["__interrupt__"][0]["value"] == {"ask": 1}
    thread = await ada.threads.get(id_)
    assert thread["status"] == "interrupted"
    assert [one for task in thread["interrupts"].values() for one in task]
    values = await ada.runs.wait(id_, "asking", command={"resume": 41})
    assert values["count"] == 42
    assert (await ada.threads.get_state(id_))["next"] == []
    failed = await ada.runs.wait(None, "broken", input={"count": 1}, raise_error=False)
    assert failed["__error__"]["message"]
    seen = [part async for part in ada.runs.stream(None, "broken", input={"count": 1})]
    assert seen[-1].event == "error"


async def test_a_graph_sees_the_store_of_its_owner(ada: Client, bob: Client) -> None:
    """What a client put there; and a client finds what it put."""
    await ada.store.put_item(("users", "u1"), "k", {"likes": "tea", "n": 3})
    item = await ada.store.get_item(("users", "u1"), "k")
    assert item["value"] == {"likes": "tea", "n": 3}
    values = await ada.runs.wait(None, "counting", input={"count": 1})
    assert values["seen"] == [{"likes": "tea", "n": 3}]
    assert (await ada.store.get_item(("graph",), "count"))["value"] == {"count": 1}
    found = await ada.store.search_items(("users",), filter={"n": {"$gt": 2}})
    assert [one["key"] for one in found["items"]] == ["k"]
    assert (await ada.store.search_items(("users",), filter={"n": 4}))["items"] == []
    spaces = (await ada.store.list_namespaces(max_depth=1))["namespaces"]
    assert spaces == [["graph"], ["users"]]
    assert (await bob.store.search_items(()))["items"] == []
    with pytest.raises(NotFoundError):
        await bob.store.get_item(("users", "u1"), "k")
    for namespace in (("a", ""), ("langgraph",)):
        with pytest.raises(UnprocessableEntityError):
            await ada.store.put_item(namespace, "k", {})
    await ada.store.delete_item(("users", "u1"), "k")
    with pytest.raises(NotFoundError):
        await ada.store.get_item(("users", "u1"), "k")


async def test_owners_see_nothing_of_each_other(ada: Client, bob: Client, served: Served) -> None:
    """Another's thread, run and assistant are not there; the same id is a thread of one's own."""
    id_ = str(uuid4())
    await ada.threads.create(thread_id=id_, metadata={"secret": "s"})
    run = await ada.runs.create(id_, "agent", input=chat_input("secret"))
    await ada.runs.join(id_, run["run_id"])
    before = (await ada.threads.get(id_))["metadata"]
    mine = await ada.assistants.create(graph_id="agent", name="mine")
    paths = [
        ("GET", f"/threads/{id_}"),
        ("PATCH", f"/threads/{id_}"),
        ("DELETE", f"/threads/{id_}"),
        ("POST", f"/threads/{id_}/copy"),
        ("GET", f"/threads/{id_}/state"),
        ("POST", f"/threads/{id_}/state"),
        ("POST", f"/threads/{id_}/history"),
        ("GET", f"/threads/{id_}/history"),
        ("GET", f"/threads/{id_}/stream"),
        ("GET", f"/threads/{id_}/runs"),
        ("POST", f"/threads/{id_}/runs"),
        ("POST", f"/threads/{id_}/runs/wait"),
        ("POST", f"/threads/{id_}/runs/stream"),
        ("GET", f"/threads/{id_}/runs/{run['run_id']}"),
        ("GET", f"/threads/{id_}/runs/{run['run_id']}/join"),
        ("GET", f"/threads/{id_}/runs/{run['run_id']}/stream"),
        ("POST", f"/threads/{id_}/runs/{run['run_id']}/cancel"),
        ("DELETE", f"/threads/{id_}/runs/{run['run_id']}"),
        ("GET", f"/assistants/{mine['assistant_id']}"),
        ("PATCH", f"/assistants/{mine['assistant_id']}"),
        ("DELETE", f"/assistants/{mine['assistant_id']}"),
        ("GET", f"/assistants/{mine['assistant_id']}/graph"),
    ]
    bob_s = {"X-Api-Key": "bob-s-key"}
    with httpx2.Client(base_url=served.url, timeout=30) as http:
        for method, path in paths:
            body = {"assistant_id": "agent", "values": {}} if method in {"POST", "PATCH"} else None
            answer = http.request(method, path, json=body, headers=bob_s)
            assert answer.status_code == 404, (method, path, answer.text)
            assert "secret" not in answer.text
            assert http.request(method, path, json=body).status_code == 401, path
        assert http.get("/ok").json() == {"ok": True}
        assert http.get("/info").status_code == 401
    assert id_ not in {one["thread_id"] for one in await bob.threads.search(limit=100)}
    await bob.threads.create(thread_id=id_)
    assert (await bob.threads.get_state(id_))["values"] == {}
    assert (await ada.threads.get(id_))["metadata"] == before


async def test_a_config_cannot_name_another_owner(ada: Client, bob: Client) -> None:
    """What only the gateway sets is not taken from a request."""
    id_ = (await bob.threads.create())["thread_id"]
    await bob.runs.wait(id_, "agent", input=chat_input("of bob"))
    mine = (await ada.threads.create())["thread_id"]
    stolen = {"configurable": {"owner": "bob", "thread_id": id_, "__pregel_read": 1}}
    values = await ada.runs.wait(mine, "agent", input=chat_input("mine"), config=stolen)
    assert "of bob" not in str(values)
    assert len((await bob.threads.get_state(id_))["values"]["messages"]) == 2


async def test_threads_of_stateless_runs_are_deleted(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few at each next one, once their streams had time to be read; `keep` keeps them."""
    monkeypatch.setattr("thalweg_server.app.runs._READ_MS", 0)
    kept = await ada.runs.create(None, "counting", input={"count": 1}, on_completion="keep")
    gone = await ada.runs.create(None, "counting", input={"count": 1})
    for run in (kept, gone):
        await ada.runs.join(run["thread_id"], run["run_id"])
    for _ in range(20):  # those of other tests are older
        await ada.runs.wait(None, "counting", input={"count": 1})
        if not await ada.threads.search(ids=[gone["thread_id"]]):
            break
    with pytest.raises(NotFoundError):
        await ada.threads.get(gone["thread_id"])
    assert (await ada.threads.get(kept["thread_id"]))["status"] == "idle"


async def test_a_stream_of_a_thread_has_its_later_runs(ada: Client) -> None:
    """Until the client disconnects."""
    id_ = (await ada.threads.create())["thread_id"]
    stream = await ada.threads.join_stream(id_)
    first = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0.3)
    run = await ada.runs.create(id_, "agent", input=chat_input(), stream_mode="values")
    part = await asyncio.wait_for(first, 20)
    assert (part.event, part.data["run_id"]) == ("metadata", run["run_id"])
    await stream.aclose()


async def test_a_webhook_gets_the_run(ada: Client) -> None:
    """After its end; only at hosts that the settings name, or that are public."""
    got: list[dict[str, Any]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        port = server.server_address[1]
        url = f"http://127.0.0.1:{port}/done"
        await ada.runs.wait(None, "counting", input={"count": 1}, webhook=url)
        async with asyncio.timeout(20):
            while not got:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        server.shutdown()
    assert [(one["status"], one["values"]["count"]) for one in got] == [("success", 2)]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("/done", "not an address of http or https"),
        ("ftp://a.example/", "not an address of http or https"),
        ("http://a.example/\x01", "not an address of http or https"),
        ("http://a.example:99999/", "Port out of range"),
        ("http://[::1/", "Invalid IPv6 URL"),
        ("http://a..example/", "label"),
        (f"http://{'a' * 70}.example/", "label"),
        ("http://localhost/done", "on a private network; add it to gateway.webhook_hosts"),
    ],
)
async def test_a_webhook_that_cannot_be_sent_is_refused(
    ada: Client, url: str, problem: str
) -> None:
    """Before anything is started, by runs and by crons."""
    id_ = (await ada.threads.create())["thread_id"]
    for create in (partial(ada.runs.create, id_), partial(ada.crons.create, schedule="0 9 * * *")):
        with pytest.raises(UnprocessableEntityError, match=f"webhook: .*{problem}"):
            await create(assistant_id="counting", input={"count": 1}, webhook=url)
    assert await ada.runs.list(id_) == []
    assert await ada.crons.search() == []


async def test_a_name_that_is_resolved_to_a_private_address_gets_no_webhook(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless the settings have it; the connection goes to the address that was resolved."""
    place = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.7", 80))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [place])
    with pytest.raises(ConfigError, match=r"hooks\.example is on a private network"):
        await checked_address("http://hooks.example/done", ())
    address, headers, _ = await checked_address("http://hooks.example/done", ["hooks.example"])
    assert (address, headers) == ("http://10.0.0.7:80/done", {"Host": "hooks.example"})


async def test_a_search_by_values_reads_no_more_states_than_it_needs(
    cleo: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to its page, in its order; what has to read too many is refused."""
    ids = [(await cleo.threads.create(graph_id="counting"))["thread_id"] for _ in range(6)]
    for k, id_ in enumerate(ids):
        await cleo.threads.update_state(id_, {"count": k % 2}, as_node="step")
    read: list[str] = []
    snapshot = TenantGraphThreads.snapshot

    async def counted(self: Any, thread: str) -> Any:  # noqa: ANN401 (LangGraph's)
        read.append(thread)
        return await snapshot(self, thread)

    monkeypatch.setattr(TenantGraphThreads, "snapshot", counted)
    search = partial(
        cleo.threads.search, values={"count": 1}, sort_by="created_at", sort_order="asc"
    )
    found = await search(limit=1, select=["thread_id"])
    assert ([one["thread_id"] for one in found], read) == ([ids[1]], ids[:4])
    found = await search(limit=2, offset=1, select=["thread_id"])
    assert [one["thread_id"] for one in found] == [ids[3], ids[5]]
    assert await cleo.threads.count(values={"count": 1}) == 3
    monkeypatch.setattr(graph_threads, "MOST_STATES", 4)
    assert len(await search(limit=1)) == 1
    for refused in (search(limit=2), cleo.threads.count(values={"count": 1})):
        with pytest.raises(
            UnprocessableEntityError,
            match="4 states at most, and 6 threads match the rest; add ids, metadata",
        ):
            await refused
    assert await cleo.threads.count(values={"count": 1}, metadata={"graph_id": "none"}) == 0


@pytest.mark.parametrize(
    "invalid",
    [
        {"assistant_id": "nobody"},
        {"assistant_id": "agent", "config": {"configurable": {"model": "nobody"}}},
        {"assistant_id": "counting", "webhook": "/done"},
    ],
)
async def test_a_batch_with_an_invalid_run_starts_none(
    cleo: Client, invalid: dict[str, Any]
) -> None:
    """A client that sends it again would have the others twice."""
    count = await cleo.threads.count()
    valid = {"assistant_id": "counting", "input": {"count": 1}, "on_completion": "keep"}
    with pytest.raises((NotFoundError, UnprocessableEntityError)):
        await cleo.runs.create_batch([valid, invalid])
    assert await cleo.threads.count() == count
    made = await cleo.runs.create_batch([valid, valid])
    assert await cleo.threads.count() == count + len(made)


async def test_a_thread_has_one_status_wherever_it_is_read(ada: Client) -> None:
    """Busy while any of its runs works, also if the newest one has ended."""
    id_ = (await ada.threads.create(metadata={"of": "status"}))["thread_id"]
    first = await ada.runs.create(id_, "agent", input=chat_input(), config=SLOW)
    waits = await ada.runs.create(id_, "agent", input=chat_input())
    await ada.runs.cancel(id_, waits["run_id"], wait=True)
    (found,) = await ada.threads.search(metadata={"of": "status"})
    assert (found["status"], (await ada.threads.get(id_))["status"]) == ("busy", "busy")
    await ada.runs.cancel(id_, first["run_id"], wait=True)
    (found,) = await ada.threads.search(metadata={"of": "status"})
    assert (found["status"], (await ada.threads.get(id_))["status"]) == ("idle", "idle")


async def test_requests_at_once_keep_the_limit_of_streams(tmp_path: Path) -> None:
    """A stream counts before its run starts; a request that is refused for another reason not."""
    with gateway(settings(tmp_path, keys=KEYS, max_streams=1)) as served:
        headers = {"Authorization": "Bearer ada-s-key"}
        async with httpx2.AsyncClient(base_url=served.url, headers=headers, timeout=60) as http:
            body = {"assistant_id": "agent", "input": chat_input(), "on_disconnect": "cancel"}
            missing = {**body, "assistant_id": "none"}
            assert (await http.post("/runs/stream", json=missing)).status_code == 404

            async def status() -> int:
                async with http.stream("POST", "/runs/stream", json=body | {"config": SLOW}) as one:
                    if one.is_success:
                        await asyncio.sleep(1)
                    return one.status_code

            statuses = await asyncio.gather(*(status() for _ in range(4)))
    assert sorted(statuses) == [200, 429, 429, 429]


async def test_waits_count_toward_max_streams(tmp_path: Path) -> None:
    """A client that waits for a run holds a connection, as a stream does."""
    with gateway(settings(tmp_path, keys=KEYS, max_streams=1)) as served:
        headers = {"Authorization": "Bearer ada-s-key"}
        async with httpx2.AsyncClient(base_url=served.url, headers=headers, timeout=60) as http:
            body = {"assistant_id": "agent", "input": chat_input(), "config": SLOW}
            run = (await http.post("/runs", json=body)).json()
            thread, id_ = run["thread_id"], run["run_id"]
            place = f"/threads/{thread}/runs/{id_}"
            chat = {"model": "slow", **chat_input()}
            async with http.stream("GET", f"{place}/join") as joined:
                refused = [
                    await http.get(f"{place}/join"),
                    await http.get(f"/api{place}/wait"),
                    await http.post(f"/threads/{thread}/runs/wait", json=body),
                    await http.post("/v1/chat/completions", json=chat),
                ]
                runs = (await http.get(f"/threads/{thread}/runs")).json()
                refused.append(await http.post(f"{place}/cancel?wait=true"))  # it is cancelled
                await joined.aread()
            ended = await http.get(f"/api{place}")
    assert joined.status_code == 200
    assert [(one.status_code, one.json()["code"]) for one in refused] == [
        (429, "stream.too_many")
    ] * 5
    assert [(one["run_id"], one["status"]) for one in runs] == [(id_, "running")]
    assert ended.json()["status"] == "cancelled"


async def test_delayed_runs_keep_the_limit_of_runs_at_once(tmp_path: Path) -> None:
    """They would all start at one time; until then they take no place of other runs."""
    with gateway(settings(tmp_path, keys=KEYS, limits={"runs_at_once": 2})) as served:
        headers = {"Authorization": "Bearer ada-s-key"}
        async with httpx2.AsyncClient(base_url=served.url, headers=headers, timeout=60) as http:
            body = {"assistant_id": "agent", "input": chat_input()}
            later = {**body, "after_seconds": 3600}
            delayed = [await http.post("/runs", json=later) for _ in range(3)]
            values = await http.post("/runs/wait", json=body)
            first = delayed[0].json()
            await http.post(f"/threads/{first['thread_id']}/runs/{first['run_id']}/cancel")
            again = await http.post("/runs", json=later)
    assert [one.status_code for one in delayed] == [200, 200, 429]
    assert delayed[-1].json()["code"] == "limit.runs_at_once"
    assert values.json()["messages"]
    assert again.status_code == 200


INVALID_MESSAGES = [
    {"type": "tool", "content": "x"},
    {"type": "ai", "content": "x", "tool_calls": "none"},
]


@pytest.mark.parametrize("message", INVALID_MESSAGES)
async def test_wrong_messages_are_refused(ada: Client, message: dict[str, str]) -> None:
    """In a state with its status, in a list or alone; in an input as the problem of the run."""
    id_ = (await ada.threads.create())["thread_id"]
    for messages in ([message], message):
        with pytest.raises(ConflictError):
            await ada.threads.update_state(id_, {"messages": messages})
    run = await ada.runs.create(id_, "agent", input={"messages": [message]})
    end = await ada.runs.join(id_, run["run_id"])
    assert "input.messages" in end["__error__"]["message"]


async def test_listing_runs_reads_only_the_requested_page(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request may have megabytes."""
    id_ = (await ada.threads.create())["thread_id"]
    far = {"input": {"count": 1}, "after_seconds": 3600}
    runs = [(await ada.runs.create(id_, "counting", **far))["run_id"] for _ in range(4)]
    await ada.runs.cancel(id_, runs[1], wait=True)
    limits, listed = [], Journal.list

    def spy(self: Journal, *names: Any, limit: int, **more: Any) -> Any:  # noqa: ANN401 (as it is)
        limits.append(limit)
        return listed(self, *names, limit=limit, **more)

    monkeypatch.setattr(Journal, "list", spy)
    found = await ada.runs.list(id_, limit=2, offset=1)
    stopped = await ada.runs.list(id_, limit=2, status="interrupted")
    assert [one["run_id"] for one in found] == [runs[2], runs[1]]
    assert [one["run_id"] for one in stopped] == [runs[1]]
    assert limits[0] == 3
    await ada.threads.delete(id_)


async def test_a_new_run_waits_for_few_deletions(tmp_path: Path) -> None:
    """Of threads of earlier stateless runs; one that still has a run stops none of the others."""
    run = GraphRun(graph="counting", input={"count": 1})
    made = settings(tmp_path).model_dump(mode="json")
    own = [{"name": "counting", "graph": "server_tests.gateway.own_graphs:counting"}]
    async with open_app(Settings.from_mapping({**made, "agents": own}), home=tmp_path) as app:
        runs, documents = app.tenant("ada").graph_runs, app.parts.registry.documents
        far = await runs.start(None, run, is_temporary=True, after_s=3600)
        for _ in range(7):
            await runs.wait(await runs.start(None, run, is_temporary=True))
        left = []
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("thalweg_server.app.runs._READ_MS", -1)
            for _ in range(4):
                await runs.delete_temporary()
                left.append([one.name for one in documents.list("ada", TEMPORARY)])
    assert [len(names) for names in left] == [5, 2, 1, 1]
    assert left[-1] == [far.key.thread]
