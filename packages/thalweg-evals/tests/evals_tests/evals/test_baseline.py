"""What has become worse than a baseline is found, and chance is not taken for it."""

import json
from pathlib import Path

import pytest

from evals_tests.evals.tiny import Echo, trials_of
from thalweg.errors import ConfigError
from thalweg_evals import Result, TrialKey
from thalweg_evals.base import Outcome
from thalweg_evals.baseline import (
    LEAST_PAIRS,
    Baseline,
    compare,
    read_baseline,
    save_baseline,
    under,
)
from thalweg_evals.runner import play_all

SETTINGS = {"--seed": 0, "--window": None, "thalweg": "1"}
SCRIPTED, LIVE = "scripted:searcher", "ollama:qwen3:4b"


def results(model: str, verdicts: str, subject: str = "thalweg") -> list[Result]:
    """Make results: a letter each, of p(assed), f(ailed), u(ntested), n(ot offered)."""
    words: dict[str, Outcome] = {
        "p": "passed",
        "f": "failed",
        "u": "untested",
        "n": "not offered",
    }
    return [
        Result(
            key=TrialKey(model, subject, 0.1, "needle", "aside", number),
            seed=number,
            window=1_000,
            verdict=words[letter],
            why="",
        )
        for number, letter in enumerate(verdicts, 1)
    ]


def baseline(model: str, verdicts: str) -> Baseline:
    """Make a baseline of such results."""
    return Baseline(SETTINGS, {one.key: one.verdict for one in results(model, verdicts)})


@pytest.mark.parametrize(
    ("model", "before", "now", "is_worse"),
    [
        (SCRIPTED, "pppp", "pppp", False),
        (SCRIPTED, "pppp", "pppf", True),
        (SCRIPTED, "pppp", "pppu", True),
        (SCRIPTED, "pppp", "pppn", True),
        (SCRIPTED, "pfff", "pfpp", False),
        (SCRIPTED, "ffpp", "ppff", True),
        (LIVE, "pppppppp", "ppppppfp", False),
        (LIVE, "pppppppp", "pppfffff", True),
        (LIVE, "pfpfpfpf", "fpfpfpfp", False),
        (LIVE, "pppp", "ffff", False),
        (LIVE, "p" * LEAST_PAIRS, "f" * LEAST_PAIRS, True),
        (LIVE, "pppppppp", "uuuuuuuu", False),
    ],
)
def test_worse_is_what_chance_does_not_explain(
    model: str,
    before: str,
    now: str,
    is_worse: bool,  # noqa: FBT001 (a parameter of the test)
) -> None:
    """A scripted model does the same every time: one trial is enough. Others need several."""
    found = compare(baseline(model, before), results(model, now))

    assert bool(found.worse) == is_worse
    assert found.compared == len(before)


def test_what_is_worse_is_told_with_its_trials() -> None:
    """So that they can be played again."""
    [worse] = compare(baseline(SCRIPTED, "pppf"), results(SCRIPTED, "fpff")).worse

    assert str(worse) == (
        "needle: scripted:searcher, thalweg, at 0.1 of the window: -50% of 4 trials, "
        "no longer passed: aside #1, aside #3"
    )


def test_agents_and_models_are_compared_with_themselves() -> None:
    """What the baseline has not is not worse; what was not played is counted."""
    found = compare(baseline(SCRIPTED, "ppp"), results(SCRIPTED, "pff", "deepagents"))

    assert (found.worse, found.compared) == ((), 0)


def test_a_baseline_is_read_back(tmp_path: Path) -> None:
    """A baseline is small, and independent of the order of the results."""
    file, other = tmp_path / "baseline.json", tmp_path / "other.json"
    all_results = [*results(SCRIPTED, "pfun"), *results(LIVE, "p", "path/to.py:make")]

    save_baseline(file, SETTINGS, all_results)
    save_baseline(other, SETTINGS, all_results[::-1])

    assert read_baseline(file, SETTINGS).verdicts == {one.key: one.verdict for one in all_results}
    assert file.read_bytes() == other.read_bytes()
    assert json.loads(file.read_text())["rows"][1][-1] == {
        "1": "passed",
        "2": "failed",
        "3": "untested",
        "4": "not offered",
    }


def test_a_file_of_results_is_a_baseline(tmp_path: Path) -> None:
    """The larger one that was there already."""
    out = tmp_path / "out.jsonl"
    played = play_all(trials_of(Echo(), 2), out=out, settings=SETTINGS)

    found = read_baseline(out, {**SETTINGS, "thalweg": "2"})

    assert found.verdicts == {one.key: one.verdict for one in played.results}


def test_other_dice_are_other_trials(tmp_path: Path) -> None:
    """Versions of Thalweg may differ: they are what is compared."""
    file = tmp_path / "baseline.json"
    save_baseline(file, SETTINGS, results(SCRIPTED, "p"))

    assert read_baseline(file, {**SETTINGS, "thalweg": "2"}).settings == SETTINGS
    with pytest.raises(ConfigError, match="made with --seed 0, and these results with 7"):
        read_baseline(file, {**SETTINGS, "--seed": 7})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "it is no file of results"),
        ("{}", "it is no baseline"),
        ("[]", "it is no baseline"),
        ('{"thalweg eval baseline": {}, "rows": [1]}', "it is no baseline"),
        ('{"thalweg eval baseline": {"--seed": 0, "--window": null}, "rows": [[]]}', "no baseline"),
    ],
)
def test_what_is_no_baseline_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    """With what to do."""
    file = tmp_path / "b.json"
    file.write_text(content)

    with pytest.raises(ConfigError, match=problem):
        read_baseline(file, SETTINGS)


def test_a_baseline_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """Rather than taken for an empty one."""
    with pytest.raises(ConfigError, match="it cannot be read: no such file"):
        read_baseline(tmp_path / "b.json", SETTINGS)


def test_a_rate_is_asked_of_each_agent() -> None:
    """Of what was tested; an agent of whom nothing was is not let through."""
    some = [
        *results(SCRIPTED, "pppfu", "a"),
        *results(SCRIPTED, "pppp", "b"),
        *results(SCRIPTED, "un", "c"),
    ]

    assert under(0.75, some) == ["c, scripted:searcher: no trial tested anything"]
    assert under(0.8, some) == [
        "a, scripted:searcher: 75.0% of 4 passed, not 80.0%",
        "c, scripted:searcher: no trial tested anything",
    ]
