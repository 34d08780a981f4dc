"""Results are kept: one line a trial, whole, through any interruption."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evals_tests.evals.tiny import Echo, trials_of
from thalweg.errors import ConfigError
from thalweg_evals import Evaluation, evaluate
from thalweg_evals.kept import kept_at, read_kept
from thalweg_evals.results import Result
from thalweg_evals.runner import play_all

SETTINGS = {"--seed": 0, "--window": None}


def test_a_result_is_read_back_as_it_was() -> None:
    """With every request."""
    [result] = evaluate(
        Evaluation(subjects=("thalweg-middleware",), probes=("needle/user_aside",), window=16_000)
    ).results

    again = Result.from_json(json.loads(result.to_line()))

    assert again == result
    assert again.trace.requests


def test_a_torn_line_counts_as_not_written(tmp_path: Path) -> None:
    """The trial is played again, and the file is whole afterwards."""
    out, subject = tmp_path / "out.jsonl", Echo()
    play_all(trials_of(subject, 2), out=out)
    whole = out.read_bytes()

    for torn in (len(whole) - 1, len(whole) - 40):
        out.write_bytes(whole[:torn])
        played = play_all(trials_of(subject, 2), out=out)
        assert played.again == 1
        assert len(read_kept(out).results) == 2


def test_a_file_whose_first_line_is_torn_is_begun_anew(tmp_path: Path) -> None:
    """Nothing was played yet when it was written."""
    out = tmp_path / "out.jsonl"
    out.write_text('{"thalweg ev')

    assert play_all(trials_of(Echo()), out=out, settings=SETTINGS).again == 0
    assert read_kept(out).settings == SETTINGS


def test_other_settings_are_refused_and_named(tmp_path: Path) -> None:
    """Their results could not be compared."""
    out = tmp_path / "out.jsonl"
    play_all(trials_of(Echo()), out=out, settings=SETTINGS)
    before = out.read_bytes()

    with pytest.raises(ConfigError) as refused:
        play_all(trials_of(Echo()), out=out, settings={"--seed": 1, "--window": 8_000})

    told = "its results were made with --seed 0 and not 1, --window none given and not 8000"
    assert told in str(refused.value)
    assert out.read_bytes() == before


def test_two_do_not_write_one_file(tmp_path: Path) -> None:
    """The second gets an error."""
    pytest.importorskip("fcntl")
    out = tmp_path / "out.jsonl"

    with (
        kept_at(out, SETTINGS),
        pytest.raises(ConfigError, match="another process writes it"),
        kept_at(out, SETTINGS),
    ):
        pass


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("hello\n", "it is no file of results"),
        ('{"messages": []}\n', "it is no file of results"),
        ('{"thalweg eval": {}}\n{"key": 1}\n', "line 2 is no result"),
        ('{"thalweg eval": {}}\nnull\n', "line 2 is no result"),
    ],
)
def test_what_is_no_file_of_results_is_left_alone(
    tmp_path: Path, content: str, problem: str
) -> None:
    """It might be anything."""
    out = tmp_path / "notes.txt"
    out.write_text(content)

    with pytest.raises(ConfigError, match=problem):
        play_all(trials_of(Echo()), out=out)

    assert out.read_text() == content


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Before the first trial."""
    subject = Echo()

    with pytest.raises(ConfigError, match="it cannot be written: is a directory"):
        play_all(trials_of(subject), out=tmp_path)

    assert subject.began == []


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_what_a_killed_process_played_is_there(tmp_path: Path) -> None:
    """A `kill -9` in the midst of a trial loses that trial alone."""
    out = tmp_path / "out.jsonl"
    command = [
        *(sys.executable, "-m", "thalweg", "eval", "--policy", "thalweg-middleware"),
        *("--probe", "needle/user_aside", "--window", "16000", "--out", str(out)),
    ]
    process = subprocess.Popen([*command, "--trials", "500"], stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not (out.exists() and out.read_bytes().count(b"\n") > 2) and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = {result.key.number: result.to_json() for result in read_kept(out).results}
    assert 2 <= len(kept) < 500

    count = len(kept) + 2
    done = subprocess.run(
        [*command, "--trials", str(count)], capture_output=True, encoding="utf-8", check=True
    )

    assert "2 trials in" in done.stdout
    assert f"{len(kept)} were played before" in done.stdout
    after = {result.key.number: result.to_json() for result in read_kept(out).results}
    assert list(after) == list(range(1, count + 1))
    assert {number: after[number] for number in kept} == kept
