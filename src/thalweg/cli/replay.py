"""`thalweg replay`: recorded threads under one or more policies, offline."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from thalweg.context.budget import Budget
from thalweg.context.pricing import TARIFFS
from thalweg.errors import ConfigError
from thalweg.recordings.files import find_recordings
from thalweg.recordings.sessions import coding_sessions
from thalweg.replay.fleet import Order, Outcome, replay_all
from thalweg.replay.policies import POLICIES
from thalweg.replay.report import write_report
from thalweg.replay.sample import sample_path
from thalweg.replay.table import LEGEND, as_table


def replay(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]...",
            help="Recordings: files, folders or globs; the format is detected. Without one, the "
            "sessions that coding agents keep on this machine, or a sample.",
        ),
    ] = None,
    *,
    window: Annotated[int, typer.Option(help="Tokens the model accepts.")] = 128_000,
    policy: Annotated[
        str, typer.Option(help=f"One or more of {', '.join(POLICIES)}, separated by commas.")
    ] = "thalweg,deepagents",
    prices: Annotated[str, typer.Option(help=f"One of {', '.join(TARIFFS)}.")] = "anthropic",
    newest: Annotated[
        int, typer.Option(help="Without PATH: how many sessions, newest first.", min=1)
    ] = 5,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object with every figure.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report to look at.")
    ] = None,
    timing: Annotated[
        bool, typer.Option(help="With --json: measured times, all that differs between two runs.")
    ] = True,
) -> None:
    """Replay recorded threads under one or more policies and report what it did to them.

    Nothing is sent anywhere and no model is needed. Exit code 2 when something could not be
    replayed; what could be is reported all the same.
    """
    order = _order(paths, window, policy, prices, newest)
    outcome = _run(order)
    for failure in outcome.failures:
        sys.stderr.write(f"thalweg: {failure}\n")
    if not outcome.runs:
        raise typer.Exit(2)
    if as_json:
        runs = [run.to_json(timing=timing) for run in outcome.runs]
        sys.stdout.write(json.dumps({"runs": runs}, indent=1) + "\n")
    else:
        console = Console(width=None if sys.stdout.isatty() else 160)
        console.print(as_table(outcome.runs))
        console.print(f"\n{LEGEND}", style="dim", width=100)
    if html is not None:
        _report(outcome, html, quiet=as_json)
    if outcome.failures:
        raise typer.Exit(2)


def _order(paths: list[str] | None, window: int, policy: str, prices: str, newest: int) -> Order:
    names = tuple(dict.fromkeys(name.strip() for name in policy.split(",") if name.strip()))
    for name in names:
        if name not in POLICIES:
            known = ", ".join(POLICIES)
            raise ConfigError("--policy", f"there is no policy {name!r}", f"use {known}")
    if not names:
        raise ConfigError("--policy", "no policy is named", f"use {', '.join(POLICIES)}")
    if prices not in TARIFFS:
        raise ConfigError("--prices", f"there are none of {prices!r}", f"use {', '.join(TARIFFS)}")
    try:
        budget = Budget(window=window)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise ConfigError("--window", problem, "use a larger window") from None
    found = find_recordings(paths) if paths else _without_path(newest)
    return Order(tuple(found), names, budget, TARIFFS[prices])


def _without_path(newest: int) -> list[Path]:
    sessions = coding_sessions(Path.home())
    if not sessions:
        sys.stderr.write(
            "No PATH given, and no sessions of Claude Code, Codex, Gemini CLI or pi in "
            f"{Path.home()}: replaying the sample that ships with Thalweg.\n"
        )
        return [sample_path()]
    chosen = sessions[:newest]
    sys.stderr.write(
        f"No PATH given: found {len(sessions)} sessions of coding agents on this machine; "
        f"replaying the newest {len(chosen)} (--newest):\n"
    )
    sys.stderr.writelines(f"  {path}\n" for path in chosen)
    return chosen


def _run(order: Order) -> Outcome:
    console = Console(stderr=True)
    with Progress(
        TextColumn("replaying"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task("", total=len(order.paths))
        return replay_all(
            order,
            tell=lambda path: progress.update(task, advance=1, description=path.name),
        )


def _report(outcome: Outcome, html: Path, *, quiet: bool) -> None:
    write_report(outcome.runs, html)
    line = f"Report: {html}\n"
    (sys.stderr if quiet else sys.stdout).write(line)
