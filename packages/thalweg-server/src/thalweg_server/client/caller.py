"""The base class of the parts of a client: sends requests over its connection."""

from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from thalweg_server.api.paths import path_of
from thalweg_server.client.calls import Answer, GatewayRequest

if TYPE_CHECKING:  # httpx2 is loaded only by a program that makes a client
    import httpx2

    from thalweg_server.client.connection import Connection


class Caller:
    """Sends calls to a gateway; each part of the API is one, and a client combines them."""

    _agent: str | None = None
    """The agent whose memory is used; if there is none, the one that all agents share."""

    async def _connected(self) -> "Connection":
        raise NotImplementedError

    async def _ask(
        self,
        shape: type[Answer] | TypeAdapter[Answer],
        method: str,
        path: str,
        *names: object,
        **options: Any,  # noqa: ANN401 (other fields of `GatewayRequest`)
    ) -> Answer:
        """Send the request of a path with names in it, and return its parsed answer."""
        call = GatewayRequest(method, path_of(path, *names), **options)
        return await (await self._connected()).ask(call, shape)

    async def _fetch(
        self,
        method: str,
        path: str,
        *names: object,
        **options: Any,  # noqa: ANN401 (other fields of `GatewayRequest`)
    ) -> "httpx2.Response":
        """Send the request of a path with names in it, and return the complete response."""
        call = GatewayRequest(method, path_of(path, *names), **options)
        return await (await self._connected()).fetch(call)
