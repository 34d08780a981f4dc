"""`/api/page`: what the web page reads in addition to the other operations."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from thalweg_server.api.page import (
    DeletedOwner,
    Overview,
    OwnerRow,
    OwnerRows,
    SentRequest,
    ThreadRows,
)
from thalweg_server.api.shape import Number, TurnNumber
from thalweg_server.app.registry import ThreadFilter
from thalweg_server.app.spending import added
from thalweg_server.gateway.access import (
    CurrentTenant,
    Flag,
    Many,
    Name,
    Shared,
    ThreadId,
    Words,
    problems,
)
from thalweg_server.gateway.authentication import check_operator
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.gateway.routes.threads import Before

_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
MOST_OWNERS = 100
"""Owners without a key that are listed, those of the newest requests."""
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}
}
page_data = APIRouter(prefix="/api/page", tags=["page"], route_class=GatewayRoute)


@page_data.get("/owners", responses=problems(403))
async def list_owners(request: Request, shared: Shared) -> OwnerRows:
    """List the owners of the keys, and those of the last requests; for operators."""
    check_operator(request.scope)
    rules = shared.rules()
    names = {*(key.owner for key in rules.settings.keys), *shared.budgets.owners[-MOST_OWNERS:]}

    async def row(name: str) -> OwnerRow:
        tenant, limits = shared.app.tenant(name), rules.limits_of(name).model_dump()
        runs, today = await asyncio.gather(tenant.runs.active(), tenant.usage.today())
        return OwnerRow(owner=name, runs=runs, today=added(today), limits=limits)

    return OwnerRows(items=tuple(await asyncio.gather(*map(row, sorted(names)))))


@page_data.delete("/owners/{owner}", responses=problems(403, 409))
async def delete_owner(request: Request, shared: Shared, owner: Name) -> DeletedOwner:
    """Delete everything that is stored of an owner, and erase its bytes; for operators.

    Runs of the owner are cancelled. If a process crashes meanwhile, another one completes it.
    """
    check_operator(request.scope)
    return DeletedOwner(owner=owner, left=await shared.app.tenant(owner).deletion.delete())


@page_data.get("/threads")
async def list_thread_rows(
    tenant: CurrentTenant,
    limit: Many = 50,
    before: Before = None,
    q: Words = "",
    agent: Annotated[str, Query(description="Recorded by this agent; `own`: by none.")] = "",
    project: Annotated[str, Query(description="Sessions of this project.")] = "",
    compacted: Annotated[Flag, Query(description="Only threads that were compacted.")] = False,  # noqa: FBT002 (a query)
) -> ThreadRows:
    """List threads with cost, fill of the window and changes, the one that was used last first."""
    only = ThreadFilter(q, agent, project, compacted)
    return await tenant.page.threads(only, limit=limit, before=before)


@page_data.get("/threads/{thread}")
async def get_overview(tenant: CurrentTenant, thread: ThreadId) -> Overview:
    """Return a thread with its calls, its changes and its lost requests."""
    return await tenant.page.overview(thread)


@page_data.get("/threads/{thread}/request")
async def get_sent_request(
    tenant: CurrentTenant,
    thread: ThreadId,
    turn: TurnNumber | None = None,
    index: Annotated[Number | None, Query(description="Only this message, whole.")] = None,
) -> SentRequest:
    """Return the request of a call as it was sent, compared with the one before; the newest one."""
    return await tenant.page.request(thread, turn, index)


@page_data.get("/threads/{thread}/media", response_class=Response, responses=_BYTES)
async def get_media(
    tenant: CurrentTenant,
    thread: ThreadId,
    position: Annotated[Number, Query(description="Position of the message.")] = 0,
    index: Annotated[Number, Query(description="Which of its files, from 0.")] = 0,
) -> Response:
    """Return an image or a file that a message has, as bytes."""
    mime, content = await tenant.page.media(thread, position, index)
    return Response(content, media_type=mime if mime in _SHOWN else "application/octet-stream")
