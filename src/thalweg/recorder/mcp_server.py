"""The recorder as an MCP server: tools and resources for any agent that speaks the protocol."""

from typing import Annotated
from urllib.parse import quote, unquote

from mcp.server.fastmcp import FastMCP
from pydantic import Field

from thalweg.archive import ThreadKey
from thalweg.engine.prompts import prompt
from thalweg.recorder.answers import Answers
from thalweg.recorder.sessions import list_sessions

_RESOURCE = "thalweg://thread/{name}"
NEWEST = 50
"""Threads that the server lists as resources."""


def make_server(answers: Answers, *, host: str = "127.0.0.1", port: int = 8_000) -> FastMCP:
    """Make the server; `run("stdio")` or `run("streamable-http")` serves it.

    Args:
        answers: What its tools answer.
        host: Where HTTP is served.
        port: Likewise.
    """
    server = FastMCP(
        "thalweg", prompt("mcp_instructions").render(), host=host, port=port, log_level="WARNING"
    )
    _add_tools(server, answers)
    _add_resources(server, answers)
    return server


def _add_tools(server: FastMCP, answers: Answers) -> None:
    @server.tool(description=prompt("mcp_recall").render())
    def recall(
        query: str = "",
        handle: str = "",
        scope: Annotated[str, Field(pattern="^(project|all)$")] = "project",
        lines: tuple[int, int] | None = None,
        chars: tuple[int, int] | None = None,
        path: str = "",
    ) -> str:
        return answers.recall(
            query, handle, everywhere=scope == "all", lines=lines, chars=chars, path=path
        )

    @server.tool(description=prompt("mcp_history").render())
    def history(
        file: str = "",
        command: str = "",
        words: str = "",
        errors: bool = False,  # noqa: FBT001, FBT002 (a field of the tool's schema)
    ) -> str:
        return answers.history(file, command, words, errors=errors)

    @server.tool(description=prompt("mcp_remember").render())
    def remember(statement: str) -> str:
        return answers.remember(statement)

    @server.tool(description=prompt("recall_memory_tool").render())
    def recall_memory(query: str) -> str:
        return answers.recall_memory(query)

    @server.tool(description=prompt("mcp_report").render())
    def context_report(thread: str = "") -> str:
        return answers.context_report(thread)


def _add_resources(server: FastMCP, answers: Answers) -> None:
    @server.resource(_RESOURCE, name="thread", mime_type="text/plain")
    def read_thread(name: str) -> str:
        thread = unquote(name)
        last = answers.archive.length(ThreadKey(answers.owner, thread)) - 1
        return answers.recall(reference=f"{thread}#0-{max(0, last)}")

    @server.resource("thalweg://threads", name="threads", mime_type="text/plain")
    def list_threads() -> str:
        sessions = sorted(
            list_sessions(answers.archive, answers.owner), key=lambda pair: pair[1].ended_at
        )
        return "\n".join(
            f"{_RESOURCE.format(name=quote(thread, safe=''))} {session.ended_at} {session.title}"
            for thread, session in reversed(sessions[-NEWEST:])
        )
