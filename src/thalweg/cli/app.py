"""The commands, each loaded when it is called.

The names and one line of each are data here, so that `--help` and `--version` load none of them.
"""

from collections.abc import Callable
from importlib.metadata import version as installed_version
from pkgutil import resolve_name
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

COMMANDS: Final = {
    "chat": ("chat:chat", "Chat with an agent in the terminal."),
    "import": ("recorder.importing:import_sessions", "Import sessions of coding agents."),
    "search": ("recorder.searching:search", "Search all imported sessions."),
    "sessions": ("recorder.listing:sessions", "List imported sessions."),
    "forget": ("recorder.forgetting:forget", "Forget imported sessions for good."),
    "install": ("recorder.installing:install", "Record coding agents from now on."),
    "uninstall": ("recorder.installing:uninstall", "Take the recorder out of coding agents."),
    "mcp": ("recorder.serving:mcp", "Serve recorded sessions to agents over MCP."),
    "replay": ("replay:replay", "Compare policies on recorded sessions: cost and losses."),
    "eval": ("eval:evaluate", "Test whether an agent keeps its goal and its details."),
    "serve": ("serve:serve", "Serve the HTTP API."),
    "prices": ("prices:prices", "Show what tokens cost."),
    "doctor": ("doctor:doctor", "Check this installation."),
    "config": ("config:config", "Check, show or write a configuration."),
    "model": ("model:model", "Download local models; list the models found."),
    "memory": ("memory:memory", "List, change or forget what is remembered."),
    "db": ("db:db", "Create and upgrade the tables in PostgreSQL."),
    "thread": ("thread:thread", "Inspect, undo, rewind or export a thread."),
}
"""Where a command is, below this package, and its line of the help; in the order of the help."""


def _typer(name: str | None = None, cls: type[TyperGroup] | None = None) -> typer.Typer:
    return typer.Typer(
        name=name,
        cls=cls,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        rich_markup_mode=None,
    )


class LazyGroup(TyperGroup):
    """The group of all commands."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002  # typer's own click
        """Return the names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ANN401, ARG002  # the same
        """Import a command, or return `None` if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        place, short_help = COMMANDS[cmd_name]
        found: typer.Typer | Callable[..., object] = resolve_name(f"thalweg.cli.{place}")
        parent = _typer()
        if isinstance(found, typer.Typer):
            parent.add_typer(found, name=cmd_name, short_help=short_help)
        else:
            parent.command(cmd_name, short_help=short_help)(found)
        parent.callback()(lambda: None)
        group = typer.main.get_group(parent)
        return group.commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002  # the same
        """Write the names with a line of each."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


app = _typer("thalweg", LazyGroup)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 (typer calls it so)
    if wanted:
        typer.echo(f"thalweg {installed_version('thalweg')}")
        raise typer.Exit


@app.callback()
def _thalweg(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Conversations and tasks of any length inside a model's window, with nothing lost.

    Start with `thalweg chat`; `thalweg replay` needs no model, no key and no network.
    """
    del version
