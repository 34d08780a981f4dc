"""The client, for programs with an event loop."""

import asyncio
from typing import TYPE_CHECKING, Self

from thalweg.client.catalogue import CatalogueCalls
from thalweg.client.files import FileCalls
from thalweg.client.memory import MemoryCalls
from thalweg.client.places import place_of
from thalweg.client.runs import RunCalls
from thalweg.client.threads import ThreadCalls

if TYPE_CHECKING:  # httpx2 is for who makes a client
    from thalweg.client.connection import Connection
    from thalweg.client.places import At


class AsyncThalwegClient(CatalogueCalls, MemoryCalls, ThreadCalls, RunCalls, FileCalls):
    """Everything a gateway can do: of one in this process, or over HTTP.

    It opens with its first request, or with `async with`; close it with `aclose`.

    Raises (all methods):
        ThalwegError: The same error as the gateway met.
        ClientError: What the gateway said where that is no error of ours, or that none answers.

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
            at: The address of a gateway, or several that share their storage: the next is taken
                where one fails. Else settings or the path of a `config.yaml`, for a gateway in
                this process; nothing: the usual places. An ASGI application is taken as it is.
            key: Of a gateway that asks for one. For one on this machine, the token in the data
                folder (`THALWEG_HOME`, or `.thalweg` here) is used where no key is given.
            owner: In this process: whose threads and memory; `local` where it is not given.
            agent: The agent whose memory of its own is read, changed and used by runs; the one that
                all agents share where it is not given. Letters, digits, `.`, `_` and `-`.
            timeout_s: How long a gateway may say nothing.

        Raises:
            ConfigError: An address that is none.
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
        """Let go of everything; a run in this process goes on when a gateway opens again."""
        async with self._opening:
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.aclose()

    async def _connected(self) -> "Connection":
        async with self._opening:
            if self._connection is None:
                self._connection = await self._place.connect()
            return self._connection
