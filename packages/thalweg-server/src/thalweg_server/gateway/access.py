"""Parameters and responses shared by all routes: owner, thread, number of items, errors."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from pydantic import StringConstraints

from thalweg_server.api.paths import path_of
from thalweg_server.api.problems import MEDIA_TYPE
from thalweg_server.api.shape import Identifier
from thalweg_server.api.shape import ThreadId as Id
from thalweg_server.app import App, Tenant
from thalweg_server.app.memory import TenantMemory
from thalweg_server.app.metrics import Metrics
from thalweg_server.gateway.authentication import OWNER
from thalweg_server.gateway.budgets import Budgets
from thalweg_server.gateway.rules import GatewayRules
from thalweg_server.gateway.streams import EventStream, Frame, Streams


@dataclass(frozen=True, slots=True)
class Gateway:
    """State shared by the routes of one gateway, stored in `application.state.gateway`."""

    app: App
    streams: Streams
    metrics: Metrics
    budgets: Budgets
    rules: Callable[[], GatewayRules]


async def _gateway(request: Request) -> Gateway:
    gateway: Gateway = request.app.state.gateway
    return gateway


async def _tenant(request: Request) -> Tenant:
    gateway: Gateway = request.app.state.gateway
    return gateway.app.tenant(request.scope[OWNER])


class GatewayCaller:
    """One request of an owner, with the parts of the gateway that it uses.

    Attributes:
        tenant: All that the caller can reach.
        gateway: The gateway.
        streams: Its streams.
    """

    def __init__(self, request: Request, answered: ExitStack) -> None:
        self._until_answered = answered
        self.gateway: Gateway = request.app.state.gateway
        self.tenant: Tenant = self.gateway.app.tenant(request.scope[OWNER])
        self.streams = self.gateway.streams
        self._root = request.scope.get("root_path", "")

    def location(self, template: str, *names: str) -> str:
        """Return the value of a `Location` header: a path with quoted names, at the root."""
        return f"{self._root}{path_of(template, *names)}"

    def open_stream(self) -> None:
        """Count a stream, or a wait, until the request is answered; see `Streams.counted`."""
        self._until_answered.enter_context(self.streams.counted(self.tenant.owner))

    def starting(self, *, delayed: bool = False) -> AbstractAsyncContextManager[None]:
        """Let a run be started inside, or a delayed one; see `Budgets.starting`."""
        tenant, count = self.tenant, partial(self.tenant.runs.active, delayed=delayed)
        return self.gateway.budgets.starting(tenant.owner, count, tenant.usage.today)

    def stream(
        self,
        frames: AsyncIterator[Frame],
        headers: Mapping[str, str] | None = None,
        on_disconnect: Callable[[], Awaitable[object]] | None = None,
    ) -> EventStream:
        """Return the answer that sends frames; see `EventStream`."""
        return EventStream(frames, self.streams, headers, on_disconnect)


async def _caller(request: Request) -> AsyncIterator[GatewayCaller]:
    with ExitStack() as answered:
        yield GatewayCaller(request, answered)


async def _known(
    tenant: Annotated[Tenant, Depends(_tenant)],
    agent: Annotated[
        Identifier | None,
        Query(
            description="An agent with its own memory. Default: the memory that all agents share."
        ),
    ] = None,
) -> TenantMemory:
    return tenant.memory.of_agent(agent or "")


Shared = Annotated[Gateway, Depends(_gateway)]
CurrentCaller = Annotated[GatewayCaller, Depends(_caller)]
CurrentTenant = Annotated[Tenant, Depends(_tenant)]
"""All that the caller can reach; its owner was noted at the door."""

Known = Annotated[TenantMemory, Depends(_known)]
"""The memory of the caller, shared by all agents or of the named one."""

ThreadId = Annotated[Id, Path(description="The thread's id.", examples=["t1"])]
RunId = Annotated[Identifier, Path(description="The run's id.", examples=["r1"])]
Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f]+$"),
]
"""A name or an id in a path that is not the gateway's own; of printable characters."""
Many = Annotated[int, Query(ge=1, le=1_000, description="Maximum number of items.")]
Flag = Annotated[bool, Query()]
Words = Annotated[str, Query(max_length=2_000, description="Words to search for.")]


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the documented errors of a route, in addition to those of all routes of its kind."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": WHY[status], "content": content} for status in statuses}


WHY = {
    400: "The body cannot be parsed.",
    401: "Credentials are missing or invalid.",
    403: "The operation is not permitted here.",
    404: "It does not exist, or belongs to another owner.",
    408: "The body arrived too slowly.",
    409: "It conflicts with another operation that is in progress or came first.",
    413: "The body is too large.",
    415: "The type of the body is not supported.",
    416: "The range does not exist.",
    422: "The request is invalid; `faults` lists the errors.",
    429: "The owner has reached a limit; retry after `Retry-After` seconds.",
    500: "The gateway failed; its log has the number in `instance`.",
    502: "A model returned no usable answer.",
    503: "Storage or a service that the gateway uses failed; try again.",
}
