"""The page of an evaluation's results, rendered and written.

It contains a table of pass rates by subject and probe, with intervals, and the results as one
compact JSON object. Every trial is included with the sizes of its agent's requests; the requests
themselves only if they show a failure, with each message stored once and referenced.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from importlib.resources import files
from math import fsum, inf
from pathlib import Path
from typing import Any

from thalweg_evals.base import Outcome
from thalweg_evals.report.failures import failures
from thalweg_evals.results import Result
from thalweg_evals.statistics import Interval, difference, outcomes, rate
from thalweg_evals.trace import Trace
from thalweg_recorder.pages import check_place, render_page, write_page

_Trials = dict[tuple[str, str, int], Result]
_SHOWN = ("window", "verdict", "why", "judged", "value", "cost")
SCRIPTS = ("data.js", "choosing.js", "rates.js", "figure.js", "failures.js", "costs.js", "page.js")
"""The parts of the page's script, in order."""
_PAGE = files("thalweg_evals.report") / "page"


def rates(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return a table for each model and trigger: probes by subjects, and all probes together.

    A subject is compared with the first one of its table, on the trials that both ran.
    """
    groups: dict[tuple[str, float | None], list[Result]] = {}
    for result in results:
        groups.setdefault((result.key.model, result.key.trigger), []).append(result)
    models = list(dict.fromkeys(model for model, _ in groups))
    return [
        {"model": model, "trigger": trigger, **_table(groups[model, trigger])}
        for model, trigger in sorted(groups, key=lambda at: (models.index(at[0]), _size(at[1])))
    ]


def _size(trigger: float | None) -> float:
    return inf if trigger is None else trigger


def _table(group: Sequence[Result]) -> dict[str, Any]:
    subjects = list(dict.fromkeys(one.key.subject for one in group))
    probes = list(dict.fromkeys(one.key.probe for one in group))
    rows = [
        {
            "probe": probe,
            "cells": _cells([one for one in group if one.key.probe == probe], subjects),
        }
        for probe in probes
    ]
    return {"subjects": subjects, "rows": rows, "all": _cells(group, subjects)}


def _cells(group: Sequence[Result], subjects: Sequence[str]) -> list[dict[str, Any]]:
    by_subject: dict[str, _Trials] = {subject: {} for subject in subjects}
    for one in group:
        key = one.key
        by_subject[key.subject][key.probe, key.variant, key.number] = one
    first = by_subject[subjects[0]]
    return [_cell(trials, None if trials is first else first) for trials in by_subject.values()]


def _cell(trials: _Trials, first: _Trials | None) -> dict[str, Any]:
    verdicts = [one.verdict for one in trials.values()]
    values = [one.value for one in trials.values() if one.value is not None]
    gap = None if first is None else _row(difference(outcomes(_pairs(trials, first))))
    return {
        "passed": verdicts.count("passed"),
        "failed": verdicts.count("failed"),
        "untested": verdicts.count("untested"),
        "absent": verdicts.count("not offered"),
        "judged": sum(one.judged for one in trials.values()),
        "value": round(fsum(values) / len(values), 2) if values else None,
        "rate": _row(rate(verdicts)),
        "gap": gap,
    }


def _pairs(trials: _Trials, first: _Trials) -> Iterator[tuple[Outcome, Outcome]]:
    return ((one.verdict, first[at].verdict) for at, one in trials.items() if at in first)


def _row(interval: Interval) -> list[float] | None:
    """Return an interval as value, ends and number; `None` if there is no data."""
    if not interval.n:
        return None
    ends = (interval.value, interval.low, interval.high)
    return [*(round(one, 4) for one in ends), interval.n]


def payload(results: Sequence[Result]) -> dict[str, Any]:
    """Return the data of the page, in the order of the results.

    Example:
        >>> payload([])["trials"]
        []
    """
    return {
        "trials": [_trial(result) for result in results],
        "rates": rates(results),
        **failures(results),
    }


def _trial(result: Result) -> dict[str, Any]:
    tokens = result.tokens
    return {
        "id": result.key.id,
        **asdict(result.key),
        **{name: getattr(result, name) for name in _SHOWN},
        "tokens": [tokens.input, tokens.cached, tokens.output],
        "requests": len(result.trace.requests),
        "seconds": round(result.seconds, 2),
        "line": _line(result.trace),
    }


def _line(trace: Trace) -> dict[str, list[Any]]:
    """Return the sizes of the agent's own requests, in order.

    `starts` are those in another thread than the previous one, at which a line breaks; `drops` are
    compactions, each with the size of the thread's previous request.
    """
    agents = trace.agents()
    at = {one.number: place for place, one in enumerate(agents)}
    compactions = set(trace.compactions())
    before: dict[str, int] = {}
    drops: list[tuple[int, int]] = []
    for one in agents:
        if one.number in compactions:
            drops.append((at[one.number], before[one.thread]))
        before[one.thread] = one.tokens
    return {
        "tokens": [one.tokens for one in agents],
        "turns": [one.turn for one in agents],
        "starts": [k for k, one in enumerate(agents) if k and one.thread != agents[k - 1].thread],
        "drops": drops,
    }


def write_report(results: Sequence[Result], path: Path) -> None:
    """Write the report of these results to a file, whole or not at all.

    Raises:
        ConfigError: The file cannot be written.
    """
    check_place(path)
    write_page(render_report(results), path)


def render_report(results: Sequence[Result]) -> str:
    """Render the page: equal results render an equal page, without external references.

    Example:
        >>> render_report([]).startswith("<!doctype html>")
        True
    """
    return render_page("Thalweg evaluation", _PAGE, SCRIPTS, payload(results))
