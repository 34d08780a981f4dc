"""The tutorial as a reader without sessions follows it, with a key and without one."""

import re
import shlex
from pathlib import Path

import pytest

from recorder_tests.e2e.test_cli import in_turn
from scripts.tutorial_cost import MODELS, PAGE, row_of, run_program

TEXT = PAGE.read_text(encoding="utf-8")
NUMBER = r"\d+(?:\.\d+)?"
WITH_KEY, WITHOUT_KEY = re.findall(r"^With Thalweg this session .*$", TEXT, re.MULTILINE)


def commands_of(code: str) -> list[list[str]]:
    """Return the arguments of each call of `thalweg`; no browser is opened."""
    lines = [line.partition(" thalweg ") for line in code.splitlines()]
    return [shlex.split(rest.replace(" --open", "")) for _, found, rest in lines if found]


MEASURE, SHOW, SEARCH, EXPORT, REPLAY = (
    command
    for code in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    for command in commands_of(code)
)


def numbers(row: str) -> list[float]:
    """Return the calls, the tokens and the cost in a row of the table of costs."""
    return [float(cell.strip(" $").replace(",", "")) for cell in row.split("|")[2:6]]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["", MODELS[0]], ids=["without a key", "with a key"])
def test_the_tutorial_ends_in_saved_money(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    usage = run_program(model, tmp_path)
    commands = [SHOW, SEARCH, EXPORT, REPLAY, *([] if model else [MEASURE])]
    done = in_turn(commands, tmp_path)

    assert [one.returncode for one in done] == [0] * len(commands)
    assert "evict" in done[0].stdout
    assert "day 3, line 1200" in done[1].stdout
    (verdict,) = re.findall(r"^With Thalweg .*$", done[3].stdout, re.MULTILINE)
    printed = WITH_KEY if model else WITHOUT_KEY
    assert re.sub(NUMBER, "", verdict) == re.sub(NUMBER, "", printed)
    *dollars, percent = map(float, re.findall(NUMBER, verdict))
    *shown_dollars, shown_percent = map(float, re.findall(NUMBER, printed))
    assert dollars == pytest.approx(shown_dollars, abs=0.02)
    assert percent == pytest.approx(shown_percent, abs=1)
    assert (tmp_path / "report.html").exists() is not bool(model)
    if model:
        (shown,) = re.findall(rf"^\| `{model}` .*$", TEXT, re.MULTILINE)
        assert numbers(row_of(usage)) == pytest.approx(numbers(shown), rel=0.05)
        assert row_of(usage).endswith(shown.rpartition("$")[2].partition("|")[2])
