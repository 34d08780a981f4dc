"""The plug-in point: `thalweg NAME` calls the command of that name of an installed package."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Final

from thalweg.cli.parsing import CommandParser
from thalweg.cli.plugins import InstalledCommand, installed_commands, write_warning
from thalweg.cli.printing import print_lines
from thalweg.errors import ConfigError

COMMANDS: Final = {
    "thread": ("thalweg.cli.thread:thread", "Inspect, undo, rewind or export a thread."),
    "prices": ("thalweg.cli.prices:prices", "Show what tokens cost."),
    "db": ("thalweg.cli.db:db", "Create tables in PostgreSQL; delete an owner's data."),
}
"""Where each command of the core is, and its line of the help; an entry point, as those of other
packages."""
HEADINGS: Final = {
    "See": ("replay", "thread", "ui", "prices", "doctor"),
    "Run": ("chat", "serve", "config", "memory", "eval", "db"),
    "Record coding agents": ("record",),
}
"""Commands by the heading of the help; a command of another package is below `More`."""
FORMER_COMMANDS: Final = {
    "forget": "record forget",
    "import": "record import",
    "install": "record on",
    "mcp": "record mcp",
    "search": "record search",
    "sessions": "record search",
    "uninstall": "record off",
    "config check": "config show",
    "config convert": "config init thalweg.yaml --from FILE",
    "db grants": "db status --role ROLE",
    "memory clear": "memory delete --all",
    "memory edit": "memory add --replace ID",
    "memory explain": "memory search --why",
    "memory forget": "memory delete --forever",
    "memory mode": "memory learn --thread ID --mode MODE",
    "memory reload": "memory show",
    "record list": "record search",
    "thread history": "thread show --messages",
    "thread read": "thread show ID HANDLE",
    "thread unpin": "thread pin --off",
}
"""Commands that others replace, with the one that the error names."""
ABOUT = "Threads of any length inside a model's window; what leaves it can be read back."


def run(arguments: Sequence[str]) -> int:
    """Find a command, import it and call it with the arguments that follow its name.

    Returns:
        The exit code.

    Raises:
        ConfigError: There is no such command, or its package is not installed.
        SystemExit: The help or the version was printed, or the command ends so.
    """
    commands = installed_commands()
    if not commands:
        write_warning("no commands are installed: install thalweg again, as docs/install.md says")
    parser = _parser(commands)
    options = parser.parse_args(arguments)
    if options.version:
        print_lines([f"thalweg {version('thalweg')}"])
        return 0
    if options.command is None:
        return parser.print_missing()
    for name in (options.command, f"{options.command} {_first_word(options.arguments)}"):
        if name in FORMER_COMMANDS and name not in commands:
            fix = f"use thalweg {FORMER_COMMANDS[name]}"
            raise ConfigError(name, "there is no such command any more", fix)
    if options.command not in commands:
        if any(options.command in names for names in HEADINGS.values()):
            problem = "the package of this command is not installed"
            raise ConfigError(options.command, problem, "docs/install.md has its name")
        raise parser.unknown(options.command, commands)
    return commands[options.command].run(options.arguments)


def _first_word(arguments: Sequence[str]) -> str:
    """Return the name of a command of a group, which options of the group may precede."""
    words = iter(arguments)
    for word in words:
        if not word.startswith("-"):
            return word
        if word not in {"--json", "--help"} and "=" not in word:
            next(words, None)  # its value
    return ""


def _parser(commands: dict[str, InstalledCommand]) -> CommandParser:
    headings = {name: heading for heading, names in HEADINGS.items() for name in names}
    help_groups: dict[str, list[tuple[str, str]]] = {}
    for name in dict.fromkeys([*headings, *commands]):
        if (command := commands.get(name)) and command.short_help:
            help_groups.setdefault(headings.get(name, "More"), []).append(
                (name, command.short_help)
            )
    parser = CommandParser("thalweg", ABOUT, help_groups)
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    return parser
