"""The recorder as an MCP server over HTTP, by the protocol's SDK."""

from mcp.server.fastmcp import FastMCP

from thalweg_recorder.answers import Answers
from thalweg_recorder.mcp_stdio import DESCRIPTIONS, THREAD_URI, THREADS_URI
from thalweg_recorder.prompts import prompt


def make_server(answers: Answers, *, host: str = "127.0.0.1", port: int = 8_000) -> FastMCP:
    """Make the server; `run("streamable-http")` serves it.

    Args:
        answers: What its tools answer.
        host: The address it listens at.
        port: Its port.
    """
    server = FastMCP(
        "thalweg", prompt("mcp_instructions").render(), host=host, port=port, log_level="WARNING"
    )
    for tool, description in DESCRIPTIONS.items():
        server.add_tool(
            getattr(answers, tool), description=description.render(), structured_output=False
        )
    for uri, name, read in (
        (THREADS_URI, "threads", answers.list_threads),
        (THREAD_URI + "{name}", "thread", answers.read_thread),
    ):
        server.resource(uri, name=name, mime_type="text/plain")(read)
    return server
