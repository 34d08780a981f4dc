"""`/api/page`: what the web page reads in addition to the other operations."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from thalweg_server.api.page import Overview, SentRequest, ThreadRows
from thalweg_server.api.shape import Number, TurnNumber
from thalweg_server.gateway.access import CurrentTenant, Many, ThreadId, Words
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.gateway.routes.threads import Before

_SHOWN = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}
}
page_data = APIRouter(prefix="/api/page/threads", tags=["page"], route_class=GatewayRoute)


@page_data.get("")
async def list_thread_rows(
    tenant: CurrentTenant, limit: Many = 50, before: Before = None, q: Words = ""
) -> ThreadRows:
    """List threads with cost, fill of the window and changes, the one that was used last first."""
    return await tenant.page.threads(limit=limit, before=before, q=q)


@page_data.get("/{thread}")
async def get_overview(tenant: CurrentTenant, thread: ThreadId) -> Overview:
    """Return a thread with its calls, its changes and its lost requests."""
    return await tenant.page.overview(thread)


@page_data.get("/{thread}/request")
async def get_sent_request(
    tenant: CurrentTenant,
    thread: ThreadId,
    turn: TurnNumber | None = None,
    index: Annotated[Number | None, Query(description="Only this message, whole.")] = None,
) -> SentRequest:
    """Return the request of a call as it was sent, compared with the one before; the newest one."""
    return await tenant.page.request(thread, turn, index)


@page_data.get("/{thread}/media", response_class=Response, responses=_BYTES)
async def get_media(
    tenant: CurrentTenant,
    thread: ThreadId,
    position: Annotated[Number, Query(description="Position of the message.")] = 0,
    index: Annotated[Number, Query(description="Which of its files, from 0.")] = 0,
) -> Response:
    """Return an image or a file that a message has, as bytes."""
    mime, content = await tenant.page.media(thread, position, index)
    return Response(content, media_type=mime if mime in _SHOWN else "application/octet-stream")
