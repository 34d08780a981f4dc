"""`thalweg record mcp`: recorded sessions and memory as an MCP server."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.cli.parsing import argument, single_command
from thalweg_recorder.mcp_stdio import serve_process

if TYPE_CHECKING:
    from thalweg_recorder.answers import Answers


@single_command(
    argument("--project", metavar="PATH", help="The folder the agent works in. Default: this one."),
    argument(
        "--archive",
        metavar="ADDRESS",
        help="The archive: a file or a database. Default: thalweg.db in the folder THALWEG_HOME, "
        "or in ~/.thalweg.",
    ),
    argument("--owner", metavar="NAME", default="local", help="Whose threads. Default: local."),
)
def mcp(options: Namespace) -> None:
    """Serve recorded sessions and memory to an agent over MCP, on stdin and stdout.

    Tools: recall, history, remember, recall_memory, context_report. Answers are bounded, marked as
    data and without secrets.
    """
    serve_process(lambda: _open_answers(options))


@contextmanager
def _open_answers(options: Namespace) -> Iterator["Answers"]:
    # Imported here: over stdio, the tools are listed before anything that searches is loaded.
    from thalweg_memory.facts.settings import MemorySettings  # noqa: PLC0415
    from thalweg_memory.facts.values import Scope  # noqa: PLC0415
    from thalweg_memory.handle import Memory, open_memory  # noqa: PLC0415
    from thalweg_recorder.answers import Answers  # noqa: PLC0415
    from thalweg_recorder.place import open_recorder, recorder_place  # noqa: PLC0415

    address = options.archive or str(recorder_place())
    with open_recorder(options.archive) as archive, open_memory(address) as store:
        memory = Memory(store, Scope(options.owner), settings=MemorySettings())
        folder = str(Path(options.project or "").absolute())
        yield Answers(archive, memory, folder, options.owner)
