"""`thalweg record mcp` with the protocol's own client."""

import sys
from pathlib import Path

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent

from recorder_tests.e2e.test_cli import environment
from recorder_tests.unit.recorder.sessions import KEY, import_one, numbered, write
from thalweg_recorder import open_recorder

TOOLS = {"recall", "history", "remember", "recall_memory", "context_report"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with open_recorder(tmp_path / "a.db") as archive:
        import_one(archive, write(tmp_path, numbered([1, 2])))
    return tmp_path / "a.db"


async def _ask(session: ClientSession) -> None:
    """Use the server as an agent does."""
    opened = await session.initialize()
    assert "recall" in (opened.instructions or "")
    assert {tool.name for tool in (await session.list_tools()).tools} == TOOLS
    (found,) = (await session.call_tool("recall", {"query": "request", "scope": "all"})).content
    assert isinstance(found, TextContent)
    assert f"{KEY.thread}#1 user\n" in found.text
    assert "(2026-11-23 10:00 · request 1 · /src/shop)" in found.text
    (line,) = (
        await session.call_tool("recall", {"handle": f"{KEY.thread}#1", "lines": "[1, 1]"})
    ).content
    assert isinstance(line, TextContent)
    assert "request 2" in line.text
    refused = await session.call_tool("recall", {"scope": "nowhere"})
    assert refused.isError
    (wrong,) = refused.content
    assert isinstance(wrong, TextContent)
    assert "scope" in wrong.text
    (threads,) = (await session.list_resources()).resources
    (listed,) = (await session.read_resource(threads.uri)).contents
    address = str(getattr(listed, "text", "")).splitlines()[1].split()[0]
    (read,) = (await session.read_resource(address)).contents  # type: ignore[arg-type]  # parsed there
    assert "request 1" in str(getattr(read, "text", ""))


def test_an_agent_asks_over_stdio(place: Path) -> None:
    command = ["-m", "thalweg", "record", "mcp", "--archive", str(place)]
    server = StdioServerParameters(command=sys.executable, args=command, env=environment())

    async def run() -> None:
        async with stdio_client(server) as streams, ClientSession(*streams) as session:
            await _ask(session)

    anyio.run(run)
