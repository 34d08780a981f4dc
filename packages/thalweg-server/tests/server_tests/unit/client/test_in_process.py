"""An application in this process is reached as a server would run it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import httpx2
import pytest

from thalweg.errors import ConfigError
from thalweg_server.client.in_process import Application, InProcess

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Work = Callable[[Message, Receive, Send], Awaitable[None]]

ASKED_BY: ContextVar[str] = ContextVar("ASKED_BY", default="nobody")


def without_lifespan(work: Work) -> Application:
    async def application(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await work(scope, receive, send)

    return application


@asynccontextmanager
async def reached(application: Application) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(
        transport=InProcess(application), base_url="http://localhost"
    ) as http:
        yield http


async def begin(send: Send, status: int = 200) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"x-a", b"b")]})


async def part(send: Send, body: bytes, *, last: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": not last})


def test_a_part_is_there_before_the_next_is_made() -> None:
    async def main() -> list[bytes]:
        go = asyncio.Event()

        async def work(_scope: Message, _receive: Receive, send: Send) -> None:
            await begin(send)
            await part(send, b"one")
            await go.wait()
            await part(send, b"two", last=True)

        got = []
        async with (
            reached(without_lifespan(work)) as http,
            http.stream("GET", "/") as response,
        ):
            assert response.headers["x-a"] == "b"
            async for each in response.aiter_raw():
                got.append(each)
                go.set()
        return got

    assert asyncio.run(main()) == [b"one", b"two"]


def test_an_application_does_not_run_ahead_of_its_reader() -> None:
    """A reader that is slow holds the application back: nothing piles up between them."""
    sent: list[int] = []

    async def work(_scope: Message, _receive: Receive, send: Send) -> None:
        await begin(send)
        for number in range(50):
            await part(send, b"%d" % number)
            sent.append(number)
        await part(send, b"", last=True)

    async def main() -> None:
        async with (
            reached(without_lifespan(work)) as http,
            http.stream("GET", "/") as response,
        ):
            read = 0
            async for _ in response.aiter_raw():
                read += 1
                for _ in range(20):
                    await asyncio.sleep(0)
                assert len(sent) <= read + 2
            assert read == 50

    asyncio.run(main())


def test_an_application_hears_that_its_reader_went_away() -> None:
    heard: list[str] = []

    async def work(_scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        await begin(send)
        await part(send, b"one")
        heard.append((await receive())["type"])
        await part(send, b"to nobody")

    async def main() -> None:
        async with reached(without_lifespan(work)) as http:
            async with http.stream("GET", "/") as response:
                async for _ in response.aiter_raw():
                    break
            for _ in range(10):
                await asyncio.sleep(0)
            assert heard == ["http.disconnect"]  # at once, and not when all of it closes

    asyncio.run(main())


def test_a_request_that_is_given_up_is_a_reader_that_went_away() -> None:
    heard: list[str] = []

    async def work(_scope: Message, receive: Receive, _send: Send) -> None:
        await receive()
        heard.append((await receive())["type"])

    async def main() -> None:
        async with reached(without_lifespan(work)) as http:
            asking = asyncio.create_task(http.get("/"))
            for _ in range(10):
                await asyncio.sleep(0)
            asking.cancel()
            await asyncio.wait([asking])
            assert asking.cancelled()

    asyncio.run(main())
    assert heard == ["http.disconnect"]


def test_a_body_arrives_as_it_was_sent() -> None:
    async def work(scope: Message, receive: Receive, send: Send) -> None:
        whole, more = b"", True
        while more:
            message = await receive()
            whole, more = whole + message["body"], message["more_body"]
        await begin(send)
        await part(send, scope["method"].encode() + b" " + scope["raw_path"] + b" " + whole)
        await part(send, b"", last=True)

    async def parts() -> AsyncIterator[bytes]:
        for each in (b"a", b"b", b"c"):
            yield each

    async def main() -> bytes:
        async with reached(without_lifespan(work)) as http:
            return (await http.post("/x%2Fy?q=1", content=parts())).content

    assert asyncio.run(main()) == b"POST /x%2Fy abc"


def test_an_application_that_dies_in_its_answer_is_a_broken_line() -> None:
    async def work(_scope: Message, _receive: Receive, send: Send) -> None:
        await begin(send)
        await part(send, b"half")
        raise LookupError("the disk")  # noqa: TRY003

    async def main() -> httpx2.RemoteProtocolError:
        async with reached(without_lifespan(work)) as http:
            with pytest.raises(httpx2.RemoteProtocolError) as caught:
                await http.get("/")
            return caught.value

    assert isinstance(asyncio.run(main()).__cause__, LookupError)


def test_an_application_that_says_nothing_is_a_broken_line() -> None:
    async def work(_scope: Message, _receive: Receive, _send: Send) -> None:
        return

    async def main() -> None:
        async with reached(without_lifespan(work)) as http:
            with pytest.raises(httpx2.RemoteProtocolError, match="before its answer"):
                await http.get("/")

    asyncio.run(main())


def test_an_application_knows_nothing_of_the_context_of_who_asks() -> None:
    """An agent that runs inside would take the tracing of the one that asks for its own."""

    async def work(_scope: Message, _receive: Receive, send: Send) -> None:
        await begin(send)
        await part(send, ASKED_BY.get().encode(), last=True)

    async def main() -> str:
        ASKED_BY.set("somebody")
        async with reached(without_lifespan(work)) as http:
            return (await http.get("/")).text

    assert asyncio.run(main()) == "nobody"


def test_start_and_end_happen_once_and_in_one_task() -> None:
    """What opens in one task may not close in another: cancel scopes forbid it."""
    lives: list[tuple[str, object]] = []

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            lives.append(("start", asyncio.current_task()))
            scope["state"]["river"] = "Elbe"
            await send({"type": "lifespan.startup.complete"})
            await receive()
            lives.append(("end", asyncio.current_task()))
            await send({"type": "lifespan.shutdown.complete"})
        else:
            await begin(send)
            await part(send, scope["state"]["river"].encode(), last=True)

    async def main() -> list[str]:
        async with reached(application) as http:
            answers = await asyncio.gather(*(http.get("/") for _ in range(5)))
        return [answer.text for answer in answers]

    assert asyncio.run(main()) == ["Elbe"] * 5
    assert [name for name, _ in lives] == ["start", "end"]
    assert lives[0][1] is lives[1][1]


def test_why_an_application_does_not_start_is_told_to_everybody() -> None:
    async def application(_scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no disk"})

    async def refused(_scope: Message, _receive: Receive, _send: Send) -> None:
        raise ConfigError("storage.url", "nothing listens there", "start it")

    async def main(which: Application) -> list[object]:
        async with reached(which) as http:
            return list(
                await asyncio.gather(*(http.get("/") for _ in range(2)), return_exceptions=True)
            )

    for error in asyncio.run(main(application)):
        assert isinstance(error, ConfigError)
        assert "no disk" in str(error)
    for error in asyncio.run(main(refused)):
        assert isinstance(error, ConfigError)
        assert error.what == "storage.url"
