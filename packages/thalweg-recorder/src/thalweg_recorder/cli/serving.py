"""`thalweg mcp`: recorded sessions and memory as an MCP server."""

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.shared_options import single_command
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Scope
from thalweg_memory.handle import Memory
from thalweg_memory.opening import open_memory
from thalweg_recorder import open_recorder
from thalweg_recorder.answers import Answers
from thalweg_recorder.cli.options import Owner, Place
from thalweg_recorder.place import recorder_place


@single_command
def mcp(
    *,
    http: Annotated[
        bool, typer.Option("--http", help="Streamable HTTP at /mcp instead of stdio.")
    ] = False,
    port: Annotated[int, typer.Option(metavar="N", help="With --http: the port.")] = 8_765,
    project: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="The folder that the agent works in. Default: this one."),
    ] = None,
    archive: Place = None,
    owner: Owner = "local",
) -> None:
    """Serve recorded sessions and memory to an agent over MCP.

    Tools: recall, history, remember, recall_memory, context_report. Answers are bounded, marked as
    data and without secrets. HTTP is served on 127.0.0.1 alone.
    """
    from thalweg_recorder.mcp_server import make_server  # noqa: PLC0415 (the SDK of MCP)

    address = archive or str(recorder_place())
    with open_recorder(archive) as opened, open_memory(address) as store:
        memory = Memory(store, Scope(owner), settings=MemorySettings())
        folder = str((project or Path()).absolute())
        answers = Answers(opened, memory, folder, owner)
        make_server(answers, port=port).run("streamable-http" if http else "stdio")
