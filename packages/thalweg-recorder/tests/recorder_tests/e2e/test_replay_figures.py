"""A number that a replay prints in several places is the same in each: terminal, page, JSON."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from core_tests.recorded import RECORDED, WHY_SKIPPED
from thalweg.engine.pricing.cost import cost_of_answers, distinct
from thalweg_recorder.cli.replay_table import as_lines
from thalweg_recorder.recordings.files import read_recording
from thalweg_recorder.replay.figures import dollars, figures_of, size
from thalweg_recorder.replay.fleet import ReplayOrder, replay_one
from thalweg_recorder.replay.report import render_report
from thalweg_recorder.replay.results import ReplayRun
from thalweg_recorder.replay.sample import sample_path
from thalweg_recorder.replay.verdict import verdict

SESSIONS = ("cc-explain-confirm", "cc-print-shadow-branch-orphan", "cc-entire-clean")
"""With a compaction, with one-hour cache writes, and with neither."""
NAMES = ("sample", *SESSIONS)
NEEDS_SESSIONS = pytest.mark.skipif(not RECORDED.is_dir(), reason=WHY_SKIPPED)
CASES = [pytest.param("sample"), *(pytest.param(name, marks=NEEDS_SESSIONS) for name in SESSIONS)]
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def place_of(name: str) -> Path:
    """Return the file of a session, or of the sample."""
    if name == "sample":
        return sample_path()
    return RECORDED / "originals" / f"{name}.orig.jsonl.gz"


@cache
def runs_of(name: str) -> tuple[ReplayRun, ...]:
    """Replay a session as the command does without options."""
    order = ReplayOrder((place_of(name),), ("thalweg", "deepagents"), None, (), adds_recorded=True)
    runs, failures = replay_one(place_of(name), order)
    assert failures == []
    return tuple(runs)


def payload_of(runs: tuple[ReplayRun, ...]) -> dict[str, Any]:
    """Read the data of a page as a browser does."""
    found = DATA.search(render_report(runs))
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def in_a_terminal(runs: tuple[ReplayRun, ...]) -> list[list[str]]:
    """Print the table, and split its rows at two spaces or more."""
    lines = as_lines(runs)
    return [re.split(r" {2,}", line.strip()) for line in lines[: lines.index("")]]


@pytest.mark.parametrize("name", CASES)
def test_terminal_and_page_have_the_same_columns_and_cells(name: str) -> None:
    runs = runs_of(name)
    data = payload_of(runs)
    (heads, *rows) = in_a_terminal(runs)
    (recording,) = data["trajectories"]

    assert heads[2:] == [column for column, _ in data["columns"]]
    assert [row[2:] for row in rows] == [run["row"]["cells"] for run in recording["runs"]]
    assert data["verdict"] == verdict(runs)


@pytest.mark.parametrize("name", CASES)
def test_a_cell_is_the_figure_of_the_json(name: str) -> None:
    for run in runs_of(name):
        cells = {figure.name: figure.text([run]) for figure in figures_of([run])}
        told = run.to_json()
        bill, goals = told["bill"], told["goals"]

        assert bill["whole"] == (name != "sample")
        assert cells["cost" if bill["whole"] else "cost of input"] == dollars(bill["total"])
        assert cells["vs. all"] == f"{bill['total'] / bill['unmanaged']:.2f}"
        assert cells["compactions"] == f"{told['compactions']:,}"
        assert cells["changes"] == f"{told['changes']:,}"
        assert cells["goals out"] == f"{goals['lost']:,} of {sum(goals.values()):,}"
        assert cells["lost"] in {size(told["unrecoverable_bytes"]), "0"}
        assert (cells["calls"], cells["largest"]) == (
            f"{told['calls']:,}",
            f"{told['peak_tokens']:,}",
        )
        kinds = ("input", "output", "summaries", "steps")
        assert sum(bill[kind] for kind in kinds) == pytest.approx(bill["total"], abs=1e-5)
        if run.policy != "recorded":
            assert told["compactions"] == told["edits"]["fold"]


@pytest.mark.parametrize("name", CASES)
def test_the_cost_so_far_ends_at_the_cost(name: str) -> None:
    """The chart adds up calls; the table and the sentence have the sum."""
    runs = runs_of(name)
    (recording,) = payload_of(runs)["trajectories"]

    for run, written in zip(runs, recording["runs"], strict=True):
        usd = sum(written["calls"]["bill"]) * (run.usd_per_million or 0) / 1e6
        assert dollars(usd) == written["row"]["cells"][0]
    sentences = " ".join(verdict(runs))
    assert all(run["row"]["cells"][0] in sentences for run in recording["runs"])


@pytest.mark.parametrize("name", [pytest.param(n, marks=NEEDS_SESSIONS) for n in SESSIONS])
def test_recorded_costs_what_its_usage_costs(name: str) -> None:
    """Every answer once, at the prices of its own model; the sentence has the amount."""
    runs = runs_of(name)
    (recorded,) = (run for run in runs if run.policy == "recorded")
    paid = cost_of_answers(distinct(read_recording(place_of(name)).answers))

    assert paid is not None
    assert recorded.to_json()["bill"]["logged"] == pytest.approx(paid, rel=1e-4)
    assert verdict(runs)[0].startswith(f"The tokens in the log cost {dollars(paid)} at list prices")
