"""The client, for programs with an event loop."""

import asyncio
from typing import TYPE_CHECKING, Self

from thalweg_server.client.catalogue import CatalogueCalls
from thalweg_server.client.files import FileCalls
from thalweg_server.client.memory import MemoryCalls
from thalweg_server.client.places import place_of
from thalweg_server.client.runs import RunCalls
from thalweg_server.client.threads import ThreadCalls

if TYPE_CHECKING:  # httpx2 is for who makes a client
    from thalweg_server.client.connection import Connection
    from thalweg_server.client.places import At


class AsyncThalwegClient(CatalogueCalls, MemoryCalls, ThreadCalls, RunCalls, FileCalls):
    """All operations of a gateway, in this process or over HTTP.

    It opens with its first request, or with `async with`; close it with `aclose`.

    Raises (all methods):
        ThalwegError: The same error as in the gateway.
        ClientError: The gateway's answer is no error of Thalweg, or no gateway answers.

    Example:
        ```python
        async with AsyncThalwegClient() as client:
            async for numbered in client.stream("Which rivers meet here?", "geography"):
                print(numbered.seq, numbered.event.type)
        ```
    """

    def __init__(
        self,
        at: "At" = None,
        *,
        key: str | None = None,
        owner: str | None = None,
        agent: str | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        """Prepare a client.

        Args:
            at: The address of a gateway, or several that share their storage: the next is used if
                one fails. Otherwise settings or the path of a `config.yaml`, for a gateway in this
                process; `None` for the usual places. An ASGI application is used directly.
            key: The key of a gateway that requires one. For one on this machine, the token in the
                data folder (`THALWEG_HOME`, or `.thalweg` here) is used by default.
            owner: In this process: the owner of threads and memory; `local` by default.
            agent: The agent whose own memory is read, changed and used by runs; by default the
                memory that all agents share. Letters, digits, `.`, `_` and `-`.
            timeout_s: Seconds of silence of a gateway before a timeout.

        Raises:
            ConfigError: The address is invalid.
        """
        self._agent = agent
        self._place = place_of(at, key=key, owner=owner, timeout_s=timeout_s)
        self._connection: Connection | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        await self._connected()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close all connections; a run in this process resumes when a gateway opens again."""
        async with self._opening:
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.aclose()

    async def _connected(self) -> "Connection":
        async with self._opening:
            if self._connection is None:
                self._connection = await self._place.connect()
            return self._connection
