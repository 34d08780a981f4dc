"""One request to an ASGI application, as a server would make it, without a server."""

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thalweg_server.api.problems import Problem


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def problem(self) -> Problem:
        """The body, read as a problem."""
        assert self.headers["content-type"] == "application/problem+json"
        return Problem.model_validate_json(self.body)


def ask(
    application: ASGIApp,
    path: str = "/api/memory",
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    parts: Iterable[bytes] = (),
    client: tuple[str, int] | None = ("127.0.0.1", 50_000),
) -> Answered:
    """Make a request; `Host` defaults to localhost."""
    sent: list[Message] = []
    waiting = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    waiting.append({"type": "http.request", "body": b"", "more_body": False})

    async def receive() -> Message:
        if waiting:
            return waiting.pop(0)
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    given = {"host": "localhost:8001", **{k.lower(): v for k, v in (headers or {}).items()}}
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(k.encode("latin-1"), v.encode("latin-1")) for k, v in given.items()],
        "client": client,
        "server": ("127.0.0.1", 8001),
        "state": {},
    }
    asyncio.run(_called(application, scope, receive, send))
    start = sent[0]
    body = b"".join(message.get("body", b"") for message in sent[1:])
    told = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in start.get("headers", [])}
    return Answered(start["status"], told, body)


async def _called(application: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await application(scope, receive, send)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the owner that the door noted and the length of the body that came."""
    length = 0
    while True:
        message = await receive()
        length += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    told: dict[str, Any] = {"owner": scope.get("thalweg.owner"), "length": length}
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(told).encode()})
