"""A reader has each event once, in order, up to the end, regardless of connection failures."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg.errors import ClientError, NoSuchRunError
from thalweg_server.api.catalogue import Usage
from thalweg_server.api.events import (
    EVENT,
    Event,
    MessageDelta,
    Notice,
    Numbered,
    RunCompleted,
    RunFailed,
    RunStarted,
)
from thalweg_server.api.problems import Problem
from thalweg_server.client import AsyncThalwegClient, ThalwegClient, connection

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_FIRST_PAUSE_S", 0.0)


@dataclass(frozen=True)
class Line:
    """What becomes of one connection: refused, or cut after so many bytes; what it repeats."""

    status: int = 200
    cut_at: int | None = None
    dies: bool = False
    back: int = 0
    skips: int = 0


@dataclass
class Gateway:
    """Has one run with some events, and a bad line."""

    events: Sequence[Event]
    lines: Iterator[Line]
    renamed: tuple[bytes, bytes] = (b"", b"")
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Take a request."""
        if scope["type"] != "http":
            return
        del receive
        headers = dict(scope["headers"])
        after = int(headers.get(b"last-event-id", b"0"))
        self.asked.append((scope["method"], scope["path"], str(after)))
        line = next(self.lines, Line())
        kind = b"text/event-stream" if line.status == 200 else b"application/problem+json"
        await send(
            {
                "type": "http.response.start",
                "status": line.status,
                "headers": [(b"content-type", kind)],
            }
        )
        first = max(0, after - line.back) + line.skips
        body = b"".join(frame(seq, event) for seq, event in self._from(first))
        body = body.replace(*self.renamed) if self.renamed[0] else body
        if line.status != 200:
            body = b"{}"
        body = body if line.cut_at is None else body[: line.cut_at]
        await send({"type": "http.response.body", "body": body, "more_body": True})
        if line.dies:
            raise LookupError
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _from(self, first: int) -> Iterator[tuple[int, Event]]:
        return ((seq, event) for seq, event in enumerate(self.events, 1) if seq > first)


def frame(seq: int, event: Event) -> bytes:
    data = EVENT.dump_json(event).decode()
    return f": keep-alive\n\nid: {seq}\nevent: {event.type}\ndata: {data}\n\n".encode()


def run_of(deltas: Sequence[str]) -> list[Event]:
    return [
        RunStarted(run="r", thread="t"),
        *(MessageDelta(message="m", text=text) for text in deltas),
        RunCompleted(text="".join(deltas), usage=Usage()),
    ]


lines = st.builds(
    Line,
    status=st.sampled_from([200, 200, 200, 503]),
    cut_at=st.none() | st.integers(0, 900),
    dies=st.booleans(),
    back=st.integers(0, 4),
    skips=st.sampled_from([0, 0, 0, 1, 3]),
)


async def heard(gateway: Gateway, at: int = 0) -> list[Numbered]:
    async with AsyncThalwegClient(gateway) as client:
        if at:
            return [each async for each in client.join_stream("t", "r", after=at)]
        return [each async for each in client.stream("hello", "t", run="r")]


@given(st.lists(st.text(max_size=40), max_size=8), st.lists(lines, max_size=5), st.data())
def test_each_event_comes_once_and_in_order_whatever_the_line_does(
    deltas: list[str], bad: list[Line], data: st.DataObject
) -> None:
    events = run_of(deltas)
    at = data.draw(st.integers(0, len(events) - 1))
    got = asyncio.run(heard(Gateway(events, iter(bad)), at))
    assert [each.seq for each in got] == list(range(at + 1, len(events) + 1))
    assert [each.event for each in got] == events[at:]


def test_a_stream_is_started_once_and_followed_from_then_on() -> None:
    """A second start would be the same run, but a run that is there need not be asked for."""
    gateway = Gateway(run_of(["a", "b"]), iter([Line(status=503), Line(cut_at=150), Line()]))
    asyncio.run(heard(gateway))
    assert gateway.asked == [
        ("POST", "/api/threads/t/runs/stream", "0"),
        ("POST", "/api/threads/t/runs/stream", "0"),
        ("GET", "/api/threads/t/runs/r/stream", "1"),
    ]


def test_a_stream_that_gets_nowhere_is_given_up() -> None:
    gateway = Gateway(run_of(["a"]), iter([Line(cut_at=0, dies=True)] * 100))
    with pytest.raises(ClientError, match="no gateway answers") as caught:
        asyncio.run(heard(gateway))
    assert caught.value.problem_code == "client.unreachable"
    assert len(gateway.asked) == connection.TRIES


def test_a_stream_that_gets_on_a_little_each_time_is_not_given_up() -> None:
    events = run_of(["word"] * 30)
    size = max(len(frame(30, event)) for event in events[:-1])
    gateway = Gateway(events, iter([Line(cut_at=size, dies=True)] * 31))
    assert len(asyncio.run(heard(gateway))) == len(events)


def test_a_refusal_is_told_at_once() -> None:
    gateway = Gateway(run_of(["a"]), iter([Line(status=404)]))
    with pytest.raises(ClientError):
        asyncio.run(heard(gateway))
    assert len(gateway.asked) == 1


def test_leaving_the_loop_ends_the_stream_and_a_second_loop_goes_on_behind_it() -> None:
    events = run_of(["a", "b", "c"])

    async def main() -> list[int]:
        async with AsyncThalwegClient(Gateway(events, iter([]))) as client:
            stream = client.stream("hello", "t", run="r")
            async for numbered in stream:
                if numbered.seq == 2:
                    break
            return [each.seq async for each in stream]

    assert asyncio.run(main()) == [3, 4, 5]


def test_a_closed_stream_gives_nothing_more() -> None:
    with ThalwegClient(Gateway(run_of(["a", "b"]), iter([]))) as client:
        stream = client.stream("hello", "t", run="r")
        got = []
        for numbered in stream:
            got.append(numbered.seq)
            stream.close()
        assert got == [1]
        assert (stream.thread, stream.run, stream.seq) == ("t", "r", 1)


def test_an_event_of_a_newer_gateway_is_told_as_a_notice() -> None:
    gateway = Gateway(run_of(["a"]), iter([]), renamed=(b"message.delta", b"run.tickled"))
    got = asyncio.run(heard(gateway))
    assert got[1].event == Notice(
        kind="run.tickled", detail={"type": "run.tickled", "message": "m", "text": "a"}
    )


def test_a_chat_is_the_final_answer() -> None:
    with ThalwegClient(Gateway(run_of(["for", "ty"]), iter([]))) as client:
        assert client.chat("how many?", "t") == "forty"


def test_a_chat_whose_run_failed_raises_what_it_failed_with() -> None:
    problem = Problem(
        title="Not found",
        status=404,
        code="run.not_found",
        detail="there is no run 'r9'",
        arguments=("r9",),
    )
    with (
        ThalwegClient(Gateway([RunFailed(problem=problem)], iter([]))) as client,
        pytest.raises(NoSuchRunError, match="r9"),
    ):
        client.chat("how many?", "t")
