"""`thalweg record`: the group of the recorder's commands, each imported when it is called."""

from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Final

from thalweg.cli.parsing import CommandParser

COMMANDS: Final = {
    "on": ("thalweg_recorder.cli.installing:install", "Record coding agents from now on."),
    "off": ("thalweg_recorder.cli.installing:uninstall", "Take the recorder out of the agents."),
    "import": ("thalweg_recorder.cli.importing:import_sessions", "Import sessions of agents."),
    "search": (
        "thalweg_recorder.cli.searching:search",
        "Search imported sessions; without words, list them.",
    ),
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
    place, _ = COMMANDS[options.command]
    command = resolve_name(place)
    return command([*options.arguments], prog_name=f"{prog_name} {options.command}") or 0
