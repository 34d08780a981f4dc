"""`/livez`, `/readyz`, `/healthz` and `/metrics`: for the operator of the gateway."""

import logging
import math

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from thalweg.errors import StorageError
from thalweg_server.api.catalogue import Check, Health
from thalweg_server.app.metrics import CONTENT_TYPE
from thalweg_server.gateway.access import Shared, problems
from thalweg_server.gateway.bodies import GatewayRoute

health = APIRouter(tags=["gateway"], route_class=GatewayRoute)
_LOG = logging.getLogger("thalweg.gateway")
_TEXT = {"text/plain": {"schema": {"type": "string"}}}


@health.get("/livez", response_class=PlainTextResponse, include_in_schema=False)
@health.head("/livez", include_in_schema=False)
async def livez() -> str:
    """Return whether the process answers; nothing is read."""
    return "ok"


@health.get("/readyz", include_in_schema=False)
@health.get(
    "/healthz",
    operation_id="health",
    responses={503: {"model": Health, "description": "A component has failed."}},
)
@health.head("/readyz", include_in_schema=False)
@health.head("/healthz", include_in_schema=False)
async def healthz(shared: Shared, response: Response) -> Health:
    """Return whether every part of the gateway works; callers need not authenticate."""
    found = await shared.app.health()
    if shared.budgets.is_stopping:
        stopping = Check(name="process", status="failed", detail="it is stopping")
        found = found.model_copy(update={"status": "failed", "checks": (stopping, *found.checks)})
    if found.status != "ok":
        response.status_code = 503
        failed = [check for check in found.checks if check.status == "failed"]
        _LOG.error("not well: %s", "; ".join(f"{c.name}: {c.detail}" for c in failed))
    if not shared.rules().is_locked:
        return found
    # Anonymous callers are allowed: the response names the failed part; details are only in the
    # log.
    checks = tuple(check.model_copy(update={"detail": ""}) for check in found.checks)
    return found.model_copy(update={"checks": checks})


@health.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={200: {"description": "As Prometheus reads it.", "content": _TEXT}, **problems(403)},
)
async def metrics(shared: Shared) -> Response:
    """Return the metrics since the gateway started."""
    try:
        depth: float = await shared.app.parts.journal.queue_depth()
    except StorageError:
        depth = math.nan
    text = await shared.metrics.text(shared.streams.opened, depth)
    return Response(text, headers={"Content-Type": CONTENT_TYPE})
