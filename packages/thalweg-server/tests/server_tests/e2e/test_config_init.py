"""`thalweg config init` on a terminal: three answers, a file, and an agent that answers."""

import os
import pty
from pathlib import Path

import pytest

from server_tests.e2e.forked_command import run
from strict_llm import Answer, StrictProvider


def environment(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb"}


def asked(folder: Path, answers: str) -> str:
    """Answer the questions on a real terminal; return what it shows."""
    ours, theirs = pty.openpty()
    os.write(ours, answers.encode())
    done = run("config", "init", cwd=folder, env=environment(folder), stdin=theirs)
    os.close(theirs)
    os.close(ours)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_three_answers_make_an_agent_that_answers(tmp_path: Path) -> None:
    with StrictProvider(window=64_000) as provider:
        provider.answer = lambda _request: Answer("The Elbe and the Havel.")
        said = asked(tmp_path, f"openai:strict-1@{provider.openai_url}\nnone\nn\n")
        text = (tmp_path / "config.yaml").read_text(encoding="utf-8")
        question = "Which rivers meet here?"
        done = run("chat", question, cwd=tmp_path, env=environment(tmp_path))
    assert "1/3" in said
    assert "next:  thalweg chat" in said
    assert "enabled: false" in text
    assert text.count("\n") <= 10
    assert done.stdout == "The Elbe and the Havel.\n", done.stderr
