"""An agent's context besides messages: date, uploads, tasks; and that it is shown as sent."""

import itertools
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from server_tests.e2e.talkers import settings
from server_tests.e2e.test_app import say
from thalweg.archive import ThreadKey, open_archive, open_existing
from thalweg.archive.threads.contexts import context_at
from thalweg.cli.thread.text import render_context
from thalweg.context.middleware import ContextMiddleware
from thalweg.testing import ScriptedModel
from thalweg_agent import create_deep_agent
from thalweg_agent.backends import FilesystemBackend
from thalweg_agent.middleware.run_context import RunContextMiddleware
from thalweg_server.app import open_app

MONDAY = date(2026, 11, 23)


class Clock:
    """A calendar that is turned by hand."""

    def __init__(self) -> None:
        self.day = MONDAY

    def __call__(self) -> date:
        """Return the day that it shows."""
        return self.day


def texts(messages: Sequence[BaseMessage]) -> list[str]:
    return [message.text for message in messages]


def test_a_run_keeps_its_date_over_midnight_and_the_next_has_the_new_one(tmp_path: Path) -> None:
    """The provider's cache holds while tools are at work, even if the date changes."""
    clock, systems = Clock(), list[str]()

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        systems.append(messages[0].text)
        if messages[-1].type == "tool":
            return "Done."
        clock.day += timedelta(days=1)
        call = {"name": "write_todos", "args": {"todos": []}, "id": f"c{len(systems)}"}
        return AIMessage("", tool_calls=[call])

    agent = create_deep_agent(
        ScriptedModel(script=script),
        middleware=[RunContextMiddleware(today=clock)],
        checkpointer=InMemorySaver(),
        archive=tmp_path / "a.db",
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    for said in ("one", "two"):
        agent.invoke({"messages": [("user", said)]}, config)
    first, same, second, last = systems
    assert first.endswith("Current date: 2026-11-23 (Monday)")
    assert same == first
    assert second == last == first.replace("2026-11-23 (Monday)", "2026-11-24 (Tuesday)")


@pytest.mark.parametrize("folds", [False, True])
def test_a_task_is_named_in_the_next_run_even_after_a_compaction(
    tmp_path: Path, *, folds: bool
) -> None:
    sent: list[list[str]] = []

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        sent.append(texts(messages))
        if messages[-1].text == "Look up the tides.":
            return "High water is at 7."
        if messages[-1].text == "Delegate it.":
            asked = {"description": "tides", "prompt": "Look up the tides."}
            return AIMessage("", tool_calls=[{"name": "task", "args": asked, "id": "c1"}])
        return "word " * 400

    trigger = {
        "trigger": {"type": "messages", "value": 6},
        "keep": {"type": "messages", "value": 2},
    }
    agent = create_deep_agent(
        ScriptedModel(script=script),
        context={"summarize": False, **(trigger if folds else {})},
        checkpointer=InMemorySaver(),
        archive=tmp_path / "a.db",
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    for said in ("Delegate it.", *(f"Question {number}?" for number in range(8))):
        agent.invoke({"messages": [("user", said)]}, config)
    after = [request for request in sent if request[-1].startswith("Question")]
    assert all("High water is at 7." in "\n".join(request) for request in after)
    told = [text for text in after[0] if text.startswith("<run-context>")]
    assert len(told) == 1
    assert "general-purpose: tides (completed) High water is at 7." in told[0]
    if not folds:
        for before, now in itertools.pairwise(after):
            assert now[: len(before)] == before  # told once, and the prefix only grows


def test_no_date_and_no_tasks_cost_nothing(tmp_path: Path) -> None:
    """Other agents have the middleware by its name, with as much of it as they want."""
    seen: list[list[str]] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        seen.append(texts(messages))
        return "Hi."

    with open_archive(tmp_path / "a.db") as archive:
        context = ContextMiddleware(archive=archive)
        middleware: list[Any] = [RunContextMiddleware(today=None), context]
        agent: Any = create_agent(ScriptedModel(script=script), middleware=middleware)
        agent.invoke({"messages": [("user", "Hello.")]}, {"configurable": {"thread_id": "t"}})
    assert seen == [["Hello."]]


@pytest.mark.anyio
async def test_an_upload_is_named_once_and_the_list_is_the_one_that_people_see(
    tmp_path: Path,
) -> None:
    async with open_app(settings(memory={"enabled": True}), home=tmp_path) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "Hello.")
        await ada.files.upload("t1", "note.csv", b"a,b\n1,2\n")
        await say(ada, "t1", "Summarise my file, please.")
        first = await ada.threads.context("t1")
        await say(ada, "t1", "And now?")
        second = await ada.threads.context("t1")
        listed = {one.part: one for one in second.additions}
        assert listed["uploads"].about == "/uploads/note.csv, /uploads/note.csv.md"
        assert listed["uploads"].position is not None
        assert listed["date"].about.startswith("20")
        assert "Current date: " in second.system
        assert [one.part for one in second.additions].count("uploads") == 1
        assert [one for one in second.additions if one in first.additions] == list(first.additions)
        assert (
            sum(one.tokens for one in second.additions if one.position is None)
            == second.sections["system"]
        )
    with open_existing(tmp_path / "thalweg.db") as archive:  # what `thalweg thread show` opens
        shown = "\n".join(render_context(context_at(archive, ThreadKey("ada", "t1"))))
    assert all(f"{one.part:<14}{one.tokens:>7,}" in shown for one in second.additions)


def test_images_that_were_read_are_in_the_state_and_a_subagents_are_its_own(tmp_path: Path) -> None:
    """Their bytes are not: those are in the messages, and in the archive."""
    image = b"\x89PNG\r\n\x1a\n" + bytes(64)
    for name in ("ours.png", "its.png"):
        (tmp_path / name).write_bytes(image)

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        newest = messages[-1]
        if newest.type == "tool":
            return "Done."
        name, args = "read_file", {"file_path": f"/{newest.text}"}
        if newest.text == "delegate":
            name, args = "task", {"description": "its.png", "prompt": "its.png"}
        return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c-{newest.text}"}])

    agent = create_deep_agent(
        ScriptedModel(script=script),
        backend=FilesystemBackend(tmp_path, virtual_mode=True),
        checkpointer=InMemorySaver(),
        archive=tmp_path / "a.db",
    )
    config: Any = {"configurable": {"thread_id": "t"}}
    agent.invoke({"messages": [("user", "ours.png")]}, config)
    result = agent.invoke({"messages": [("user", "delegate")]}, config)
    assert result["viewed_images"] == {"/ours.png": {"mime_type": "image/png"}}


@pytest.mark.anyio
async def test_an_agent_knows_the_place_of_its_user(tmp_path: Path) -> None:
    async with open_app(settings(), home=tmp_path) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "Hello.", place="/home/ada/boat, project boat (pyproject.toml)")
        sent = await ada.threads.context("t1")
        assert "/home/ada/boat, project boat" in sent.system
        assert [one.part for one in sent.additions][-2:] == ["place", "date"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
