"""`thalweg record import`: sessions of coding agents into the archive."""

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.home import home_folder, user_folder
from thalweg.cli.printing import count, print_result
from thalweg.cli.progress import progress_bar
from thalweg.cli.shared_options import AsJson, single_command
from thalweg.engine.transcript import printable
from thalweg_recorder import Imported, open_recorder
from thalweg_recorder import import_sessions as import_into
from thalweg_recorder.cli.options import Owner, Place
from thalweg_recorder.forgotten import ForgottenNames
from thalweg_recorder.hook import LOG
from thalweg_recorder.installing import installed_folders
from thalweg_recorder.recordings import coding_sessions, find_recordings
from thalweg_recorder.recordings.agents import Machine

MOST_KINDS = 20
"""Kinds of rows that the answer names."""


@single_command
def import_sessions(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Recorded threads: files, folders or globs; the format is detected. Without one: "
            "the sessions of the coding agents on this machine.",
        ),
    ] = None,
    *,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            help="Exclude sources and projects of this path (`*`, `?`, `[…]`); may be repeated.",
        ),
    ] = None,
    archive: Place = None,
    owner: Owner = "local",
    as_json: AsJson = False,
) -> None:
    """Import sessions of coding agents into the archive; only new messages are added.

    Nothing that was imported is lost when a source is truncated, rewritten or deleted. Secrets
    are redacted. A project with a file .thalweg-off is skipped. New messages are indexed for
    search. Exit code 2 when a PATH could not be read; the others are imported all the same.
    """
    machine, folder = Machine(home_folder()), user_folder()
    if paths:
        found = find_recordings(paths)
    else:
        work_off(folder)
        found = coding_sessions(machine, subagents=True, profiles=installed_folders(folder))
    if not found:
        sys.stderr.write(f"There are no sessions of coding agents in {machine.home}.\n")
        return
    with open_recorder(archive) as opened, progress_bar("importing", len(found)) as advance:
        results = []
        importing = import_into(
            opened,
            found,
            owner=owner,
            exclude=exclude or (),
            forgotten=ForgottenNames(folder),
        )
        for imported in importing:
            results.append(imported)
            advance(Path(imported.source).name)
        opened.update_index(owner)
    for imported in results:
        if imported.error:
            sys.stderr.write(f"thalweg: {printable(imported.error)}\n")
    print_result(_lines(results), {"sources": [asdict(one) for one in results]}, as_json=as_json)
    if paths and any(imported.error for imported in results):
        raise typer.Exit(2)


def work_off(folder: Path) -> None:
    """Import what hooks enqueued, failed events included."""
    if os.name != "posix":
        return
    from thalweg_recorder.worker import (  # noqa: PLC0415 (of POSIX alone)
        failed,
        requeue,
        waiting,
        work,
    )

    if waiting(folder) or failed(folder):
        requeue(folder)
        work(folder)
        for place, problem in ((waiting(folder), "wait"), (failed(folder), "failed")):
            if place:
                sys.stderr.write(
                    f"thalweg: {count(len(place), 'event')} {problem}; see {folder / LOG}\n"
                )


def _lines(results: Iterable[Imported]) -> Iterator[str]:
    results = list(results)
    new = [one for one in results if one.new]
    for one in new:
        yield f"{one.new:>7,}  {printable(one.thread)}"
    messages = sum(one.new for one in new)
    yield f"{messages:,} new messages in {len(new)} of {len(results)} sessions."
    left_out = sum((Counter(one.left_out) for one in results), Counter[str]())
    if left_out:
        shown = left_out.most_common(MOST_KINDS)
        kinds = ", ".join(f"{number:,} {printable(kind)}" for kind, number in shown)
        more = f" and {len(left_out) - len(shown)} more kinds" if len(left_out) > len(shown) else ""
        yield f"Rows that are no messages, left out: {kinds}{more}."
    for reason in dict.fromkeys(one.skipped for one in results if one.skipped):
        count = sum(one.skipped == reason for one in results)
        yield f"{count} {reason}."
