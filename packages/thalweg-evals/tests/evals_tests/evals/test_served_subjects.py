"""A server with OpenAI's API at an address: an agent server that manages its own context."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from langchain_core.tools import tool

from core_tests.strict_requests import messages_of
from evals_tests.evals.asking import Asked
from strict_llm import Answer, Request, StrictProvider
from thalweg.errors import ConfigError
from thalweg_evals.subjects.named import subject_named

pytest.importorskip("langchain_openai")


@tool
def weigh(crate: int) -> str:
    """Weigh a crate."""
    return f"{crate} kg"


def _clerk(request: Request) -> Answer:
    said = " ".join(one.text for one in messages_of(request) if one.role == "user")
    if messages_of(request)[-1].role == "tool":
        return Answer(f"{request.model}: {messages_of(request)[-1].text}. You said: {said}")
    return Answer("", calls=(("weigh", {"crate": 7}),))


def test_a_server_is_sent_the_whole_conversation_and_uses_the_tools_of_the_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with StrictProvider(window=64_000, answer=_clerk) as provider:
        subject = subject_named(f"clerk/2:b@{provider.openai_url}")
        asked = Asked(subject, tmp_path, tools=(weigh,))

        assert subject.offers == {"tools", "system_prompt"}
        assert asked.say("A-1") == "clerk/2:b: 7 kg. You said: A-1"
        assert asked.say("B-2").endswith("You said: A-1 B-2")
        assert asked.say("C-3", "another").endswith("You said: C-3")
        assert [one.kind for one in asked.trace.requests] == ["agent"] * 6


@contextmanager
def _listing(said: object) -> Iterator[str]:
    """Answer every GET with something, as `/v1/models` does."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/v1/models" else 404)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name there)
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


def test_a_server_is_asked_for_its_model_where_none_is_named() -> None:
    with _listing({"data": [{"id": "clerk-9"}, {"id": "other"}]}) as url:
        assert getattr(subject_named(url), "model", "") == "clerk-9"


@pytest.mark.parametrize("said", [{"data": []}, [], "nothing"])
def test_a_server_that_names_no_model_is_told_with_how_to_name_one(said: object) -> None:
    with _listing(said) as url, pytest.raises(ConfigError, match=f"write NAME@{url}"):
        subject_named(f"{url}/")


def test_a_server_that_is_not_there_is_told_before_a_trial() -> None:
    with pytest.raises(ConfigError, match="does not answer"):
        subject_named("http://127.0.0.1:9/v1")
