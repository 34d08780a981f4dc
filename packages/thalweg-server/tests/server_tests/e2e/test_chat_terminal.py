"""`thalweg chat` in a real terminal: what is typed, what is seen."""

import os
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import uvicorn

from core_tests.forking import PYTHON_PATH
from recorder_tests.e2e.test_cli import environment
from server_tests.e2e.chat_gateway import Gateway, application
from server_tests.e2e.forked_command import run
from server_tests.e2e.terminals import Terminal

if os.name != "posix":
    pytest.skip("terminals of POSIX", allow_module_level=True)

FIRST = "in this order; the first is by far the longest of all"
ROOT = Path(__file__).parents[5]


@contextmanager
def served(gateway: Gateway) -> Iterator[str]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    config = uvicorn.Config(application(gateway), port=port, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        threading.Event().wait(0.02)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = server.force_exit = True
        thread.join()


def chat(home: Path, *arguments: str, columns: int = 90, rows: int = 30) -> Terminal:
    """Start a chat in a terminal of its own."""
    paths = os.pathsep.join([PYTHON_PATH, os.environ.get("PYTHONPATH", "")])
    return Terminal(
        ["chat", *arguments],
        cwd=home,
        environ=environment(HOME=str(home), PYTHONPATH=paths),
        columns=columns,
        rows=rows,
    )


def test_an_answer_streams_and_what_the_agent_does_stays_in_order(tmp_path: Path) -> None:
    gateway = Gateway()
    with served(gateway) as url, chat(tmp_path, "--url", url) as terminal:
        terminal.until_asked()
        terminal.say("tell me of rivers")
        terminal.until_seen("Ctrl-C stops")
        terminal.until_seen("… surveyor: ")
        terminal.until_asked()
        rows = [row for row in terminal.all_rows() if row]
        expected = [
            "> tell me of rivers",
            "• memory told 2 facts and 1 earlier turn in 140 tokens",
            "I look at the map.",
            "✓ read_file(path=/maps/elbe.txt): Elbe 1094 km Havel 334 km",
            "✓ surveyor completed: 3 model calls, 2,700 tokens, 3 s",
            "≈ context 12,400 → 4,100 of 16,000 tokens (1 evict, 1 fold): 77% of the window",
            "Rivers",
            f"Three of them meet here, {FIRST}, and the",
            "others are short:",
            " 1 the Elbe, which comes from the mountains",
            " 2 the Havel",
            " 3 the Saale",
            " def meet(rivers: list[str]) -> str:",
            '     return " and ".join(rivers)',
            " river  km",
            " ───────────",
            " Elbe   1094",
            " Havel  334",
            ">",
        ]
        assert rows[1:-1] == expected
        assert rows[-1] == "small · 4.1k of 15.0k (27%) · in 12.4k (9.0k cached), out 310 · $0.01"
        terminal.key("ctrl-d")
        assert terminal.wait() == 0


def test_ctrl_c_stops_an_answer_clears_a_line_and_twice_leaves(tmp_path: Path) -> None:
    gateway = Gateway()
    with served(gateway) as url, chat(tmp_path, "--url", url) as terminal:
        terminal.until_asked()
        terminal.say("slow please")
        terminal.until_seen("word word word")
        terminal.key("ctrl-c")
        terminal.until_seen("stopped; the thread is as after")
        terminal.until_asked()
        assert len(gateway.cancelled) == 1
        terminal.type("half a line")
        terminal.until_seen("> half a line")
        terminal.key("ctrl-c")
        terminal.until_asked()
        terminal.key("ctrl-c")
        terminal.until_seen("Ctrl-C again quits")
        terminal.key("ctrl-c")
        assert terminal.wait() == 0
        assert [asked.message for asked in gateway.asked] == ["slow please"]


def test_commands_are_done_and_a_slip_is_answered_with_the_nearest(tmp_path: Path) -> None:
    gateway = Gateway(pace_s=0.0)
    with served(gateway) as url, chat(tmp_path, "--url", url, rows=60) as terminal:
        terminal.until_asked()
        terminal.type("/")
        terminal.until_seen("/compact")
        terminal.say("conpact")
        terminal.until_seen("did you mean /compact?")
        for typed, seen in (
            ("/compact", "compacted: 1,000 of 15,000 tokens now"),
            ("/help", "Alt-Enter begins a new line"),
            ("/model lagre", "there is no model 'lagre'; there are: small, large"),
            ("/model large", "large answers from now on"),
            ("/model", "*  large"),
            ("/context", "history      3,200"),
            ("/context sytem", "did you mean system?"),
            ("/context system", "You know rivers."),
            ("/usage", "in all"),
            ("/rewind x", "is no number"),
            ("/memory off", "memory is off"),
        ):
            terminal.until_asked()
            terminal.say(typed)
            terminal.until_seen(seen)
        terminal.until_asked()
        terminal.type("two")
        terminal.key("alt-enter")
        terminal.type("lines")
        terminal.until_seen("  lines")
        terminal.key("enter")
        terminal.until_asked()
        (asked,) = gateway.asked
        assert (asked.message, asked.model, asked.memory) == ("two\nlines", "large", "off")
        terminal.key("up")
        terminal.until_seen("  lines")
        terminal.key("ctrl-c")
        terminal.until_asked()
        terminal.say("/quit")
        assert terminal.wait() == 0
    kept = tmp_path / ".thalweg" / "chat_history"
    assert "+two\n+lines" in kept.read_text()
    assert kept.stat().st_mode & 0o77 == 0


def test_what_is_typed_while_an_answer_comes_waits_for_its_turn(tmp_path: Path) -> None:
    gateway = Gateway()
    with served(gateway) as url, chat(tmp_path, "--url", url) as terminal:
        terminal.until_asked()
        terminal.say("tell me of rivers")
        terminal.until_seen("… surveyor")
        terminal.type("and lakes")
        terminal.until_seen("> and lakes")
        rows = terminal.all_rows()
        assert sum("and lakes" in row for row in rows) == 1
        terminal.key("ctrl-c")
        terminal.key("ctrl-d")
        assert terminal.wait() == 0


@pytest.mark.parametrize("columns", [50, 120])
def test_a_terminal_that_changes_its_size_meanwhile_is_drawn_on_rightly(
    tmp_path: Path, columns: int
) -> None:
    gateway = Gateway()
    with served(gateway) as url, chat(tmp_path, "--url", url) as terminal:
        terminal.until_asked()
        terminal.say("tell me of rivers")
        terminal.until_seen("… surveyor")
        terminal.resize(columns, 34)
        terminal.until_asked()
        rows = terminal.all_rows()
        for once in ("I look at the map.", " 2 the Havel", " Elbe   1094"):
            assert sum(row.startswith(once) for row in rows) == 1, once
        assert max(map(len, rows[-12:])) < columns
        terminal.key("ctrl-d")
        terminal.wait()


def test_a_person_approves_edits_and_rejects(tmp_path: Path) -> None:
    gateway = Gateway(pace_s=0.0)
    with served(gateway) as url, chat(tmp_path, "--url", url) as terminal:
        terminal.until_asked()
        questions = 0
        for answers in (["a"], ["x", "r", "not on a Friday"], ["e"]):
            terminal.say("deploy it")
            for answer in answers:
                questions += 1
                terminal.until(partial(_has_asked, questions), "a question")
                terminal.say(answer)
            if answers == ["e"]:
                terminal.until_seen('"where": "production"')
                terminal.key("alt-enter")
            terminal.until_asked()
            terminal.say("/new")
            terminal.until_asked()
        assert gateway.resumed == [
            {"decisions": [{"type": "approve"}]},
            {"decisions": [{"type": "reject", "message": "not on a Friday"}]},
            {
                "decisions": [
                    {
                        "type": "edit",
                        "edited_action": {"name": "deploy", "args": {"where": "production"}},
                    }
                ]
            },
        ]
        terminal.key("ctrl-d")
        terminal.wait()


def _has_asked(questions: int, rows: list[str]) -> bool:
    return sum("[r]eject?" in row or row.startswith("why?") for row in rows) == questions


@pytest.mark.slow
def test_a_killed_chat_goes_on_where_it_was(tmp_path: Path) -> None:
    """The answer was under way, and is under way still: nothing of it is missing."""
    gateway = Gateway()
    with served(gateway) as url:
        with chat(tmp_path, "--url", url) as terminal:
            terminal.until_asked()
            terminal.say("tell me of rivers")
            terminal.until_seen("… surveyor")
            terminal.kill()
        with chat(tmp_path, "--url", url, "--continue") as terminal:
            terminal.until_seen("> tell me of rivers")
            terminal.until_asked()
            assert any(row.startswith(" Havel  334") for row in terminal.all_rows())
            terminal.key("ctrl-d")
            assert terminal.wait() == 0
    assert len(gateway.asked) == 1


@pytest.mark.slow
def test_a_chat_in_process_is_killed_and_goes_on_with_its_thread(tmp_path: Path) -> None:
    """The whole of it: an agent, its storage, memory and approvals, with no gateway anywhere."""
    (tmp_path / "config.yaml").write_text(SETTINGS)
    with chat(tmp_path) as terminal:
        terminal.until_asked()
        terminal.say("use shout loud words")
        terminal.until_seen("[a]pprove")
        terminal.kill()
    with chat(tmp_path, "--continue") as terminal:
        terminal.until_seen("> use shout loud words")
        terminal.until_seen("[a]pprove")
        terminal.say("a")
        terminal.until_seen("✓ shout(words=loud words): LOUD WORDS")
        terminal.until_asked()
        terminal.say("/history")
        terminal.until_seen("#0 > use shout loud words")
        terminal.until_asked()
        terminal.key("ctrl-d")
        assert terminal.wait() == 0


SETTINGS = """
models:
  - {name: streamer, use: "server_tests.e2e.talkers:Streamer", window: 32000}
tools:
  - {name: shout, use: "server_tests.e2e.talkers:shout"}
agent:
  interrupt_on: {shout: true}
"""


@pytest.mark.slow
def test_without_a_model_one_screen_says_how_to_get_to_an_answer(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("{}\n")
    with chat(tmp_path) as terminal:
        terminal.until_seen("No model is configured")
        terminal.until_seen("thalweg config init")
        assert len(terminal.all_rows()) <= 30
        if terminal.process.poll() is None:  # something listens on this machine, and is offered
            terminal.key("enter")
        assert terminal.wait() == 0
    done = piped("hello", cwd=tmp_path)
    assert "no model is configured" in done.stderr


@pytest.mark.slow
def test_nothing_but_the_answer_goes_through_a_pipe(tmp_path: Path) -> None:
    gateway = Gateway(pace_s=0.0)
    with served(gateway) as url:
        done = piped("forty-two\n", "--url", url, cwd=tmp_path)
        assert (done.stdout, done.stderr, done.returncode) == ("forty-two\n", "", 0)
        done = piped("a page", "sum up:", "--url", url, cwd=tmp_path)
        assert done.stdout == "sum up:\n\na page\n"
        done = piped("please fail", "--url", url, cwd=tmp_path)
        assert (done.stdout, done.returncode) == ("", 2)
        assert "quota of 3 requests" in done.stderr
        done = piped("deploy it", "--url", url, cwd=tmp_path)
        assert re.search(r"person's decision.*thalweg chat --thread \S+", done.stderr)
        done = piped("", "--url", url, cwd=tmp_path)
        assert "nothing to ask" in done.stderr
    done = piped("hello", "--url", url, cwd=tmp_path)
    assert "thalweg serve" in done.stderr


def piped(text: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a chat in a pipe."""
    return run("chat", *arguments, cwd=cwd, env=environment(HOME=str(cwd)), given=text)
