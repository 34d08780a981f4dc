"""The base class of the parts of a client: sends requests over its connection."""

from collections.abc import Mapping
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
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
        again: bool = False,
        wait_s: float | None = None,
    ) -> Answer:
        """Send the request of a path with names in it, and return its parsed answer."""
        place = path_of(path, *names)
        call = GatewayRequest(method, place, query or {}, body, again=again, wait_s=wait_s)
        return await (await self._connected()).ask(call, shape)

    async def _fetch(self, call: GatewayRequest) -> "httpx2.Response":
        return await (await self._connected()).fetch(call)
