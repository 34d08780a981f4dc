"""`thalweg record search`: passages of all sessions, or a list of the sessions."""

from dataclasses import asdict
from typing import Annotated

import typer

from thalweg.archive import open_existing
from thalweg.cli.printing import fold, print_result
from thalweg.cli.shared_options import AsJson, single_command
from thalweg.engine.transcript import printable
from thalweg_recorder.cli.listing import print_sessions
from thalweg_recorder.cli.options import Agent, Owner, Place, Project, Since, Until
from thalweg_recorder.place import recorder_place
from thalweg_recorder.searching import SearchFilter, render_found, search_sessions


@single_command
def search(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="WORDS", help="A question or some words, any language."),
    ] = None,
    *,
    also: Annotated[
        list[str] | None, typer.Option(metavar="WORDS", help="The same in other words.")
    ] = None,
    project: Project = "",
    agent: Agent = "",
    since: Since = "",
    until: Until = "",
    file: Annotated[
        str, typer.Option(metavar="PATH", help="Messages that name this file, or part of its path.")
    ] = "",
    command: Annotated[
        str, typer.Option(metavar="TEXT", help="Messages with this part of a command.")
    ] = "",
    errors: Annotated[bool, typer.Option("--errors", help="Results that are errors.")] = False,
    max_tokens: Annotated[
        int, typer.Option(metavar="N", help="Limit of the output.", min=1)
    ] = 3_000,
    archive: Place = None,
    owner: Owner = "local",
    as_json: AsJson = False,
) -> None:
    """Find passages in all sessions, best first; without words, list the sessions, newest last.

    `thalweg thread show ID --messages --archive ADDRESS` prints a session. Each hit begins with its
    reference: the thread and the position of the message in it. Passages of the messages around
    it follow, each with its own position.

    In the list, the cost is the agent's reported usage, each answer at today's prices of its
    model; `-` if it did not report or a price is unknown. In the total an answer that a forked
    session repeats counts once. With --json it is an object with `sessions` and `total`; with words
    the object has `passages`.
    """
    only = SearchFilter(
        project=project,
        agent=agent,
        since=since,
        until=until,
        file=file,
        command=command,
        errors=errors,
    )
    with open_existing(archive or recorder_place()) as opened:
        if not words and not also and not only.names_messages:
            print_sessions(opened, only, owner, as_json=as_json)
            return
        query = [" ".join(words or ()), *(also or ())]
        found = search_sessions(opened, query, only, owner=owner, max_tokens=max_tokens)
        nothing = "No message of these sessions has these words."
        if not found and search_sessions(opened, query, only, owner=owner):
            nothing = f"No hit fits into {max_tokens:,} tokens: the default is 3,000."
    plain = [{**(fields := asdict(one)).pop("passage"), **fields} for one in found]
    lines = [part for line in printable(render_found(found)).splitlines() for part in fold(line)]
    print_result(lines, {"passages": plain}, as_json=as_json, empty_message=nothing)
