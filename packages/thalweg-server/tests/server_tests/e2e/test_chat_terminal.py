"""`thalweg chat` in a real terminal, with a provider on the loopback."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from core_tests.forking import PYTHON_PATH, start
from core_tests.strict_requests import messages_of
from recorder_tests.e2e.test_cli import environment
from server_tests.e2e.forked_command import run
from server_tests.e2e.terminals import Terminal
from strict_llm import Answer, Request, StrictProvider
from thalweg_server.cli.chat.printing import SILENCE_S

if os.name != "posix":
    pytest.skip("terminals of POSIX", allow_module_level=True)

pytestmark = pytest.mark.slow

RIVERS = "# Rivers\n\nThe Elbe and the Havel **meet** here.\n\n1. one\n2. two\n" + "so " * 60
STATUS = re.compile(r"[\d,]+ of 14,000 tokens \(\d+%\) · price unknown")


def river_guide(request: Request) -> Answer:
    """Answer what is asked for; use the tool `shout` for `shout WORDS`."""
    newest = messages_of(request)[-1]
    if newest.role == "tool":
        return Answer(f"The tool said: {newest.text.splitlines()[-1]}.")
    asked = newest.text.strip().rpartition("\n")[2]
    if "shout" in asked:
        return Answer("I shout.", (("shout", {"words": asked.partition("shout ")[2]}),))
    return Answer(RIVERS if "rivers" in asked else f"You asked: {asked}")


@pytest.fixture
def provider() -> Iterator[StrictProvider]:
    with StrictProvider(window=16_000, answer=river_guide) as provider:
        yield provider


@pytest.fixture
def home(tmp_path: Path, provider: StrictProvider) -> Path:
    """Return a folder with a configuration: a model, a tool that needs approval."""
    model = {"name": "house", "model": "strict-1", "base_url": provider.openai_url}
    settings = {
        "models": [{**model, "window": 16_000, "max_retries": 0}],
        "tools": [{"name": "shout", "use": "server_tests.e2e.talkers:shout"}],
        "agent": {"interrupt_on": {"shout": True}},
        "memory": {"enabled": False},
    }
    (tmp_path / "config.yaml").write_text(json.dumps(settings))
    return tmp_path


def environ_of(home: Path) -> Mapping[str, str]:
    paths = os.pathsep.join([PYTHON_PATH, os.environ.get("PYTHONPATH", "")])
    return environment(HOME=str(home), PYTHONPATH=paths)


def chat(home: Path, *arguments: str) -> Terminal:
    """Start a chat in a terminal of its own."""
    return Terminal(["chat", *arguments], cwd=home, environ=environ_of(home), rows=60)


def piped(text: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a chat in a pipe."""
    return run("chat", *arguments, cwd=cwd, env=environ_of(cwd), given=text)


@contextmanager
def gateway(home: Path) -> Iterator[str]:
    """Run `thalweg serve` in a process of its own."""
    command = ("server_tests.e2e.forked_command", "serve", "--no-token", "--port", "0")
    served = start(*command, cwd=home, env=environ_of(home), stdout=subprocess.PIPE)
    try:
        assert served.stdout is not None
        with served.stdout as lines:
            yield lines.readline().split()[-1]
    finally:
        served.kill()
        served.wait()


def questions(provider: StrictProvider) -> list[str]:
    """Return the user's messages of the newest request."""
    body = provider.requests[-1].body
    assert body is not None
    users = [message["content"] for message in body["messages"] if message["role"] == "user"]
    return [str(text).rpartition("\n")[2] for text in users]


def talk(terminal: Terminal, line: str, seen: str) -> None:
    """Type a line, and wait for words and then for the next prompt."""
    terminal.say(line)
    terminal.until_seen(seen)
    terminal.until_asked()


def test_the_first_line_names_model_folder_memory_and_commands_and_answers_stream(
    home: Path, provider: StrictProvider
) -> None:
    (home / ".git").mkdir()
    (home / ".git" / "HEAD").write_text("ref: refs/heads/flood\n")
    with chat(home) as terminal:
        terminal.until_asked()
        talk(terminal, "tell me of rivers", "of 14,000 tokens")
        rows = [row for row in terminal.all_rows() if row and "prices" not in row]
        terminal.key("ctrl-d")
        assert terminal.wait() == 0
    head = "".join(rows[: rows.index("> tell me of rivers")])
    place = f"{home}, git branch flood"
    wanted = f"house · {place} · memory off · /help, /context, /retry"
    assert head.replace(" ", "") == wanted.replace(" ", "")  # a row may end at any of its spaces
    at = rows.index("# Rivers")
    assert rows[at : at + 4] == [row for row in RIVERS.split("\n")[:-1] if row]
    assert STATUS.fullmatch(rows[-2])
    assert place in str(provider.requests[-1].body)


def test_a_failed_question_is_sent_again_only_when_it_is_asked_for(
    home: Path, provider: StrictProvider
) -> None:
    with chat(home) as terminal:
        terminal.until_asked()
        for question in ("zero", "one"):
            provider.fail_next("server")
            talk(terminal, question, "not answered: /retry")
        assert questions(provider) == ["one"]
        talk(terminal, "two", "You asked: two")
        assert questions(provider) == ["two"]
        provider.fail_next("cut", after=0.5)
        talk(terminal, "tell me of rivers", "not answered: /retry")
        terminal.say("/retry")
        terminal.until(lambda rows: sum("2. two" in row for row in rows) == 2, "the answer twice")
        terminal.until_asked()
        assert questions(provider) == ["two", "tell me of rivers"]
        talk(terminal, "/retry", "no failed or cancelled run is left")
        assert not terminal.rows()[-2].startswith("not answered")
        talk(terminal, "three", "You asked: three")
        assert questions(provider) == ["two", "tell me of rivers", "three"]
        provider.fail_next("server")
        talk(terminal, "four", "> four")
        terminal.kill()
    with chat(home, "--continue") as terminal:
        terminal.until_seen("> four")
        terminal.until_seen("not answered: /retry")
        terminal.until_asked()
        talk(terminal, "five", "You asked: five")
    assert questions(provider) == ["two", "tell me of rivers", "three", "five"]
    assert all(seen.status in {200, 500} for seen in provider.requests)


def test_ctrl_c_stops_an_answer_and_what_was_streamed_stays(
    home: Path, provider: StrictProvider
) -> None:
    with chat(home) as terminal:
        terminal.until_asked()
        provider.fail_next("stall", after=0.5)
        terminal.say("tell me of rivers")
        terminal.until_seen("2. two")
        terminal.key("ctrl-c")
        terminal.until_seen("stopped; /retry repeats it")
        terminal.until_asked()
        assert any("The Elbe and the Havel **meet** here." in row for row in terminal.all_rows())
        provider.fail_next("stall")
        terminal.say("and lakes")
        terminal.until(lambda rows: rows[-1] == "> and lakes", "the question")
        while "and lakes" not in str(provider.requests[-1].body):
            time.sleep(0.02)
        terminal.key("ctrl-c")
        terminal.until_seen("not answered: /retry")
        terminal.until_asked()
        terminal.type("half a line")
        terminal.until_seen("> half a line")
        terminal.key("ctrl-c")
        terminal.until_seen("Ctrl-D quits; the thread is kept")
        talk(terminal, "seas", "You asked: seas")
        assert questions(provider) == ["tell me of rivers", "seas"]
        terminal.key("ctrl-d")
        assert terminal.wait() == 0


@pytest.mark.nightly
def test_a_silent_provider_is_reported(
    home: Path, provider: StrictProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert SILENCE_S == 15
    monkeypatch.setenv("THALWEG_TEST_SILENCE_S", "3")
    provider.fail_next("stall", times=2, seconds=5.0)
    with chat(home) as terminal:
        terminal.until_asked()
        talk(terminal, "tell me of rivers", "nothing received from house for ")
        terminal.until_seen("2. two")
    done = piped("hello", cwd=home)
    assert done.stdout == "You asked: hello\n"
    assert re.match(r"nothing received from house for \d+ s; Ctrl-C stops\n", done.stderr)


@pytest.mark.parametrize(
    ("lines", "seen"),
    [
        (["x", "a"], "The tool said: LOUD WORDS."),
        (["r not on a Friday"], "not on a Friday"),
        (["e {no", '\x15e {"words": "soft"}'], "The tool said: SOFT."),
        (["e", '\b\b quietly"}'], "The tool said: LOUD WORDS QUIETLY."),
        (["s forty"], "forty"),
    ],
    ids=["approve", "reject", "edit", "edit the shown line", "set"],
)
def test_a_line_approves_rejects_edits_and_sets_the_result(
    home: Path, lines: list[str], seen: str
) -> None:
    with chat(home, "shout loud words") as terminal:
        terminal.until_seen("  words: loud words")
        for number, line in enumerate(lines, 1):
            terminal.until(partial(_has_asked, number), "a question")
            terminal.say(line)
        terminal.until_seen(seen)
        terminal.until_asked()
        terminal.key("ctrl-d")
        assert terminal.wait() == 0


def _has_asked(number: int, rows: list[str]) -> bool:
    return sum("a: approve" in row for row in rows) == number


def test_an_open_question_is_asked_again_after_kill_9(home: Path) -> None:
    with chat(home) as terminal:
        terminal.until_asked()
        terminal.say("shout loud words")
        terminal.until_seen("a: approve")
        terminal.kill()
    with chat(home, "--continue") as terminal:
        terminal.until_seen("> shout loud words")
        terminal.until_seen("a: approve")
        terminal.key("ctrl-c")
        terminal.until_seen("still open: --continue repeats it")
        terminal.until_asked()
        thread = re.search(r"chat-\d+-\d+-\w+", "\n".join(terminal.all_rows()))
        assert thread is not None
        terminal.say(f"/thread {thread[0]}")
        terminal.until(partial(_has_asked, 2), "it again")
        terminal.say("a")
        terminal.until_seen("  → shout: LOUD WORDS")
        terminal.until_asked()
        terminal.key("ctrl-d")
        assert terminal.wait() == 0


@pytest.mark.parametrize("is_remote", [False, True])
def test_an_answer_goes_on_after_kill_9(
    home: Path, provider: StrictProvider, *, is_remote: bool
) -> None:
    """In process the run resumes; that of a gateway was never interrupted."""
    provider.fail_next("stall", after=0.5, seconds=4.0)
    with gateway(home) if is_remote else _nothing() as url:
        options = ("--url", url) if url else ()
        with chat(home, *options) as terminal:
            terminal.until_asked()
            terminal.say("tell me of rivers")
            terminal.until_seen("2. two")
            terminal.kill()
        with chat(home, *options, "--continue") as terminal:
            terminal.until_seen("> tell me of rivers")
            terminal.until_asked()
            rows = terminal.all_rows()
            assert ("· this answer was broken off" in rows) == (not is_remote)
            assert sum("**meet** here." in row for row in rows) == (1 if is_remote else 2)
            talk(terminal, "and lakes", "You asked: and lakes")
            assert questions(provider) == ["tell me of rivers", "and lakes"]
            terminal.key("ctrl-d")
            assert terminal.wait() == 0


@contextmanager
def _nothing() -> Iterator[str]:
    yield ""


def test_commands_are_performed_and_a_slip_is_answered_with_the_nearest(
    home: Path, provider: StrictProvider
) -> None:
    (home / "notes.txt").write_text("The Elbe is long.")
    with chat(home, "tell me of rivers") as terminal:
        terminal.until_seen("2. two")
        terminal.until_asked()
        for typed, seen in (
            ("/conpact", "did you mean /compact?"),
            ("/xyzzy", "/help lists the commands"),
            ("/COMPACT", "nothing to compact: "),
            ("/help", "Alt-Enter begins a new line"),
            ("/model huose", "there is no model 'huose'; there are: house"),
            ("/model house", "house answers from now on"),
            ("/model", "house"),
            ("/context", "free "),
            ("/context next", "the next request"),
            ("/context sytem", "'sytem' is no turn; name a turn, or next"),
            ("/undo", "error: "),
            ("/rewind x", "'x' is no number; /context names the turn"),
            ("/rewind 1", "back at turn 1: "),
            ("/memory", "no fact is remembered yet"),
            ("/memory off", "memory is off for the next messages"),
            ("/memory rivers", "memory has nothing on that"),
            ("/memory forget rivers", "Permanently delete everything"),
            ("y", "deleted: 0 facts, 0 turns"),
            ("/upload nowhere.txt", "there is no file 'nowhere.txt'"),
            ("/upload notes.txt", "17 bytes"),
            ("//slash", "You asked: /slash"),
            ("/branch", "thread "),
            ("/new", ""),
            ("/threads", "/thread ID changes to one of them"),
        ):
            terminal.say(typed)
            terminal.until_seen(seen)
            if "[y/N]" not in terminal.rows()[-1]:
                terminal.until_asked()
        terminal.type("two")
        terminal.key("alt-enter")
        terminal.type("lines")
        terminal.key("enter")
        terminal.until_seen("You asked: lines")
        terminal.until_asked()
        assert "two\\nlines" in json.dumps(provider.requests[-1].body)
        terminal.key("up")
        terminal.until_seen("  lines")
        terminal.key("ctrl-c")
        talk(terminal, "/thread nowhere", "nowhere")
        terminal.say("/quit")
        assert terminal.wait() == 0
    kept = home / ".thalweg" / "chat_history"
    assert "+two\n+lines" in kept.read_text()
    assert kept.stat().st_mode & 0o77 == 0


def test_a_paste_is_one_message_and_typing_meanwhile_waits_for_its_turn(
    home: Path, provider: StrictProvider
) -> None:
    provider.fail_next("stall", after=0.5, seconds=2.0)
    with chat(home) as terminal:
        terminal.until_asked()
        terminal.type("\x1b[200~tell me\nof rivers\x1b[201~")
        terminal.key("enter")
        terminal.until_seen("2. two")
        terminal.type("and lakes")
        terminal.until_seen("> and lakes")
        terminal.key("enter")
        terminal.until_seen("You asked: and lakes")
    assert "tell me\\nof rivers" in json.dumps(provider.requests[-1].body)


def test_without_a_model_one_screen_says_how_to_get_to_an_answer(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("{}\n")
    with chat(tmp_path) as terminal:
        terminal.until_seen("No model is configured")
        terminal.until_seen("thalweg config init")
        assert len(terminal.all_rows()) <= 30
        assert terminal.wait() == 0
    assert "no model is configured" in piped("hello", cwd=tmp_path).stderr


def test_nothing_but_the_answer_goes_through_a_pipe(home: Path, provider: StrictProvider) -> None:
    done = piped("forty-two\n", cwd=home)
    assert (done.stdout, done.stderr, done.returncode) == ("You asked: forty-two\n", "", 0)
    assert piped("a page", "sum up:", cwd=home).stdout == "You asked: a page\n"
    assert "sum up:\\n\\na page" in json.dumps(provider.requests[-1].body)
    provider.fail_next("invalid")
    done = piped("please fail", cwd=home)
    assert (done.stdout, done.returncode, done.stderr.count("\n")) == ("", 2, 1)
    done = piped("shout it", cwd=home)
    assert re.search(r"person's decision.*thalweg chat --thread \S+", done.stderr)
    assert "nothing to ask" in piped("", cwd=home).stderr
    with gateway(home) as url:
        assert piped("hello", "--url", url, cwd=home).stdout == "You asked: hello\n"
    assert "thalweg serve" in piped("hello", "--url", url, cwd=home).stderr
