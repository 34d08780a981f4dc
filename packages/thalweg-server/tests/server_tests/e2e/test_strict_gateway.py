"""A provider with OpenAI's API, by `config.yaml` alone: real sockets and processes."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core_tests.strict_requests import messages_of
from recorder_tests.e2e.test_cli import here
from server_tests.e2e.forked_command import run, serving
from server_tests.e2e.test_chat_terminal import environ_of
from strict_llm import Answer, Request, Seen, StrictProvider
from thalweg_server.api.events import ContextChanged, MessageDelta, RunCompleted, ToolCompleted
from thalweg_server.client import ThalwegClient

WINDOW = 12_000
GOAL = "Never name a heron after a mill."
NOWHERE = "openai:m@http://127.0.0.1:1/v1"
PAGE = "\n".join(f"{number}: a heron at mile {number * 7 % 101}" for number in range(150))
QUESTIONS = [f"Write page {number} of the log. {GOAL if not number else ''}" for number in range(8)]


def keeps_a_log(request: Request) -> Answer:
    """Write a page and read it again where one is asked for; else answer."""
    newest = messages_of(request)[-1]
    if newest.role == "user" and "Write page" in newest.text and request.tools:
        path = f"/log-{request.number}.txt"
        return Answer("I write.", (("write_file", {"file_path": path, "content": PAGE}),))
    if newest.role == "tool" and "heron" not in newest.text:
        written = json.loads(messages_of(request)[-2].calls[0].arguments)
        return Answer(calls=(("read_file", {"file_path": written["file_path"]}),))
    return Answer(f"That was request {request.number}.")


@pytest.fixture(scope="module")
def whole_provider() -> Iterator[StrictProvider]:
    with StrictProvider(window=WINDOW, answer=keeps_a_log) as provider:
        yield provider


@pytest.fixture
def provider(whole_provider: StrictProvider) -> StrictProvider:
    """Return the provider, without any requests yet from this test."""
    whole_provider.requests.clear()
    return whole_provider


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, whole_provider: StrictProvider) -> Path:
    """Return a folder with nothing in it but a `config.yaml`."""
    folder = tmp_path_factory.mktemp("home")
    (folder / "config.yaml").write_text(
        f"models:\n"
        f"  - {{name: house, model: strict-1, base_url: {whole_provider.openai_url}, "
        f"window: {WINDOW}}}\n"
        f"agent: {{profile: full}}\n"
    )
    return folder


@pytest.fixture(scope="module")
def url(home: Path) -> Iterator[str]:
    """Run `thalweg serve` on a free port until it is not needed any more."""
    with serving("--no-token", cwd=home, env=environ_of(home)) as lines:
        yield lines[0].split()[-1]


@pytest.fixture(autouse=True)
def _no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in this process read nothing but their arguments."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())


def refused(provider: StrictProvider) -> list[Seen]:
    return [seen for seen in provider.requests if seen.status != 200]


@pytest.mark.slow
def test_a_long_thread_with_tools_streams_and_is_compacted_and_nothing_is_refused(
    url: str, provider: StrictProvider
) -> None:
    events = []
    with ThalwegClient(url) as client:
        for question in QUESTIONS:
            events += [numbered.event for numbered in client.stream(question, "log")]
        health = client.health().status
        usage = client.get_thread_usage("log").total

    assert refused(provider) == []
    assert [type(event) for event in events].count(RunCompleted) == len(QUESTIONS)
    tools = [event.name for event in events if isinstance(event, ToolCompleted)]
    assert tools == ["write_file", "read_file"] * len(QUESTIONS)
    assert any(isinstance(event, MessageDelta) for event in events)
    assert any(isinstance(event, ContextChanged) for event in events)
    assert all(seen.stream for seen in provider.requests if seen.body and seen.body.get("tools"))
    assert max(seen.tokens for seen in provider.requests) < WINDOW
    assert GOAL in str(provider.requests[-1].body)
    assert (health, usage.input_tokens > WINDOW) == ("ok", True)


@pytest.mark.slow
def test_the_chat_of_the_same_file_answers_in_process_and_at_the_gateway(
    home: Path, url: str, provider: StrictProvider
) -> None:
    local = run("chat", "--thread", "t", QUESTIONS[0], cwd=home, env=environ_of(home))
    there = here("chat", "--url", url, "--thread", "t", "And now?", cwd=home)

    assert [each.returncode for each in (local, there)] == [0, 0], local.stderr + there.stderr
    assert [said.stdout[:17] for said in (local, there)] == ["That was request "] * 2
    assert refused(provider) == []
    bodies = [str(seen.body) for seen in provider.requests]
    assert any("And now?" in body and "Write page 0" in body for body in bodies)


@pytest.mark.slow
def test_who_sits_at_the_process_names_any_model_and_who_comes_over_http_does_not(
    home: Path, url: str, provider: StrictProvider, tmp_path: Path
) -> None:
    """A gateway does not connect to addresses that its callers name."""
    model = f"openai:strict-1@{provider.openai_url}"
    local = run("chat", "--model", model, "Hello.", cwd=tmp_path, env=environ_of(tmp_path))
    asked = len(provider.requests)
    there = here("chat", "--url", url, "--model", model, "Hello.", cwd=tmp_path)
    unknown = here("chat", "--model", "huose", "Hello.", cwd=home)

    assert (local.stdout[:17], local.stderr) == ("That was request ", "")
    assert (there.returncode, f"there is no model '{model}'" in there.stderr) == (2, True)
    assert "no model is called 'huose'; name one of house, or provider:model" in unknown.stderr
    assert len(provider.requests) == asked > 0
    assert refused(provider) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--url", "nonsense"], "--url: 'nonsense' is no address; write http://HOST:PORT"),
        (["--thread", "a\tb"], r"the thread id 'a\tb' has '\t', which is no character of a text"),
        (["--key", "k"], "--key: it is for a gateway elsewhere; name it with --url"),
        (
            ["--model", NOWHERE],
            f"the provider of model {NOWHERE!r} cannot be reached at 127.0.0.1:1 ",
        ),
    ],
)
def test_what_cannot_be_reached_or_used_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = here("chat", *arguments, "Hello.", cwd=tmp_path)

    assert done.stderr.startswith(f"thalweg: {said}")
    assert (done.stdout, done.stderr.count("\n"), done.returncode) == ("", 1, 2)
