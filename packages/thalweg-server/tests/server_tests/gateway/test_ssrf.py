"""No caller can make the gateway connect to an address of the caller's choice."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from server_tests.gateway import worlds
from server_tests.serving import Served, gateway
from thalweg.errors import ConfigError
from thalweg_server.app.graph_threads import check_media_urls

FORMS = (
    "openai:gpt@http://127.0.0.1:{port}/v1",
    "openai:gpt@http://localhost:{port}/v1",
    "openai:x@http://169.254.169.254/latest/meta-data",
    "ollama:x@http://127.0.0.1:{port}",
    "anthropic:claude@http://127.0.0.1:{port}",
    "http://127.0.0.1:{port}/v1",
    "langchain_openai:ChatOpenAI",
    "ticking@http://127.0.0.1:{port}",
    "file:///etc/passwd",
)


@contextmanager
def listening() -> Iterator[tuple[int, list[str]]]:
    """Note every connection to a port of this machine."""
    seen: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, address = server.accept()
                except OSError:
                    return
                seen.append(str(address))
                connection.close()

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], seen


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home: Path = tmp_path_factory.mktemp("ssrf")
    with gateway(worlds.settings(home, keys=worlds.KEYS)) as found:
        yield found


_PRIVATE = [{"type": "image_url", "image_url": {"url": "http://127.0.0.1/"}}]
_MESSAGE = {"role": "user", "content": _PRIVATE}


@pytest.mark.parametrize(
    "values",
    [
        {"role": "user", "content": "", "messages": [_MESSAGE]},
        {"messages": [{**_MESSAGE, "kwargs": {"content": ""}}]},
        {"messages": [{"kwargs": {"content": _PRIVATE}}]},
        {"node": "n", "role": "user", "content": "", "input": {"messages": [_MESSAGE]}},
        {"messages": [{"role": "user", "content": [{"image_url": "http://127%2e0.0.1/"}]}]},
    ],
)
def test_a_key_beside_it_does_not_hide_an_address(values: object) -> None:
    with pytest.raises(ConfigError):
        check_media_urls(values)


def asking(served: Served) -> httpx2.Client:
    return httpx2.Client(base_url=served.url, headers=worlds.ADA, timeout=60)


def test_a_run_names_no_model_that_the_settings_do_not(served: Served) -> None:
    with (
        listening() as (port, seen),
        httpx2.Client(base_url=served.url, headers=worlds.ADA) as http,
    ):
        for form in FORMS:
            body = {"message": "hi", "model": form.format(port=port)}
            answer = http.post("/api/threads/t1/runs", json=body)
            assert answer.status_code in {404, 422}, (form, answer.text)
    assert seen == []


def test_addresses_in_a_message_are_not_fetched_by_the_gateway(served: Served) -> None:
    """An image's address is passed to the model's provider unchanged, or is refused."""
    with (
        listening() as (port, seen),
        httpx2.Client(base_url=served.url, headers=worlds.ADA) as http,
    ):
        for kind in ("image_url", "image", "file"):
            address = f"http://127.0.0.1:{port}/x.png"
            block = {"type": kind, "url": address, "image_url": {"url": address}}
            body = {"message": [{"type": "text", "text": "look"}, block]}
            answer = http.post(f"/api/threads/{kind}/runs", json=body)
            if answer.is_success:
                http.get(f"/api/threads/{kind}/runs/{answer.json()['id']}/wait?timeout=30")
    assert seen == []


@pytest.mark.parametrize("suffix", ["html", "md", "csv", "txt", "xml"])
def test_addresses_in_a_document_are_not_fetched(served: Served, suffix: str) -> None:
    with (
        listening() as (port, seen),
        httpx2.Client(base_url=served.url, headers=worlds.ADA) as http,
    ):
        address = f"http://127.0.0.1:{port}/x"
        page = (
            f'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "{address}">]>'
            f'<html><img src="{address}"><link href="{address}"><iframe src="{address}">&x;</html>'
        )
        text = page if suffix in {"html", "xml"} else f"![x]({address}) {address}"
        http.post("/api/threads/t1/uploads", files={"files": (f"a.{suffix}", text.encode())})
    assert seen == []
