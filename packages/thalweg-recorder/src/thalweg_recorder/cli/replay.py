"""`thalweg replay`: recorded threads under one or more policies, offline."""

import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from thalweg.cli.home import home_folder
from thalweg.cli.printing import fold, print_json, print_lines, print_note
from thalweg.cli.progress import progress_bar
from thalweg.cli.shared_options import AsJson, bounded, single_command
from thalweg.cli.values import parse_names
from thalweg.engine.pricing.table import TARIFFS
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.sections import name_choices_remedy
from thalweg.engine.window.budget import Budget
from thalweg.errors import ConfigError
from thalweg_recorder.cli.replay_table import as_lines
from thalweg_recorder.pages import check_place
from thalweg_recorder.recordings.agents import Machine
from thalweg_recorder.recordings.files import file_of, find_recordings
from thalweg_recorder.recordings.sessions import coding_sessions
from thalweg_recorder.replay.fleet import USUAL_WINDOW, FleetOutcome, ReplayOrder, replay_all
from thalweg_recorder.replay.policies import FIXED, POLICIES, parse_policy
from thalweg_recorder.replay.report import write_report
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.sample import sample_path
from thalweg_recorder.replay.verdict import verdict

USUAL_POLICIES = "thalweg,deepagents"
REPORT_NAME = "thalweg-report.html"
"""File of a report that is opened and has no name."""


@single_command
def replay(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH",
            help="Recorded threads: files, folders or globs; the format is detected. "
            "Without one: the sessions that coding agents keep on this machine, or else a sample.",
        ),
    ] = None,
    *,
    window: Annotated[
        int | None,
        typer.Option(
            metavar="TOKENS",
            help="What the model accepts, its answer included. Default: the window that the log "
            f"states, else that of the recorded model, or {USUAL_WINDOW:,} if it is unknown.",
            callback=bounded,
        ),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help=f"One or more of {', '.join(POLICIES)}, separated by commas; deepagents, deerflow "
            f"and langchain are models of these systems. With @0.5 {', '.join(FIXED)} acts at half "
            "the window. `recorded` is what the agent that wrote a log really did. "
            f"Default: {USUAL_POLICIES}, and recorded where a log of an agent states its usage.",
        ),
    ] = "",
    prices: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help=f"Prices: one or more of {', '.join(TARIFFS)}, separated by commas. "
            "Default: those of the recorded model, or Anthropic's if it is unknown.",
        ),
    ] = "",
    newest: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Without PATH: number of sessions, newest first.",
            min=1,
            callback=bounded,
        ),
    ] = 5,
    as_json: AsJson = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a report for a browser.")
    ] = None,
    show: Annotated[
        bool,
        typer.Option(
            "--open", help=f"Open the report in a browser; without --html it is {REPORT_NAME}."
        ),
    ] = False,
) -> None:
    """Replay recorded threads under one or more policies; report cost and losses.

    Nothing is sent anywhere and no model is needed. Exit code 2 when a PATH could not be
    replayed; the others are reported all the same.
    """
    order = _order(paths, window, policy, tariffs_named(prices), newest)
    html = html or (Path(REPORT_NAME) if show else None)
    if html is not None:
        check_place(html, map(file_of, order.paths))
    with progress_bar("replaying", len(order.paths)) as advance:
        outcome = replay_all(order, on_done=lambda path: advance(path.name))
    for failure in outcome.failures:
        sys.stderr.write(f"thalweg: {failure}\n")
    if not outcome.runs:
        raise typer.Exit(2)
    if html is not None:
        write_report(named_with_prices(outcome.runs), html)
    print_outcome(outcome, as_json=as_json)
    if html is not None:
        (sys.stderr if as_json else sys.stdout).write(f"\nReport: {html}\n")
        if show and not webbrowser.open(html.resolve().as_uri()):
            sys.stderr.write("thalweg: no browser was found to open the report\n")
    if outcome.failures and paths:
        raise typer.Exit(2)


def _order(
    paths: list[str] | None, window: int | None, policy: str, tariffs: Sequence[Tariff], newest: int
) -> ReplayOrder:
    names = parse_names([policy or USUAL_POLICIES])
    for name in names:
        parse_policy(name)
    if not names:
        raise ConfigError("--policy", "no policy is named", f"use {', '.join(POLICIES)}")
    try:
        budget = Budget(window=window) if window is not None else None
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        problem = problem.replace("Input", f"{window}")
        raise ConfigError("--window", problem, "use a larger window") from None
    found = find_recordings(paths) if paths else _without_path(newest)
    return ReplayOrder(tuple(found), names, budget, tuple(tariffs), adds_recorded=not policy)


def tariffs_named(prices: str) -> list[Tariff]:
    """Return the tariffs of these names, separated by commas.

    Raises:
        ConfigError: There are no prices of a name.
    """
    names = parse_names([prices])
    for name in names:
        if name not in TARIFFS:
            fix = name_choices_remedy(name, tuple(TARIFFS))
            raise ConfigError("--prices", f"there are no prices of {name!r}", fix)
    if prices and not names:
        raise ConfigError("--prices", "no prices are named", f"use {', '.join(TARIFFS)}")
    return [TARIFFS[name] for name in names]


def _without_path(newest: int) -> list[Path]:
    home = home_folder()
    sessions = coding_sessions(Machine(home))
    if not sessions:
        print_note(
            f"No PATH, and no sessions of Claude Code, Codex, Gemini CLI or pi in {home}: "
            "replaying the sample that ships with Thalweg."
        )
        return [sample_path()]
    chosen = sessions[:newest]
    which = f"the newest {len(chosen)} (--newest)" if chosen != sessions else "all"
    print_note(f"No PATH: sessions of coding agents in {home}: {len(sessions)}; replaying {which}:")
    sys.stderr.writelines(f"  {path}\n" for path in chosen)
    return chosen


def named_with_prices(runs: Sequence[ReplayRun]) -> list[ReplayRun]:
    """Add the prices to the policy's name if there are several: the report names runs by it."""
    several = len({(run.trajectory, run.policy) for run in runs}) < len(runs)
    return [replace(r, policy=f"{r.policy}, {r.tariff}") if several else r for r in runs]


def print_outcome(outcome: FleetOutcome, *, as_json: bool) -> None:
    """Print the runs as one JSON object, or as a table and a verdict."""
    if as_json:
        print_json({"runs": [run.to_json() for run in outcome.runs]})
        return
    print_lines(as_lines(outcome.runs))
    print_lines(["", *(part for line in verdict(outcome.runs) for part in fold(line))])
