"""`thalweg config init` on a terminal: three answers, a file, and an agent that answers."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg.testing.strict import Answer, StrictProvider

THALWEG = [sys.executable, "-m", "thalweg"]


def environment(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb"}


def asked(folder: Path, answers: str) -> str:
    """Answer the questions on a real terminal; return what it shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*THALWEG, "config", "init"],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment(folder),
        text=True,
    ) as process:
        os.write(ours, answers.encode())
        said, _ = process.communicate(timeout=120)
    os.close(theirs)
    os.close(ours)
    assert process.returncode == 0, said
    return said


@pytest.mark.slow
def test_three_answers_make_an_agent_that_answers(tmp_path: Path) -> None:
    with StrictProvider(window=64_000) as provider:
        provider.answer = lambda _request: Answer("The Elbe and the Havel.")
        said = asked(tmp_path, f"openai:strict-1@{provider.openai_url}\nnone\nn\n")
        text = (tmp_path / "config.yaml").read_text(encoding="utf-8")
        done = subprocess.run(
            [*THALWEG, "chat", "Which rivers meet here?"],
            cwd=tmp_path,
            env=environment(tmp_path),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    assert "1/3" in said
    assert "next:  thalweg chat" in said
    assert "enabled: false" in text
    assert text.count("\n") <= 10
    assert done.stdout == "The Elbe and the Havel.\n", done.stderr
