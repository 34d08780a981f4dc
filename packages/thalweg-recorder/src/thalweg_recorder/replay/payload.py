"""Runs as one compact JSON object, for the page of the report.

Texts and lines are written once and referenced by index; fields of calls are written as one column
each; a request is written as ranges of lines. Measured times are omitted, so that two replays of
one recording have equal bytes.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from thalweg.engine.edits import Edit, Fold, Pin, Strip, Supersede, Unpin
from thalweg.engine.entries import Message
from thalweg.engine.pricing.table import NAMED_TARIFFS
from thalweg.engine.transcript import as_text
from thalweg_recorder.replay.figures import Figure, cost, figures_of
from thalweg_recorder.replay.fleet import totals
from thalweg_recorder.replay.results import OutlineLine, ReplayRun
from thalweg_recorder.replay.verdict import verdict

TEXT_CHARS = 24_000
"""Maximum characters of one replacement text; the rest is counted."""
_FILLER = re.compile(r"(?: summary){20,}")
_Row = list[Any]


@dataclass(slots=True)
class _PayloadPools:
    texts: dict[str, int] = field(default_factory=dict)
    """Number of each, in order of first appearance."""
    lines: dict[tuple[int, ...], int] = field(default_factory=dict)

    def text(self, text: str) -> int:
        """Number a text."""
        return self.texts.setdefault(text, len(self.texts))

    def line(self, line: OutlineLine) -> int:
        """Return the number of a line; its fields are in the order of `OutlineLine`."""
        texts = (line.speaker, line.shown, line.head, line.handle)
        who, shown, head, handle = map(self.text, texts)
        fields = (line.position, who, line.tokens, shown, head, handle)
        return self.lines.setdefault(fields, len(self.lines))


def payload(runs: Sequence[ReplayRun]) -> dict[str, Any]:
    """Gather the data of the page, recording by recording, in the order of the runs.

    Example:
        >>> payload([])
        {'verdict': [], 'columns': [], 'all': [], 'texts': [], 'lines': [], 'trajectories': []}
    """
    figures = figures_of(runs) if runs else ()
    pools = _PayloadPools()
    by_recording: dict[str, list[ReplayRun]] = {}
    for run in runs:
        by_recording.setdefault(run.trajectory, []).append(run)
    trajectories = [
        {
            "name": name,
            "title": group[0].title or name,
            "project": group[0].project,
            "started_at": group[0].started_at,
            "notes": list(dict.fromkeys(note for run in group for note in run.notes)),
            "runs": [_run(run, pools, figures) for run in group],
        }
        for name, group in by_recording.items()
    ]
    return {
        "verdict": verdict(runs),
        "columns": [[figure.name, figure.about] for figure in figures],
        "all": [
            {"policy": policy, "row": _row(group, figures)}
            for (policy, _), group in totals(runs).items()
        ],
        "texts": list(pools.texts),
        "lines": list(pools.lines),
        "trajectories": trajectories,
    }


def _row(runs: Sequence[ReplayRun], figures: Sequence[Figure]) -> dict[str, Any]:
    """Write a row of the table: its cells, those that are a problem, and its cost for a bar."""
    return {
        "cells": [figure.text(runs) for figure in figures],
        "bad": [k for k, figure in enumerate(figures) if figure.is_bad(runs)],
        "cost": round(cost(runs), 4),
    }


def _run(run: ReplayRun, pools: _PayloadPools, figures: Sequence[Figure]) -> dict[str, Any]:
    calls = run.calls
    return {
        "totals": run.to_json(),
        "row": _row([run], figures),
        "limit": run.limit,
        "tariff": _tariff(run.tariff),
        "missing": list(run.goals_missing),
        "calls": {
            "position": [call.position for call in calls],
            "tokens": [call.tokens for call in calls],
            "cached": [call.cached for call in calls],
            "written": [call.written for call in calls],
            "bill": [round(call.bill.total, 1) for call in calls],
            "broke": [call.broke_at for call in calls],
            "steps": [call.steps for call in calls],
            "outline": [call.outline for call in calls],
            "length": [call.length for call in calls],
        },
        "cold": [k for k, call in enumerate(calls) if call.cold],
        "problems": [[k, list(call.problems)] for k, call in enumerate(calls) if call.problems],
        "edits": [_edit(k, e, pools) for k, call in enumerate(calls) for e in call.edits],
        "outlines": [_stretches(map(pools.line, lines)) for lines in run.outlines],
    }


def _tariff(name: str) -> dict[str, Any]:
    known = NAMED_TARIFFS.get(name)
    return {"name": name} if known is None else known.model_dump(mode="json", exclude={"block"})


def _edit(call: int, edit: Edit, pools: _PayloadPools) -> _Row:
    """Write an edit as call, kind, reason, tokens, first and last position, text, remark."""
    first, last, text, remark = _place(edit)
    kind = type(edit).__name__.lower()
    numbers = [edit.tokens_before, edit.tokens_after, first, last]
    names = [pools.text(kind), pools.text(edit.reason)]
    return [call, *names, *numbers, pools.text(_shortened(text)), pools.text(remark)]


def _place(edit: Edit) -> tuple[int, int, str, str]:
    match edit:
        case Fold():
            kept = _named(edit.kept, "kept word for word")
            wrote = (
                f"a model reads {edit.summary_input:,} tokens and writes {edit.summary_output:,}"
            )
            remarks = (kept, wrote if edit.summary_output else "")
            return 0, edit.last, edit.record, "; ".join(filter(None, remarks))
        case Pin() | Unpin():
            return edit.position, edit.position, edit.quote, ""
        case Strip():
            return edit.positions[0], edit.positions[-1], "", _named(edit.positions, "stripped")
        case Supersede():
            text = as_text(Message("tool", edit.parts))
            return edit.position, edit.position, text, f"made stale by #{edit.by}"
        case _:
            return edit.position, edit.position, as_text(Message("tool", edit.parts)), ""


KEPT_NAMED = 20
"""How many kept positions are named one by one."""


def _named(positions: Sequence[int], what: str) -> str:
    if not positions:
        return ""
    named = ", ".join(f"#{position}" for position in positions[:KEPT_NAMED])
    more = f" and {len(positions) - KEPT_NAMED:,} more" if len(positions) > KEPT_NAMED else ""
    return f"{what}: {named}{more}"


def _shortened(text: str) -> str:
    text = _FILLER.sub(lambda m: f" summary and so on, {len(m[0]) // 8:,} times", text)
    over = len(text) - TEXT_CHARS
    return text if over <= 0 else f"{text[:TEXT_CHARS]}\n[{over:,} more characters]"


def _stretches(numbers: Iterable[int]) -> list[int]:
    """Write numbers as first and length of each stretch of consecutive ones.

    Example:
        >>> _stretches([4, 5, 6, 9])
        [4, 3, 9, 1]
    """
    stretches = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    return [n for _, group in stretches for n in _first_and_length([k for _, k in group])]


def _first_and_length(numbers: Sequence[int]) -> tuple[int, int]:
    return numbers[0], len(numbers)
