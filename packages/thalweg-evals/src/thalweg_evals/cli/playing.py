"""`thalweg eval`: plays with a progress bar, prints, and fails where something is worse."""

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from thalweg.cli.printing import print_json, print_lines, print_result
from thalweg.cli.progress import progress_bar
from thalweg.errors import ConfigError
from thalweg_evals.base import Probe
from thalweg_evals.baseline import Baseline, compare, read_baseline, save_baseline, under
from thalweg_evals.cli.table import failures, request_lines, summary, tables
from thalweg_evals.evaluating import Evaluation, common, play, prepare
from thalweg_evals.kept import read_kept
from thalweg_evals.plan import pick_cases
from thalweg_evals.probes import PROBES
from thalweg_evals.report import write_report
from thalweg_evals.results import Result
from thalweg_evals.runner import Played
from thalweg_recorder.pages.places import check_place

WORSE = 1
"""Exit code if a baseline or a rate is not met."""
_WIDE = 160
"""Cells of a line in a pipe."""


@dataclass(frozen=True, slots=True)
class ResultActions:
    """The actions on results."""

    html: Path | None
    baseline: Path | None
    save_baseline: Path | None
    fail_under: float | None
    as_json: bool


def list_probes(evaluation: Evaluation, *, as_json: bool) -> None:
    """Print the probes that were named."""
    names = [one for one in evaluation.probes if isinstance(one, str)]
    cases = pick_cases(list(PROBES.values()), evaluation.suite, names)
    chosen = {name: [v for n, v in cases if n == name] for name, _ in cases}
    lines = [line for name, variants in chosen.items() for line in _probe(PROBES[name], variants)]
    print_result(
        lines, {"probes": [_plain(PROBES[n], v) for n, v in chosen.items()]}, as_json=as_json
    )


def _probe(probe: Probe, variants: Sequence[str]) -> Iterator[str]:
    yield f"{probe.name}  ({probe.suite})"
    yield f"  asks      {probe.asks}"
    yield f"  shows     {probe.shows}"
    yield f"  variants  {', '.join(variants)}"
    if probe.needs:
        yield f"  needs     {', '.join(sorted(probe.needs)).replace('_', ' ')}"
    yield ""


def _plain(probe: Probe, variants: Sequence[str]) -> dict[str, Any]:
    about = {name: getattr(probe, name) for name in ("name", "suite", "asks", "shows")}
    return {**about, "variants": variants, "needs": sorted(probe.needs)}


def show_request(trial: str, number: int | None, out: Path | None) -> None:
    """Print a request of a trial that was kept.

    Raises:
        ConfigError: There is no such trial, or no file.
    """
    if out is None:
        raise ConfigError("--show", "no file of results is named", "add --out FILE")
    found = [one for one in read_kept(out).results if one.key.id.startswith(trial)]
    if len(found) != 1:
        problem = f"{len(found) or 'no'} trials of {out} have an id that begins with {trial!r}"
        raise ConfigError("--show", problem, "copy an id from the list of failures")
    print_lines(request_lines(found[0], number))


def perform(evaluation: Evaluation, ends: ResultActions) -> None:
    """Play, print, and end the process with 1 where something is worse.

    Raises:
        ConfigError: Something cannot be done; most of it is found before the first trial.
    """
    if ends.html is not None:
        taken = [one for one in (evaluation.out, ends.baseline, ends.save_baseline) if one]
        check_place(ends.html, taken, "another file of this command")
    settings = common(evaluation)
    baseline = read_baseline(ends.baseline, settings) if ends.baseline is not None else None
    prepared = prepare(evaluation)
    for note in prepared.notes:
        sys.stderr.write(f"thalweg: {note}\n")
    start = time.monotonic()
    with _bar(len(prepared.trials)) as advance:
        played = play(evaluation, prepared, on_result=advance)
    seconds = time.monotonic() - start
    if ends.html is not None:
        write_report(played.results, ends.html)
    if ends.save_baseline is not None:
        save_baseline(ends.save_baseline, settings, played.results)
    worse = _worse(played, baseline, ends.fail_under)
    _print(evaluation, prepared.notes, played, ends, seconds, worse)
    if worse:
        raise typer.Exit(WORSE)


def _worse(played: Played, baseline: Baseline | None, fail_under: float | None) -> list[str]:
    found: list[str] = []
    if baseline is not None:
        comparison = compare(baseline, played.results)
        if not comparison.compared:
            fix = "play trials that it has, or save a new one"
            raise ConfigError("--baseline", "it has none of these trials", fix)
        found += map(str, comparison.worse)
    if fail_under is not None:
        found += under(fail_under, played.results)
    return found


@contextmanager
def _bar(total: int) -> Iterator[Callable[[Result, bool], None]]:
    """Show the progress; logs of libraries are hidden."""
    logging.getLogger().addHandler(logging.NullHandler())
    failed = 0
    with progress_bar("evaluating", total) as show:

        def advance(result: Result, _is_new: bool) -> None:  # noqa: FBT001 (see `Tell`)
            nonlocal failed
            failed += result.verdict == "failed"
            show(f"{failed} failed, {result.key.case}" if failed else result.key.case)

        yield advance


def _print(
    evaluation: Evaluation,
    notes: Sequence[str],
    played: Played,
    ends: ResultActions,
    seconds: float,
    worse: Sequence[str],
) -> None:
    if ends.as_json:
        results = [one.to_json(traced=False) for one in played.results]
        output = {"results": results, "unplayed": played.unplayed, "worse": list(worse)}
        print_json({**output, "cost": played.spent, "seconds": seconds, "notes": notes})
        return
    out = str(evaluation.out or "")
    console = Console(
        width=None if sys.stdout.isatty() else _WIDE, highlight=False, markup=False, emoji=False
    )
    for table in tables(played.results):
        console.print(table)
        console.print()
    for line in failures(played.results, out):
        console.print(line, soft_wrap=True)
    console.print(summary(played, seconds), soft_wrap=True)
    for written in (evaluation.out, ends.html, ends.save_baseline):
        if written is not None:
            console.print(f"Written: {written}", soft_wrap=True)
    if worse:
        console.print("\nWorse:")
        for line in worse:
            console.print(f"  {line}", soft_wrap=True)
