"""Memory of an application: by hand, from runs, and what learning costs."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from server_tests.e2e.talkers import Talker, settings
from server_tests.e2e.test_app import answer, say
from thalweg.errors import MemoryOffError, NoSuchFactError
from thalweg_memory import Memory
from thalweg_server.api.runs import NewRun
from thalweg_server.app import App, open_app
from thalweg_server.client import AsyncThalwegClient
from thalweg_server.gateway import create_app

pytestmark = pytest.mark.anyio
ON = {"enabled": True, "debounce_seconds": 0, "max_wait_seconds": 0, "profile": False}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def learned(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """Answer a question about facts with one, and anything else as it comes."""
    said = " ".join(str(one.text) for one in messages)
    if "facts" not in said or "User" not in said:
        return "Noted."
    item = {
        "content": "User lives in Lisbon",
        "category": "context",
        "confidence": 0.95,
        "quote": "I live in Lisbon",
        "messages": ["m1"],
        "source": "m1",
    }
    return json.dumps({"facts": [item]})


class Pupil(Talker):
    """Learns that a user lives in Lisbon."""

    script = learned


@asynccontextmanager
async def clients(app: App, *owners: str) -> AsyncIterator[list[AsyncThalwegClient]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(AsyncThalwegClient(create_app(app, owner=owner)))
            for owner in owners
        ]


async def test_facts_are_added_changed_found_and_taken_back(tmp_path: Path) -> None:
    async with (
        open_app(settings(memory=ON), home=tmp_path) as app,
        clients(app, "ada", "bob") as (ada, bob),
    ):
        fact = await ada.add_fact("User prefers tea to coffee")
        assert (fact.status, fact.confidence) == ("active", 1.0)
        assert [one.id for one in (await ada.list_facts()).items] == [fact.id]
        edited = await ada.edit_fact(fact.id, content="User prefers green tea")
        assert edited.content == "User prefers green tea"
        found = await ada.search_memory("Which tea do I like?")
        assert "green tea" in found.text
        assert (await ada.explain_memory("tea")).items
        document = await ada.get_memory()
        assert [one["content"] for one in document["facts"]] == ["User prefers green tea"]
        gone = await ada.delete_fact(fact.id)
        assert (await ada.list_facts()).items == ()
        await ada.undo_memory(gone.operation)
        assert (await ada.get_fact(fact.id)).content == "User prefers green tea"
        assert (await ada.memory_history()).items[0].operation > gone.operation
        assert (await bob.list_facts()).items == ()
        with pytest.raises(NoSuchFactError):
            await bob.get_fact(fact.id)
        forgotten = await ada.forget_memory(facts=[fact.id])
        assert forgotten.facts == 1
        with pytest.raises(NoSuchFactError):
            await ada.review_fact(fact.id, accept=True)


async def test_a_document_goes_out_and_comes_in(tmp_path: Path) -> None:
    async with (
        open_app(settings(memory=ON), home=tmp_path) as app,
        clients(app, "ada", "bob") as (ada, bob),
    ):
        await ada.add_fact("User lives in Berlin")
        whole = await ada.export_memory(shape="full")
        assert whole["facts"][0]["evidence"] == []
        assert await bob.import_memory(await ada.export_memory()) is not None
        assert [one.content for one in (await bob.list_facts()).items] == ["User lives in Berlin"]
        assert (await bob.clear_memory()) is not None
        assert await bob.clear_memory() is None
        assert (await bob.import_memory(whole)) is not None
        assert (await bob.get_memory_config())["max_facts"] == 100
        status = await ada.get_memory_status()
        assert set(status) == {"config", "data"}
        assert await ada.set_memory_mode("t3", "incognito") == "incognito"


async def test_the_document_on_disk_is_in_the_home_of_the_application(tmp_path: Path) -> None:
    async with (
        open_app(settings(memory={**ON, "storage": "json"}), home=tmp_path) as app,
        clients(app, "local") as (local,),
    ):
        await local.add_fact("User lives in Berlin")
        place = tmp_path / "memory.json"
        told = json.loads(place.read_text())
        told["facts"][0]["content"] = "User lives in Munich"
        place.write_text(json.dumps(told))
        document = await local.reload_memory()
        assert [one["content"] for one in document["facts"]] == ["User lives in Munich"]


async def test_a_run_is_told_what_is_known_and_says_so(tmp_path: Path) -> None:
    async with open_app(settings(memory=ON), home=tmp_path) as app:
        ada = app.tenant("ada")
        await ada.memory.ask(Memory.remember, "User prefers tea to coffee")
        events = await say(ada, "t1", "What do I prefer, tea or coffee?")
        assert "thalweg.memory.told" in [getattr(event, "kind", "") for event in events]
        sent = await ada.threads.context("t1")
        assert sent.sections.get("memory", 0) > 0
        hidden = await say(ada, "t2", "What do I prefer, tea or coffee?", memory="off")
        assert "thalweg.memory.told" not in [getattr(event, "kind", "") for event in hidden]


async def test_what_was_said_is_learned_and_what_that_cost_is_told(tmp_path: Path) -> None:
    models = [{"name": "pupil", "use": "server_tests.e2e.test_app_memory:Pupil", "window": 32_000}]
    async with open_app(settings(memory=ON, models=models), home=tmp_path) as app:
        ada = app.tenant("ada")
        run = await ada.runs.start("t1", NewRun(message="By the way, I live in Lisbon."))
        await ada.runs.wait("t1", run.id)
        for _ in range(200):
            usage = await ada.usage.thread("t1")
            if "memory" in usage.callers:
                break
            await asyncio.sleep(0.1)
        assert usage.callers["memory"].calls >= 1
        assert usage.total.calls == sum(one.calls for one in usage.callers.values())
        assert (await ada.usage.owner()).threads["t1"].calls == usage.total.calls


async def test_memory_that_is_off_changes_nothing(tmp_path: Path) -> None:
    async with open_app(settings(), home=tmp_path) as app:
        ada = app.tenant("ada")
        assert answer(await say(ada, "t1", "hello")).startswith("You said: hello")
        with pytest.raises(MemoryOffError):
            await ada.memory.ask(Memory.remember, "User likes tea")
