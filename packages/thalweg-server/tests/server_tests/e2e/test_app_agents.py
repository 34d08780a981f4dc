"""From settings to an agent: tools, servers of tools, skills, subagents, the shell, a reload."""

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from langchain_mcp_adapters.client import MultiServerMCPClient

from server_tests.e2e.talkers import settings
from server_tests.e2e.test_app import answer, say
from thalweg.errors import NoSuchSkillError
from thalweg_server.api.runs import NewRun
from thalweg_server.app import agent_tools as app_tools
from thalweg_server.app import open_app
from thalweg_server.settings.sections import McpServer

pytestmark = pytest.mark.anyio
SERVER = str(Path(__file__).with_name("whispering_server.py"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_server_of_tools_is_used_and_one_that_is_gone_costs_its_tools_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    servers = {
        "here": {"command": sys.executable, "args": [SERVER]},
        "gone": {"command": "/nowhere/at/all"},
        "dead": {"url": "http://127.0.0.1:9/mcp"},
    }
    with caplog.at_level(logging.WARNING, "thalweg.server.app"):
        async with open_app(settings(mcp_servers=servers), home=tmp_path) as app:
            ada = app.tenant("ada")
            assert answer(await say(ada, "t1", "use whisper LOUD")) == "The tool said: loud"
            assert answer(await say(ada, "t1", "use whisper AGAIN")) == "The tool said: again"
    told = " ".join(record.getMessage() for record in caplog.records)
    assert "gone" in told
    assert "dead" in told


async def test_a_server_of_tools_that_died_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_tools, "PING_S", 0.05)
    monkeypatch.setattr(app_tools, "AGAIN_S", 0.0)
    servers = {"here": {"command": sys.executable, "args": [SERVER]}}
    async with open_app(settings(mcp_servers=servers), home=tmp_path) as app:
        ada = app.tenant("ada")
        assert answer(await say(ada, "t1", "use whisper LOUD")) == "The tool said: loud"
        await say(ada, "t2", "use leave now")
        for number in range(100):
            events = await say(ada, f"u{number}", "use whisper AGAIN")
            if events[-1].type == "run.completed" and answer(events) == "The tool said: again":
                break
            await asyncio.sleep(0.1)
        else:
            pytest.fail("its tools did not come back")


async def test_a_server_that_does_not_answer_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A cancellation while its process starts would leave streams of `mcp` open.
    monkeypatch.setattr(app_tools, "PATIENCE_S", 3.0)
    monkeypatch.setattr(app_tools, "AGAIN_S", 0.0)
    started = tmp_path / "started"
    program = f"import time; open({str(started)!r}, 'a').write('.'); time.sleep(600)"
    servers = {"hangs": {"command": sys.executable, "args": ["-c", program]}}
    async with open_app(settings(mcp_servers=servers), home=tmp_path) as app:
        agents = await app.parts.agents()
        made = await agents.of(app.settings)
        monkeypatch.setattr(app_tools, "PATIENCE_S", 3_600.0)
        async with asyncio.timeout(60):
            for _ in range(10):
                assert await agents.of(app.settings) is made
            while started.stat().st_size < 2:  # noqa: ASYNC110 (written by another process)
                await asyncio.sleep(0.05)


async def test_a_connection_whose_library_cancels_it_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its task goes on; `close` still ends it."""
    attempts = []

    @asynccontextmanager
    async def session(_: MultiServerMCPClient, name: str) -> AsyncIterator[None]:
        attempts.append(name)
        if attempts:
            raise asyncio.CancelledError
        yield

    monkeypatch.setattr(MultiServerMCPClient, "session", session)
    monkeypatch.setattr(app_tools, "AGAIN_S", 0.0)
    tools = app_tools.McpTools()
    async with asyncio.timeout(60):
        assert await tools.of({"cancels": McpServer(url="http://127.0.0.1:9/mcp")}) == []
        while len(attempts) < 3:  # noqa: ASYNC110 (counted by another task)
            await asyncio.sleep(0.01)
        await tools.close()


async def test_an_attempt_that_does_not_end_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @asynccontextmanager
    async def session(*_: object) -> AsyncIterator[None]:
        try:
            await asyncio.sleep(3_600)
            yield
        finally:
            await asyncio.sleep(3_600)

    monkeypatch.setattr(MultiServerMCPClient, "session", session)
    monkeypatch.setattr(app_tools, "PATIENCE_S", 0.1)
    monkeypatch.setattr(app_tools, "_CLOSE_S", 0.1)
    tools = app_tools.McpTools()
    async with asyncio.timeout(60):
        for _ in range(2):
            assert await tools.of({"hangs": McpServer(url="http://127.0.0.1:9/mcp")}) == []
        await tools.close()


async def test_skills_are_mounted_to_be_read_and_subagents_have_their_share(tmp_path: Path) -> None:
    for name in ("pdf", "csv"):
        folder = tmp_path / "skills" / name
        folder.mkdir(parents=True)
        front = f"---\nname: {name}\ndescription: How to work with {name} files.\n---\n"
        (folder / "SKILL.md").write_text(f"{front}# All about {name}\n")
    given = settings(
        skills={"paths": [str(tmp_path / "skills")]},
        subagents={
            "agents": [
                {"name": "reader", "description": "Reads files.", "skills": ["pdf"]},
                {"name": "general-purpose", "max_turns": 5},
            ]
        },
    )
    async with open_app(given, home=tmp_path / "home") as app:
        ada = app.tenant("ada")
        assert [skill.name for skill in (await ada.skills.list()).items] == ["csv", "pdf"]
        assert "All about pdf" in ((await ada.skills.get("pdf")).text or "")
        with pytest.raises(NoSuchSkillError):
            await ada.skills.get("none")
        await say(ada, "t1", "hello")
        context = await ada.threads.context("t1")
        assert "How to work with csv files." in context.system
        assert "Reads files." in json.dumps(context.tools)


async def test_what_cannot_be_made_is_told_when_it_is_asked_for(tmp_path: Path) -> None:
    tools = [{"name": "odd", "use": "server_tests.e2e.talkers:nothing_there"}]
    async with open_app(settings(tools=tools), home=tmp_path) as app:
        ada = app.tenant("ada")
        run = await ada.runs.start("t1", NewRun(message="hello"))
        done = await ada.runs.wait("t1", run.id)
        assert done.problem is not None
        assert done.problem.code == "config"
        assert "tools.odd" in done.problem.detail


async def test_a_file_that_changes_changes_the_next_run(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    base = {"memory": {"enabled": False}}

    def write(name: str) -> None:
        model = {"name": name, "use": "server_tests.e2e.talkers:Talker", "window": 32_000}
        file.write_text(json.dumps({**base, "models": [model]}))

    write("one")
    async with open_app(file, home=tmp_path / "home") as app:
        ada = app.tenant("ada")
        assert [one.name for one in (await ada.models.list()).items] == ["one"]
        first = await say(ada, "t1", "hello")
        write("other")
        assert [one.name for one in (await ada.models.list()).items] == ["other"]
        second = await say(ada, "t1", "hello again")
        assert [getattr(events[0], "model", "") for events in (first, second)] == ["one", "other"]
        assert answer(second) == "You said: hello again. Before it: 1 requests."
        file.write_text("models: [")
        assert [one.name for one in (await ada.models.list()).items] == ["other"]
        health = await app.health()
        assert health.status == "ok"
        assert {one.name: one.status for one in health.checks}["settings"] == "failed"


async def test_health_names_what_a_restart_applies(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("{}")
    async with open_app(file, home=tmp_path / "home") as app:
        file.write_text("gateway: {max_runs: 3, max_streams: 4}")
        assert app.settings.gateway.max_streams == 4
        checks = {one.name: one for one in (await app.health()).checks}
    settings_check = checks["settings"]
    expected = ("ok", "a restart applies gateway.max_runs")
    assert (settings_check.status, settings_check.detail) == expected


async def test_commands_run_where_the_files_of_the_thread_are(tmp_path: Path) -> None:
    models = [{"name": "m", "use": "server_tests.e2e.talkers:Lister", "window": 32_000}]
    given = settings(models=models, sandbox={"use": "host"})
    async with open_app(given, home=tmp_path) as app:
        ada = app.tenant("ada")
        await say(ada, "t1", "write it")
        events = await say(ada, "t1", "list")
        assert "a.txt" in answer(events)
        assert "a.txt" not in answer(await say(ada, "t2", "list"))
