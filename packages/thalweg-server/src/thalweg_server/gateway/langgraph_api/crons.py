"""`/runs/crons` of LangGraph's API: runs that are repeated by a schedule."""

from typing import Annotated

from fastapi import APIRouter, Body, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from thalweg_server.api.graph_runs import Fields, NewCron
from thalweg_server.app.crons import cron_view
from thalweg_server.app.graph_threads import View
from thalweg_server.gateway.access import CurrentTenant, Name
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.gateway.langgraph_api.runs import PathThread
from thalweg_server.gateway.langgraph_api.shapes import CronCount, CronSearch, has_fields, selected
from thalweg_server.gateway.problems import GatewayRefusal
from thalweg_server.runs.crons import MOST_CRONS

crons = APIRouter(tags=["langgraph"], route_class=GatewayRoute, include_in_schema=False)
_ONE = "/runs/crons/{cron}"


@crons.post("/runs/crons")
@crons.post("/threads/{thread}/runs/crons")
async def langgraph_create_cron(tenant: CurrentTenant, thread: PathThread, new: NewCron) -> View:
    """Create a cron of a thread, or one whose runs have threads of their own."""
    made = await tenant.crons.create(thread, new)
    if made is None:
        detail = f"your limit is {MOST_CRONS} crons; delete one"
        raise GatewayRefusal(429, "limit.crons", detail)
    return cron_view(made)


@crons.post("/runs/crons/search")
async def langgraph_search_crons(
    tenant: CurrentTenant, search: CronSearch, response: Response
) -> list[View]:
    """Return crons with all of some properties; those without a value come first."""
    found = await _found(tenant, search)
    key, is_down = search.sort_by, search.sort_order == "desc"
    found.sort(key=lambda one: (one[key] is not None, one[key] or ""), reverse=is_down)
    return [selected(one, search.select) for one in search.of(found, response)]


@crons.post("/runs/crons/count")
async def langgraph_count_crons(tenant: CurrentTenant, search: CronCount) -> int:
    """Count crons with all of some properties."""
    return len(await _found(tenant, search))


@crons.get(_ONE)
async def langgraph_get_cron(tenant: CurrentTenant, cron: Name) -> View:
    """Return a cron."""
    found = await tenant.crons.get(cron)
    if found is None:
        raise _missing(cron)
    return cron_view(found)


@crons.patch(_ONE)
async def langgraph_update_cron(
    tenant: CurrentTenant, cron: Name, fields: Annotated[Fields, Body()]
) -> View:
    """Change fields of a cron; its assistant and its thread remain."""
    fields.pop("assistant_id", None)
    try:
        changed = await tenant.crons.update(cron, fields)
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None
    if changed is None:
        raise _missing(cron)
    return cron_view(changed)


@crons.delete(_ONE)
async def langgraph_delete_cron(tenant: CurrentTenant, cron: Name) -> Response:
    """Delete a cron; its runs remain."""
    if not await tenant.crons.delete(cron):
        raise _missing(cron)
    return Response(status_code=204)


async def _found(tenant: CurrentTenant, search: CronCount) -> list[View]:
    assistant = search.assistant_id
    if assistant is not None:
        assistant = (await tenant.assistants.get(assistant)).id
    return [
        one
        for one in map(cron_view, await tenant.crons.list())
        if assistant in {None, one["assistant_id"]}
        and search.thread_id in {None, one["thread_id"]}
        and search.enabled in {None, one["enabled"]}
        and has_fields(one["metadata"], search.metadata)
    ]


def _missing(cron: Name) -> GatewayRefusal:
    return GatewayRefusal(404, "cron.not_found", f"there is no cron {cron!r}")
