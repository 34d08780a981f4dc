"""`/api/page`: what the web page reads in addition to the other operations."""

from typing import Annotated

from fastapi import APIRouter, Query

from thalweg_server.api.page import Overview, SentRequest, ThreadRows
from thalweg_server.api.shape import Number, TurnNumber
from thalweg_server.gateway.access import CurrentTenant, Many, ThreadId, Words
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.gateway.routes.threads import Before

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
