"""Every example runs without a key, here and, where the API is theirs, on deepagents."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.running import EXAMPLES, examples, is_ours_alone, run

README = (EXAMPLES / "README.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^\d+\. \[`(\w+)\.py`\]\((\w+)\.py\)(.*)$", re.MULTILINE)


@pytest.mark.parametrize("name", examples())
def test_an_example_runs_and_says_something(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An example runs in a folder of its own: its files do not end up in the reader's."""
    monkeypatch.chdir(tmp_path)
    shown = run(name, tmp_path)

    assert len(shown.output.splitlines()) > 3
    assert shown.requests


OTHERWISE = {
    "long_term_memory": "an error of a routed backend names the path as the agent knows it",
    "offloading": "large results are in the archive, not in a file",
    "parallel_subagents": "no edit is lost; reports name the files that were changed",
    "streaming": "reports name the files that were changed",
    "summarization": "what is compacted when, and what is kept",
}
"""Examples in which the model is sent something else, and why; see docs/deepagents.md."""


@pytest.mark.parametrize("name", examples(ours_alone=False))
def test_an_example_runs_with_the_import_changed_back(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user of deepagents finds their own API, could go back, and sees no difference.

    The model is sent the same words; only the system prompt and the tools are each one's own.
    """
    pytest.importorskip("deepagents")
    monkeypatch.chdir(tmp_path)
    theirs, ours = run(name, tmp_path, "deepagents"), run(name, tmp_path)

    assert len(theirs.output.splitlines()) > 3
    assert theirs.requests
    assert (ours.said() == theirs.said()) is (name not in OTHERWISE)


def test_an_example_runs_from_the_command_line(tmp_path: Path) -> None:
    """An example runs as its first lines describe: `python examples/NAME.py`."""
    shown = subprocess.run(
        [sys.executable, EXAMPLES / "quickstart.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONWARNINGS": "error::DeprecationWarning:thalweg"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "/summary.md" in shown.stdout
    assert "Traceback" not in shown.stderr


def test_the_list_names_every_example_once_and_says_which_are_ours_alone() -> None:
    """In a reading order, with the truth about where they run."""
    listed = [
        (name, "Only in Thalweg" in said)
        for name, link, said in ENTRY.findall(README)
        if name == link
    ]

    assert sorted(listed) == [(name, is_ours_alone(name)) for name in examples()]
