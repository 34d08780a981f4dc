"""Requests that are retried, those that are not, and the error when nothing answers."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import pytest

from thalweg.errors import ClientError, ConfigError
from thalweg_server.client import AsyncThalwegClient, ThalwegClient, connection

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_FIRST_PAUSE_S", 0.0)


class Answers:
    """Answers each request with the next status; 0 breaks the line."""

    def __init__(self, *statuses: int, body: bytes = b'{"items": []}') -> None:
        self._statuses: Iterator[int] = iter(statuses)
        self._body = body
        self.asked: list[str] = []

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] != "http":
            return
        del receive
        self.asked.append(scope["method"])
        status = next(self._statuses)
        if status:
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": self._body})


def test_what_may_be_asked_twice_is_asked_until_it_is_answered() -> None:
    gateway = Answers(503, 0, 429, 200)
    with ThalwegClient(gateway) as client:
        assert client.list_threads().items == ()
    assert gateway.asked == ["GET"] * 4


@pytest.mark.parametrize("first", [0, 503])
def test_what_may_have_been_done_is_not_asked_twice(first: int) -> None:
    """A second undo would undo another thing."""
    gateway = Answers(first, 200)
    with ThalwegClient(gateway) as client, pytest.raises(ClientError):
        client.undo_compaction("t")
    assert gateway.asked == ["POST"]


def test_a_run_is_started_again_as_its_id_says_that_it_is_the_same() -> None:
    gateway = Answers(0, 503, 400)
    with ThalwegClient(gateway) as client, pytest.raises(ClientError):
        client.start_run("t", "hello")
    assert gateway.asked == ["POST"] * 3


def test_tries_have_an_end() -> None:
    gateway = Answers(*[503] * 100)
    with ThalwegClient(gateway) as client, pytest.raises(ClientError) as caught:
        client.list_threads()
    assert (caught.value.status, len(gateway.asked)) == (503, connection.TRIES)


def test_where_nothing_listens_is_told_with_what_to_start() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with (
        ThalwegClient(f"http://127.0.0.1:{port}") as client,
        pytest.raises(ClientError, match="thalweg serve") as caught,
    ):
        client.list_models()
    assert str(port) in str(caught.value)
    assert (caught.value.status, caught.value.problem_code) == (0, "client.unreachable")


def test_an_answer_of_another_version_is_told_with_the_place() -> None:
    gateway = Answers(200, body=b'{"items": [{"name": 3}]}')
    with (
        ThalwegClient(gateway) as client,
        pytest.raises(ClientError, match=r"items\.0\.name.*the same version"),
    ):
        client.list_models()


@pytest.mark.parametrize("at", [["http://a", "b:80"], []])
def test_an_address_that_is_none_is_told_before_anything_is_asked(at: list[str]) -> None:
    with pytest.raises(ConfigError, match="address"):
        ThalwegClient(at)


def test_whose_memory_it_is_a_gateway_elsewhere_knows_by_the_key() -> None:
    with pytest.raises(ConfigError, match="key identifies"):
        AsyncThalwegClient("http://a", owner="ada")


def test_a_client_opens_again_after_it_was_closed() -> None:
    async def main() -> None:
        client = AsyncThalwegClient(Answers(200, 200))
        await client.list_threads()
        await client.aclose()
        await client.list_threads()
        await client.aclose()
        await client.aclose()

    asyncio.run(main())
