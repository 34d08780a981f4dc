"""The tutorial as a reader without sessions follows it: every command runs, a dollar is saved."""

import re
import shlex
from pathlib import Path

import pytest

from recorder_tests.e2e.test_cli import in_turn
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
DOLLARS = r"\$(\d+\.\d+)"
STEPS = re.findall(r"```(python|sh)\n(.*?)```", PAGE, re.DOTALL)


def commands_of(code: str) -> list[list[str]]:
    """Return the arguments of each call of `thalweg`; no browser is opened."""
    lines = [line.partition(" thalweg ") for line in code.splitlines()]
    return [shlex.split(rest.replace(" --open", "")) for _, found, rest in lines if found]


@pytest.mark.slow
def test_the_tutorial_ends_in_a_saved_dollar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    commands = list[list[str]]()
    for language, code in STEPS:
        if language == "python":
            exec(compile(code, "tutorial.md", "exec"), {})  # noqa: S102 (our own page)
        else:
            commands += commands_of(code)
    done = in_turn(commands, tmp_path)

    assert [one.returncode for one in done] == [0] * len(commands)
    assert (tmp_path / "report.html").exists()
    assert "evict" in done[1].stdout
    assert "day 3, line 1200" in done[2].stdout
    (verdict,) = re.findall(r"^With Thalweg .*$", done[-1].stdout, re.MULTILINE)
    ours, whole = map(float, re.findall(DOLLARS, verdict))
    shown = map(float, re.findall(DOLLARS, PAGE[PAGE.index("With Thalweg this session") :]))
    assert list(shown) == pytest.approx([ours, whole], abs=0.05), verdict
    assert whole - ours >= 1
