"""One request of the API, as a value; and what makes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter

if TYPE_CHECKING:  # httpx2 is for who makes a client
    from thalweg.client.connection import Connection

Answer = TypeVar("Answer")

_SAFE = frozenset({"GET", "HEAD", "PUT"})
"""A second DELETE would answer that there is nothing to delete."""


@dataclass(frozen=True, slots=True)
class GatewayRequest:
    """One request to any gateway.

    Attributes:
        body: The JSON body; `None` values of an object are omitted.
        files: Name, content and type of each.
        again: Whether it may be retried, although its method is not idempotent.
        wait_s: Seconds that the answer may take, if longer than the default.
        takes: Error statuses that are valid answers.
    """

    method: str
    path: str
    query: Mapping[str, object] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    files: Sequence[tuple[str, bytes, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    again: bool = False
    wait_s: float | None = None
    takes: frozenset[int] = frozenset()

    @property
    def is_safe(self) -> bool:
        """Whether it may be made twice."""
        return self.again or self.method in _SAFE


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


def path_of(template: str, *names: object) -> str:
    """Return a path with quoted names: each remains one segment.

    Example:
        >>> path_of("/api/threads/{}/runs", "a/b c")
        '/api/threads/a%2Fb%20c/runs'
    """
    return template.format(*(quote(str(name), safe="") for name in names))
