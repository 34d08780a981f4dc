"""What is found that could answer, and what is not asked of whom."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from thalweg.engine.extras import install_line
from thalweg_server.models import discovery, find_models, how_to_answer
from thalweg_server.models.discovery import AvailableModel, ollama_address


@contextmanager
def serving(content: bytes) -> Iterator[str]:
    """Answer every request with the same bytes, and yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: object) -> None:
            del args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not contact the servers of this machine."""
    monkeypatch.setattr(discovery, "SERVERS", ())
    monkeypatch.setattr(discovery, "OLLAMA", "http://127.0.0.1:9")
    monkeypatch.setattr(discovery, "WITHIN_S", 20.0)  # this machine may be busy


def test_nothing_is_found_where_nothing_is() -> None:
    assert find_models({}) == ()


def test_a_key_offers_its_provider_and_is_not_told() -> None:
    (offer,) = find_models({"OPENAI_API_KEY": "sk-secret", "GROQ_API_KEY": ""})

    assert offer.name.startswith("openai:")
    assert offer.what == "OpenAI, by OPENAI_API_KEY"
    assert offer.is_ready
    assert "sk-secret" not in repr(offer)


def test_a_key_without_its_package_comes_last_and_says_what_to_install() -> None:
    ready, lacking = find_models({"XAI_API_KEY": "x", "ANTHROPIC_API_KEY": "a"})

    assert ready.name.startswith("anthropic:")
    assert (lacking.missing, lacking.is_ready) == (install_line("langchain-xai"), False)


def test_ollama_is_asked_for_its_models_where_its_own_variable_says() -> None:
    tags = json.dumps({"models": [{"name": "qwen3:4b"}, {"name": "phi4"}, {"no": "name"}]})
    with serving(tags.encode()) as url:
        found = find_models({"OLLAMA_HOST": url.removeprefix("http://")})

    assert [offer.name for offer in found] == ["ollama:qwen3:4b", "ollama:phi4"]


def test_ollama_without_a_model_says_how_to_get_one() -> None:
    with serving(b'{"models": []}') as url:
        (offer,) = find_models({"OLLAMA_HOST": url})

    assert offer.missing == "ollama pull qwen3:4b"


def test_a_server_that_speaks_the_api_of_openai_is_offered_with_its_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(b'{"data": [{"id": "qwen.gguf"}]}') as url:
        monkeypatch.setattr(discovery, "SERVERS", (("llama.cpp", url),))
        (offer,) = find_models({})

    assert offer.name == f"openai:qwen.gguf@{url}/v1"


@pytest.mark.parametrize(
    "said", [b"<html>", b"[]", b'{"data": 3}', b'{"data": [{"id": "\\u001b[31m"}]}', b"\xff"]
)
def test_somebody_else_on_that_port_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    with serving(said) as url:
        monkeypatch.setattr(discovery, "SERVERS", (("vLLM", url),))

        assert find_models({}) == ()


def test_a_server_that_never_answers_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setattr(discovery, "WITHIN_S", 0.3)
        monkeypatch.setattr(discovery, "SERVERS", (("vLLM", f"http://127.0.0.1:{port}"),))
        found = find_models({"OPENAI_API_KEY": "x"})

    assert [offer.what for offer in found] == ["OpenAI, by OPENAI_API_KEY"]


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("", "http://127.0.0.1:9"),
        ("0.0.0.0:99", "http://127.0.0.1:99"),
        ("https://box/", "https://box:11434"),
        ("[::1]", "http://[::1]:11434"),
    ],
)
def test_the_address_of_ollama_is_read_as_people_write_it(given: str, address: str) -> None:
    assert ollama_address({"OLLAMA_HOST": given}) == address


@pytest.mark.parametrize("count", [0, 1, 40])
def test_the_way_to_an_answer_fits_a_screen(count: int) -> None:
    said = how_to_answer([AvailableModel(f"ollama:m{n}", "Ollama") for n in range(count)])
    lines = said.splitlines()

    assert len(lines) <= 32
    # A command has the path of the environment, whatever its length.
    assert max(len(line) for line in lines if " install " not in line) <= 80
    assert ("thalweg chat --model ollama:m0" in said) == bool(count)
