"""HTTP transports to the process of a local model, for OpenAI's clients.

A transport starts the process at the first request and addresses each request to it. Before a
chat completion it asks llama.cpp for the tokens of the request, tools and template included, and
answers 400 where they and the longest answer do not fit the window: llama.cpp itself would cut
the answer off.
"""

import asyncio
import json
from typing import Final

import httpx2

from thalweg.server.models.local.process import ModelProcess, ModelServer

ADDRESS: Final = "http://local-model.invalid"
"""What a client takes for the address of the model."""
_CHAT: Final = "/v1/chat/completions"
_COUNT: Final = f"{_CHAT}/input_tokens"
_FRESH: Final = httpx2.Limits(max_keepalive_connections=0)
"""A pooled connection would outlive its event loop, or the server's process."""


class LocalTransport(httpx2.BaseTransport):
    """Sends requests to a model's process, from threads."""

    def __init__(self, host: ModelProcess) -> None:
        self._host = host
        self._http = httpx2.HTTPTransport(limits=_FRESH)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; raise `ConfigError` where the model cannot be loaded."""
        server = self._host.server()
        if request.url.path == _CHAT:
            counted = self._http.handle_request(_addressed(request, server, _COUNT))
            counted.read()
            if refusal := _refusal(request, counted, self._host.load.window):
                return refusal
        return self._http.handle_request(_addressed(request, server, request.url.path))

    def close(self) -> None:
        """Close its connections; the process keeps running."""
        self._http.close()


class AsyncLocalTransport(httpx2.AsyncBaseTransport):
    """Sends requests to a model's process, from an event loop."""

    def __init__(self, host: ModelProcess) -> None:
        self._host = host
        self._http = httpx2.AsyncHTTPTransport(limits=_FRESH)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; raise `ConfigError` where the model cannot be loaded."""
        server = await asyncio.to_thread(self._host.server)
        if request.url.path == _CHAT:
            counted = await self._http.handle_async_request(_addressed(request, server, _COUNT))
            await counted.aread()
            if refusal := _refusal(request, counted, self._host.load.window):
                return refusal
        return await self._http.handle_async_request(_addressed(request, server, request.url.path))

    async def aclose(self) -> None:
        """Close its connections; the process keeps running."""
        await self._http.aclose()


def _addressed(request: httpx2.Request, server: ModelServer, path: str) -> httpx2.Request:
    """Return a request to the process, with its key."""
    headers = {
        name: value
        for name, value in request.headers.items()
        if name not in {"host", "authorization", "content-length", "transfer-encoding"}
    }
    headers["authorization"] = f"Bearer {server.key}"
    return httpx2.Request(
        request.method,
        f"{server.address}{path}",
        headers=headers,
        content=request.read(),
        extensions=request.extensions,
    )


def _refusal(
    request: httpx2.Request, counted: httpx2.Response, window: int
) -> httpx2.Response | None:
    """Return the refusal of a request without room for its answer; `None` if it fits.

    If llama.cpp cannot count a request, it is sent: the completion then reports the error.
    """
    if not counted.is_success:
        return None
    tokens, body = int(counted.json()["input_tokens"]), json.loads(request.content)
    answer = int(body.get("max_completion_tokens") or body.get("max_tokens") or 0)
    if tokens + answer <= window:
        return None
    # LangChain recognizes a context overflow by these first words.
    sizes = f"input length and max_tokens exceed context limit: {tokens} + {answer} > {window}"
    problem = f"prompt is too long: {sizes}"
    error = {"code": "context_length_exceeded", "message": problem, "type": "invalid_request_error"}
    return httpx2.Response(400, json={"error": error}, request=request)
