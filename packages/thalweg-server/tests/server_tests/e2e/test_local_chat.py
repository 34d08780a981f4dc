"""`thalweg chat` with a model that a server on this machine runs: the command, and real weights."""

import re
from pathlib import Path

import pytest

from core_tests.local_models import served
from recorder_tests.e2e.test_cli import environment, thalweg
from server_tests.e2e.forked_command import run

pytestmark = [pytest.mark.slow, pytest.mark.local_model, pytest.mark.timeout(1_800)]


def said(home: Path, model: str, thread: str, text: str) -> str:
    """Ask one question, and return the answer."""
    command = ("chat", "--model", model, "--thread", thread)
    done = run(*command, cwd=home, env=environment(HOME=str(home)), given=text)
    notes = [line for line in done.stderr.splitlines() if "nothing received" not in line]
    assert (notes, done.returncode) == ([], 0)  # on a busy machine the model takes its time
    return done.stdout


def configure(home: Path, address: str, *lines: str) -> None:
    entry = ("name: here", f"base_url: {address}", "temperature: 0", *lines)
    (home / "config.yaml").write_text("models:\n  - " + "\n    ".join(entry) + "\n")


def test_it_answers_says_what_it_cannot_and_remembers_in_a_new_thread(
    qwen: Path, tmp_path: Path
) -> None:
    """A model that was not trained for tools is offered none."""
    with served(qwen, 4_096) as address:
        lines = ("window: 4096", "max_output: 512", "profile: {tool_calling: false}")
        configure(tmp_path, address, *lines)
        said(tmp_path, "here", "a", "My dog is called Biscuit. Say hello in one sentence.")
        file = said(tmp_path, "here", "a", "Delete the file /a.txt")
        asked = said(tmp_path, "here", "b", "What is my dog called? Answer in one sentence.")

    assert "Biscuit" in asked
    assert re.search(r"can(no|')t|unable|sorry|not able|(n't|do not) have|no access", file)


def test_a_thread_outgrows_a_window_that_is_small_by_the_settings(
    smol: Path, tmp_path: Path
) -> None:
    """The third message is one more than it holds."""
    with served(smol, 1_024) as address:
        configure(tmp_path, address, "window: 1024", "max_output: 24")
        for number in range(3):
            rivers = " ".join(f"River {n} is {n * number + 7} miles long." for n in range(34))
            answer = said(tmp_path, "here", "t", f"{rivers} In one word: what is this about?")

            assert answer.strip()
    shown = thalweg("thread", "show", "t", cwd=tmp_path, HOME=str(tmp_path)).stdout

    assert "the request would not fit" in shown


def test_a_server_is_named_by_its_address_with_nothing_configured(
    smol: Path, tmp_path: Path
) -> None:
    with served(smol, 4_096) as address:  # it may talk until that is full
        assert said(tmp_path, f"openai:smol@{address}", "t", "Say hello in one sentence.").strip()
