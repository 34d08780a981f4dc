"""The table of an evaluation: pass rates by subject and probe, with intervals."""

from collections.abc import Iterator, Sequence
from math import fsum, inf
from typing import Any

from thalweg_evals.base import Outcome
from thalweg_evals.results import Result
from thalweg_evals.statistics import Interval, difference, outcomes, rate

_Trials = dict[tuple[str, str, int], Result]


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
