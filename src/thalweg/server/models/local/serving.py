"""Requests of OpenAI's client to the process of a local model.

The client takes each through the flow below, HTTPX's place for what happens before a request: it
starts the process, and refuses a request that leaves no room for its answer, which llama.cpp would
cut off. <https://www.python-httpx.org/advanced/authentication/#custom-authentication-schemes>
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Generator
from typing import Any, Final

import httpx2
import openai

from thalweg.server.models.local.process import ModelProcess, ModelServer

ADDRESS: Final = "http://local-model.invalid"
"""The base of the client's addresses; replaced by that of the process."""
_CHAT: Final = "/v1/chat/completions"
COUNT: Final = f"{_CHAT}/input_tokens"


class LocalAuth(httpx2.Auth):
    """Addresses requests to a model's process, with its key."""

    def __init__(self, process: ModelProcess) -> None:
        self._process = process

    def sync_auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Send a request; raise `ConfigError` where the model cannot be loaded."""
        server = self._process.server()
        if request.url.path == _CHAT:
            counted = yield _addressed(request, server, COUNT)
            counted.read()
            _validate_room(request, counted, self._process.load.window)
        yield _addressed(request, server, request.url.path)

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request; raise `ConfigError` where the model cannot be loaded."""
        server = await asyncio.to_thread(self._process.server)
        if request.url.path == _CHAT:
            counted = yield _addressed(request, server, COUNT)
            await counted.aread()
            _validate_room(request, counted, self._process.load.window)
        yield _addressed(request, server, request.url.path)


def client_options(process: ModelProcess) -> dict[str, Any]:
    """Return the arguments of `httpx2` clients that reach a process."""
    # A pooled connection would outlive its event loop, or the process. No proxy leads there.
    fresh = httpx2.Limits(max_keepalive_connections=0)
    return {"auth": LocalAuth(process), "limits": fresh, "trust_env": False}


def _addressed(request: httpx2.Request, server: ModelServer, path: str) -> httpx2.Request:
    headers = httpx2.Headers(request.headers)
    headers.pop("host", None)
    headers["authorization"] = f"Bearer {server.key}"
    url, content = f"{server.address}{path}", request.read()
    return httpx2.Request(
        request.method, url, headers=headers, content=content, extensions=request.extensions
    )


def _validate_room(request: httpx2.Request, counted: httpx2.Response, window: int) -> None:
    """Raise if a request and its longest answer do not fit.

    If llama.cpp cannot count a request, it is sent: the completion then reports the error.
    """
    if not counted.is_success:
        return
    tokens, body = int(counted.json()["input_tokens"]), json.loads(request.content)
    answer = int(body.get("max_completion_tokens") or body.get("max_tokens") or 0)
    if tokens + answer <= window:
        return
    # LangChain recognizes a context overflow by these first words.
    sizes = f"input length and max_tokens exceed context limit: {tokens} + {answer} > {window}"
    problem, refused = f"prompt is too long: {sizes}", httpx2.Response(400, request=request)
    raise openai.BadRequestError(problem, response=refused, body=None)
