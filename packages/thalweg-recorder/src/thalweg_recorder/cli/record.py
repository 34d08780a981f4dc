"""`thalweg record`: the group of the recorder's commands, each imported when it is called."""

import sys
from collections.abc import Sequence
from functools import partial
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Final

from thalweg.cli.parsing import CommandParser
from thalweg_recorder.cli.commands_table import FORMER_NAMES

COMMANDS: Final = {
    "on": ("thalweg_recorder.cli.installing:install", "Record coding agents from now on."),
    "off": ("thalweg_recorder.cli.installing:uninstall", "Take the recorder out of the agents."),
    "import": ("thalweg_recorder.cli.importing:import_sessions", "Import sessions of agents."),
    "list": ("thalweg_recorder.cli.listing:sessions", "List imported sessions."),
    "search": ("thalweg_recorder.cli.searching:search", "Search all imported sessions."),
    "forget": ("thalweg_recorder.cli.forgetting:forget", "Forget imported sessions for good."),
    "mcp": ("thalweg_recorder.cli.serving:mcp", "Serve recorded sessions to agents over MCP."),
}
"""Where each command is, and its line of the help."""


def record(arguments: Sequence[str], prog_name: str = "thalweg record") -> int:
    """Record the sessions of coding agents, and read them back."""
    lines = [(name, about) for name, (_, about) in COMMANDS.items()]
    parser = CommandParser(prog_name, record.__doc__ or "", {"": lines})
    options = parser.parse_args(arguments)
    if options.command is None:
        return parser.print_missing()
    if options.command not in COMMANDS:
        raise parser.unknown(options.command, COMMANDS)
    return _run(options.command, options.arguments, prog_name)


def _run(name: str, arguments: Sequence[str], prog_name: str) -> int:
    return resolve_name(COMMANDS[name][0])([*arguments], prog_name=f"{prog_name} {name}") or 0


def _run_former(former: str, arguments: Sequence[str], prog_name: str = "") -> int:
    del prog_name
    name = FORMER_NAMES[former]
    sys.stderr.write(f"`thalweg {former}` is now `thalweg record {name}`.\n")
    return _run(name, arguments, "thalweg record")


former = SimpleNamespace(**{name: partial(_run_former, name) for name in FORMER_NAMES})
"""The former commands."""
