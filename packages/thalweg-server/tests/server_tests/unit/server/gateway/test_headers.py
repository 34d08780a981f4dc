"""Connections that send their headers slowly are closed; all others remain open."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from server_tests.serving import gateway
from thalweg_server.settings import Settings

REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    home: Path = tmp_path_factory.mktemp("home")
    settings = Settings.model_validate(
        {"storage": {"home": str(home)}, "gateway": {"header_timeout_s": 0.4}}
    )
    with gateway(settings) as served:
        found = urlsplit(served.url)
        assert found.hostname is not None
        assert found.port is not None
        yield found.hostname, found.port


@contextmanager
def connected(address: tuple[str, int]) -> Iterator[socket.socket]:
    with socket.create_connection(address, PATIENCE_S) as connection:
        connection.settimeout(PATIENCE_S)
        yield connection


def trickle(connection: socket.socket) -> None:
    for _ in range(200):
        connection.sendall(b"X-More: 1\r\n")
        time.sleep(0.05)


def read_answer(connection: socket.socket) -> bytes:
    answer = b""
    while not answer.endswith(b"}"):  # of the JSON, which has no braces behind its end
        answer += connection.recv(65_536)
    return answer


@pytest.mark.parametrize("begun", [b"", b"GET / HT", REQUEST])
def test_half_a_request_is_closed_without_an_answer(address: tuple[str, int], begun: bytes) -> None:
    with connected(address) as connection:
        connection.sendall(begun)
        assert connection.recv(100) == b""


def test_headers_that_trickle_in_are_closed_all_the_same(address: tuple[str, int]) -> None:
    with connected(address) as connection:
        connection.sendall(REQUEST)
        with pytest.raises(OSError):  # noqa: PT011 (reset or broken pipe, as the system has it)
            trickle(connection)


def test_a_second_request_on_a_connection_has_its_own_time(address: tuple[str, int]) -> None:
    with connected(address) as connection:
        for _ in range(2):
            connection.sendall(REQUEST + b"\r\n")
            assert read_answer(connection).startswith(b"HTTP/1.1 200")
            time.sleep(0.6)  # longer than headers may take: an idle connection is no slow one
        connection.sendall(REQUEST)
        assert connection.recv(65_536) == b""
