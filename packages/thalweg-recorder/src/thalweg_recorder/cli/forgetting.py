"""`thalweg record forget`: remove imported sessions for good."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from thalweg.archive import open_existing
from thalweg.cli.confirmation import confirm
from thalweg.cli.home import user_folder
from thalweg.cli.printing import print_lines
from thalweg.cli.shared_options import Yes, single_command
from thalweg.database.erasure import erase_file
from thalweg.engine.transcript import printable
from thalweg.errors import ConfigError
from thalweg_recorder.cli.importing import work_off
from thalweg_recorder.cli.options import Agent, Owner, Place, Project, Since, Until
from thalweg_recorder.forgetting import forget as forget_threads
from thalweg_recorder.forgetting import plan_forgetting
from thalweg_recorder.forgotten import ForgottenNames
from thalweg_recorder.place import recorder_place
from thalweg_recorder.searching import SearchFilter


@single_command
def forget(
    threads: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Threads, as `thalweg record search` alone lists them."),
    ] = None,
    *,
    project: Project = "",
    agent: Agent = "",
    since: Since = "",
    until: Until = "",
    words: Annotated[
        str, typer.Option(metavar="TEXT", help="Sessions that contain this text.")
    ] = "",
    yes: Yes = False,
    archive: Place = None,
    owner: Owner = "local",
) -> None:
    """Forget whole sessions: messages, summaries and index, with their bytes.

    They are not imported again. The agent's own log is not touched: delete it, too.
    """
    only = SearchFilter(project=project, agent=agent, since=since, until=until)
    if not (threads or words or only.names_sessions):
        what, fix = "thalweg record forget", "name a thread, a project, an agent, a time or words"
        raise ConfigError(what, "nothing is chosen", fix)
    address = str(archive or recorder_place())
    with open_existing(address) as opened:
        found = plan_forgetting(opened, only, threads=threads or (), words=words, owner=owner)
        if not found:
            sys.stderr.write("There are no such sessions.\n")
            raise typer.Exit(2)
        print_lines(printable(thread) for thread in found)
        question, refused = f"Forget {len(found)} sessions?", "Nothing was forgotten."
        confirm(question, "to forget them", yes=yes, refusal_text=refused)
        freed = forget_threads(opened, found, ForgottenNames(user_folder()), owner=owner)
    print_lines([f"{len(found)} forgotten; {freed:,} bytes freed."])
    left = "" if "://" in address else erase_file(Path(address), sys.maxsize)
    if archive is None:
        work_off(user_folder())
    if left:
        sys.stderr.write(f"thalweg: {left}\n")
        raise typer.Exit(2)
