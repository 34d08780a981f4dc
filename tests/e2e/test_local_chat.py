"""`thalweg chat` with a model in a file: the command itself, and real weights."""

import re
from pathlib import Path

import pytest

from tests.e2e.forked_command import run
from tests.e2e.test_cli import environment, thalweg

pytestmark = [pytest.mark.slow, pytest.mark.local_model, pytest.mark.timeout(1_800)]
WINDOW = 4_096


def said(home: Path, model: Path, thread: str, text: str) -> str:
    """Ask one question, and give the answer."""
    command = ("chat", "--model", f"local:{model}", "--thread", thread)
    done = run(*command, cwd=home, env=environment(HOME=str(home)), given=text)
    assert (done.stderr, done.returncode) == ("", 0)
    return done.stdout


def test_it_answers_says_what_it_cannot_and_remembers_in_a_new_thread(
    qwen: Path, tmp_path: Path
) -> None:
    """In an empty folder, with nothing set."""
    said(tmp_path, qwen, "a", "My dog is called Biscuit. Say hello in one sentence.")
    file = said(tmp_path, qwen, "a", "Delete the file /a.txt")
    asked = said(tmp_path, qwen, "b", "What is my dog called? Answer in one sentence.")

    assert "Biscuit" in asked
    assert re.search(r"can(no|')t|unable|sorry|not able|(n't|do not) have|no access", file)


def test_a_thread_outgrows_a_window_that_is_small_by_the_settings(
    smol: Path, tmp_path: Path
) -> None:
    """The third message is one more than it holds."""
    (tmp_path / "config.yaml").write_text(
        f"models:\n"
        f"  - {{name: 'local:{smol}', provider: local, model: '{smol}',\n"
        f"     window: {WINDOW // 4}, max_output: 24, threads: 1}}\n"
    )
    for number in range(3):
        rivers = " ".join(f"River {each} is {each * number + 7} miles long." for each in range(34))
        answer = said(tmp_path, smol, "t", f"{rivers} In one word: what is this about?")

        assert answer.strip()
    shown = thalweg("thread", "show", "t", cwd=tmp_path, HOME=str(tmp_path)).stdout

    assert "the request would not fit" in shown
