"""The base class of the parts of a client: sends requests over its connection."""

from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from thalweg.client.calls import Answer, GatewayRequest

if TYPE_CHECKING:  # httpx2 is loaded only by a program that makes a client
    from thalweg.client.connection import Connection


class Caller:
    """Sends calls to a gateway; each part of the API is one, and a client combines them."""

    _agent: str | None = None
    """The agent whose memory is used; the one that all agents share where there is none."""

    async def _connected(self) -> "Connection":
        raise NotImplementedError

    async def _ask(self, call: GatewayRequest, shape: type[Answer] | TypeAdapter[Answer]) -> Answer:
        return await (await self._connected()).ask(call, shape)

    async def _do(self, call: GatewayRequest) -> None:
        await (await self._connected()).fetch(call)
