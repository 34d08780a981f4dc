"""An agent with a memory of its own: in the client, over HTTP, and in the context of its runs."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from server_tests.e2e.talkers import Talker
from thalweg_server.client import AsyncThalwegClient
from thalweg_server.gateway import create_app
from thalweg_server.settings import Settings


def repeated(messages: Sequence[BaseMessage]) -> str:
    """Answer with the text from memory, so that a run shows it."""
    told = [one.text for one in messages if one.type == "human" and "Remembered from" in one.text]
    return "\n".join(told) or "I know nothing of that."


class Repeater(Talker):
    """Returns the text from memory."""

    script = repeated


def settings(home: Path) -> Settings:
    model = {"name": "m", "use": "server_tests.e2e.test_agent_memory:Repeater", "window": 32_000}
    memory = {"enabled": True, "debounce_seconds": 0, "profile": False}
    return Settings.from_mapping(
        {"models": [model], "memory": memory, "storage": {"home": str(home)}}
    )


async def used(shared: AsyncThalwegClient, own: AsyncThalwegClient) -> dict[str, Any]:
    """Put one fact into each memory, and search both for it."""
    await shared.add_fact("User drinks green tea")
    await own.add_fact("User sails a small boat")
    of_both = [shared, own]
    seen: dict[str, Any] = {
        "facts": [[f["content"] for f in (await one.get_memory())["facts"]] for one in of_both],
        "tea": [await one.chat("Which tea do I drink?") for one in of_both],
        "boat": [await one.chat("Which boat do I sail?") for one in of_both],
    }
    await own.set_memory_mode("t1", "off")
    seen["off"] = await own.chat("Which boat do I sail?", "t1")
    return seen


def test_two_memories_of_one_owner_know_nothing_of_each_other(tmp_path: Path) -> None:
    async def in_process() -> dict[str, Any]:
        here = settings(tmp_path / "here")
        async with AsyncThalwegClient(here) as shared:
            await shared.add_fact("User drinks green tea")
        async with AsyncThalwegClient(here, agent="sailor") as own:
            await own.add_fact("User sails a small boat")
            facts = (await own.get_memory())["facts"]
            return {"facts": facts, "boat": await own.chat("Which boat do I sail?")}

    async def over_http() -> dict[str, Any]:
        app = create_app(settings(tmp_path / "http"))
        async with (
            AsyncThalwegClient(app) as shared,
            AsyncThalwegClient(app, agent="sailor") as own,
        ):
            return await used(shared, own)

    here = asyncio.run(in_process())
    assert [one["content"] for one in here["facts"]] == ["User sails a small boat"]
    assert "small boat" in here["boat"]
    seen = asyncio.run(over_http())
    assert seen["facts"] == [["User drinks green tea"], ["User sails a small boat"]]
    assert ["green tea" in answer for answer in seen["tea"]] == [True, False]
    assert ["small boat" in answer for answer in seen["boat"]] == [False, True]
    assert "small boat" not in seen["off"]


def test_a_thread_that_is_forgotten_is_forgotten_by_every_memory(tmp_path: Path) -> None:
    """The turns of a thread may be in the memory of any agent that answered in it."""

    async def scene() -> list[str]:
        app = create_app(settings(tmp_path))
        async with (
            AsyncThalwegClient(app) as shared,
            AsyncThalwegClient(app, agent="sailor") as own,
        ):
            await own.chat("My boat is called Amphitrite.", "t1")
            before = (await own.search_memory("boat called")).text
            await shared.delete_thread("t1", memory="forget")
            return [before, (await own.search_memory("boat called")).text]

    before, after = asyncio.run(scene())
    assert "Amphitrite" in before
    assert "Amphitrite" not in after


def system_prompt(messages: Sequence[BaseMessage]) -> str:
    """Answer with the system prompt."""
    return str(messages[0].text)


class Prompted(Talker):
    """Returns the system prompt."""

    script = system_prompt


def test_retrieval_of_the_documents_alone_has_their_block(tmp_path: Path) -> None:
    """Headings, confidences, best first, and a note about facts that do not fit."""
    model = {"name": "m", "use": "server_tests.e2e.test_agent_memory:Prompted", "window": 32_000}
    memory = {"retrieval": "seeds", "max_injection_tokens": 120, "profile": False}
    given = {"models": [model], "memory": memory, "storage": {"home": str(tmp_path)}}

    async def asked() -> str:
        async with AsyncThalwegClient(Settings.from_mapping(given)) as client:
            for number in range(20):
                content = f"Ada owns the thing with the number {number}"
                await client.add_fact(content, confidence=0.5 + number / 50)
            return await client.chat("Which things do I own?")

    prompt = asyncio.run(asked())
    block = prompt[prompt.index("<memory>") : prompt.index("</memory>")].splitlines()
    assert block[:3] == [
        "<memory>",
        "## Key Facts",
        "- Ada owns the thing with the number 19 (confidence: 0.88)",
    ]
    assert block[3].endswith("number 18 (confidence: 0.86)")
    assert block[-1] == "(Memory truncated to fit token limit)"
