"""A gateway dies while it streams: the stream continues at the next, without gap or repeat."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest

from server_tests.e2e.chat_gateway import RIVERS, Gateway, served
from thalweg.errors import ClientError
from thalweg_server.api.events import MessageDelta, RunCompleted
from thalweg_server.client import ThalwegClient


class Way:
    """A way to a gateway that can be cut: a gateway of its own, to who comes by it."""

    def __init__(self, to: str) -> None:
        self._to = (urlsplit(to).hostname or "", urlsplit(to).port or 0)
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        self._ends: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def die(self) -> None:
        """Cut every connection, and take no more."""
        for each in (self._door, *self._ends):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                here, _ = self._door.accept()
                there = socket.create_connection(self._to)
                self._ends += [here, there]
                for one, other in ((here, there), (there, here)):
                    threading.Thread(target=_carry, args=(one, other), daemon=True).start()


def _carry(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while part := one.recv(65_536):
            other.sendall(part)
    with suppress(OSError):
        other.shutdown(socket.SHUT_WR)


@contextmanager
def ways(to: str, count: int) -> Iterator[list[Way]]:
    made = [Way(to) for _ in range(count)]
    try:
        yield made
    finally:
        for way in made:
            way.die()


def test_a_stream_goes_on_at_the_next_gateway() -> None:
    gateway = Gateway(pace_s=0.005)
    with (
        served(gateway) as url,
        ways(url, 3) as gateways,
        ThalwegClient([way.url for way in gateways]) as client,
    ):
        text, seqs, event = "", [], None
        for numbered in client.stream("tell me of rivers", "t", run="r"):
            seqs.append(numbered.seq)
            event = numbered.event
            if numbered.seq in {12, 40}:
                gateways[numbered.seq // 40].die()
            if isinstance(event, MessageDelta) and event.message == "m2":
                text += event.text
        assert isinstance(event, RunCompleted)
        assert seqs == list(range(1, len(seqs) + 1))
        assert text == RIVERS
    assert len(gateway.asked) == 1


@pytest.mark.slow
def test_where_all_gateways_are_gone_it_says_which_were_tried() -> None:
    gateway = Gateway(pace_s=0.005)
    with served(gateway) as url, ways(url, 2) as gateways:
        with ThalwegClient([way.url for way in gateways]) as client:
            events = iter(client.stream("slow please", "t"))
            next(events)
            for way in gateways:
                way.die()
            with pytest.raises(ClientError, match="thalweg serve") as caught:
                list(events)
        assert all(way.url in str(caught.value) for way in gateways)
