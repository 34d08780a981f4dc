"""`thalweg record on` and `thalweg record off`: the recorder in coding agents."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from thalweg.cli.confirmation import UNCHANGED, confirm
from thalweg.cli.home import home_folder, user_folder
from thalweg.cli.printing import fold, print_lines
from thalweg.cli.shared_options import Yes, single_command
from thalweg.engine.transcript import printable
from thalweg.errors import ConfigError
from thalweg_recorder.installing import (
    MOVED,
    FileChange,
    apply_changes,
    commands_for,
    installed_folders,
    pick_agents,
    plan_install,
    plan_uninstall,
)
from thalweg_recorder.proving import prove
from thalweg_recorder.recordings.agents import Machine

Agents = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        metavar="NAME",
        help="claude-code, codex, gemini-cli or opencode; may be repeated. Default: all that are "
        "used here.",
    ),
]


@single_command
def install(*, agent: Agents = None, yes: Yes = False) -> None:
    """Record the sessions of coding agents from now on, and let the agents read them.

    Adds hooks, which copy new rows into the archive and pass the agent a summary after a
    compaction, and the MCP server. Shows each change and asks; `thalweg record off` reverts it.
    """
    if os.name != "posix":
        what, problem = "thalweg record on", "hooks need POSIX"
        raise ConfigError(what, problem, "run `thalweg record import` from time to time")
    machine = Machine(home_folder())
    agents = pick_agents(machine, agent or ())
    if not agents:
        sys.stderr.write(f"No agent is installed in {home_folder()}; name one with --agent.\n")
        raise typer.Exit(2)
    folder = user_folder().absolute()
    _perform(plan_install(machine, folder, agents), yes=yes, installs=True)
    (folder / MOVED).unlink(missing_ok=True)
    print_lines(one.note for one in agents if one.note)
    if problems := [*prove(commands_for(folder))]:
        sys.stderr.writelines(f"thalweg: {printable(problem)}\n" for problem in problems)
        raise typer.Exit(2)
    names = ", ".join(one.title for one in agents)
    seen = "an event passed the hook and was recorded, the MCP server answered a question"
    more = "`thalweg record import` reads earlier ones, `thalweg doctor` shows the state"
    print_lines(fold(f"Sessions of {names} are recorded from now on: {seen}; {more}."))


@single_command
def uninstall(*, agent: Agents = None, yes: Yes = False) -> None:
    """Remove the recorder from coding agents; recorded sessions are kept.

    A configuration that was not changed since is restored, byte for byte.
    """
    folder = user_folder().absolute()
    machine = Machine(home_folder())
    agents = pick_agents(machine, agent or [*installed_folders(folder)])
    _perform(plan_uninstall(machine, folder, agents), yes=yes, installs=False)


def _perform(changes: Sequence[FileChange], *, yes: bool, installs: bool) -> None:
    if not changes:
        print_lines(["Nothing to change."])
        return
    print_lines(printable(change.diff) for change in changes)
    confirm("Make these changes?", "to make them", yes=yes, refusal_text=UNCHANGED)
    apply_changes(user_folder().absolute(), changes, installs=installs)
    print_lines([f"Changed {change.path}" for change in changes])
