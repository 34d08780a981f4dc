"""The recorder as an MCP server: tools and resources for any agent that supports the protocol."""

from urllib.parse import quote, unquote

from mcp.server.fastmcp import FastMCP

from thalweg.archive import ThreadKey
from thalweg_memory.prompts import prompt as memory_prompt
from thalweg_recorder.answers import Answers
from thalweg_recorder.prompts import prompt
from thalweg_recorder.sessions import list_sessions

_RESOURCE = "thalweg://thread/{name}"
NEWEST = 50
"""Threads that the server lists as resources."""
_TOOLS = {
    "recall": prompt("mcp_recall"),
    "history": prompt("mcp_history"),
    "remember": prompt("mcp_remember"),
    "recall_memory": memory_prompt("recall_memory_tool"),
    "context_report": prompt("mcp_report"),
}
"""Methods of `Answers`, and the prompts that describe them."""


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
    for tool, description in _TOOLS.items():
        server.add_tool(getattr(answers, tool), description=description.render())
    _add_resources(server, answers)
    return server


def _add_resources(server: FastMCP, answers: Answers) -> None:
    @server.resource(_RESOURCE, name="thread", mime_type="text/plain")
    def read_thread(name: str) -> str:
        thread = unquote(name)
        last = answers.archive.length(ThreadKey(answers.owner, thread)) - 1
        return answers.recall(handle=f"{thread}#0-{max(0, last)}")

    @server.resource("thalweg://threads", name="threads", mime_type="text/plain")
    def list_threads() -> str:
        sessions = sorted(
            list_sessions(answers.archive, answers.owner), key=lambda pair: pair[1].ended_at
        )
        return "\n".join(
            f"{_RESOURCE.format(name=quote(thread, safe=''))} {session.ended_at} {session.title}"
            for thread, session in reversed(sessions[-NEWEST:])
        )
