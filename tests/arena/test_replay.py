"""`python -m benchmarks.arena.replay`: every policy, format and workload, one report."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.arena.replay import main
from recorder_tests.e2e.test_cli import FIELDS, types_of
from recorder_tests.unit.lab.replay.test_fleet import write
from thalweg_recorder.replay.sample import sample_path

HINDSIGHT = {"regret": float, "oracle": {"one_cut": float, "sets": float, "folds": list}}
SAMPLE = str(sample_path())


def runs_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    """Run the command with `--json`, and return its runs."""
    assert main([*arguments, "--json"]) == 0
    runs: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["runs"]
    return runs


def test_peers_are_replayed_at_each_tariff(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thread = write(tmp_path / "a.jsonl", turns=20)
    ask = (str(thread), "--policy", "thalweg,peer:langchain-editing", "--window", "4000")
    runs = runs_of(capsys, *ask, "--prices", "openai,deepseek")

    assert [(run["policy"], run["tariff"]) for run in runs] == [
        (policy, tariff)
        for policy in ("thalweg", "peer:langchain-editing")
        for tariff in ("openai", "deepseek")
    ]
    assert [types_of(run) for run in runs] == [FIELDS] * 4


@pytest.mark.slow
@pytest.mark.nightly
def test_with_the_oracle_each_policy_has_a_regret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ask = (SAMPLE, "--window", "32000", "--policy", "thalweg,none,oracle", "--prices", "anthropic")
    runs = runs_of(capsys, *ask)
    report = tmp_path / "r.html"
    assert main([*ask, "--html", str(report)]) == 0
    printed = capsys.readouterr().out

    assert [types_of(run) for run in runs] == [FIELDS | HINDSIGHT] * 3
    regrets = [f"regret of {r['policy']}, anthropic: {r['regret']:+.0%}" for r in runs]
    assert printed.splitlines()[-3:] == regrets
    assert "oracle" in report.read_text()


@pytest.mark.slow
@pytest.mark.nightly
def test_a_workload_has_its_questions(capsys: pytest.CaptureFixture[str]) -> None:
    (run,) = runs_of(capsys, "scripted:small", "--policy", "none", "--prices", "openai")

    assert run["trajectory"] == "scripted:small"
    assert run["goals"]["verbatim"] > 0
    assert sum(run["recall"][how] for how in ("inline", "search", "lost")) > 0


def test_a_thread_that_cannot_be_read_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, empty = write(tmp_path / "a.jsonl"), tmp_path / "b.jsonl"
    empty.touch()

    assert main([str(good), str(empty), "--policy", "none"]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"{empty}: the file is empty")
    assert printed.out.splitlines()[1].split()[:2] == ["a", "none"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scripted:none"], "scripted:none: there is no such workload"),
        ([SAMPLE, "--policy", "peer:nobody"], "--policy: there is no policy 'peer:nobody'"),
        ([SAMPLE, "--prices", "free"], "--prices: there are no prices of 'free'"),
    ],
)
def test_an_unknown_name_is_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert f"error: {message}" in capsys.readouterr().err
