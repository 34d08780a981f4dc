"""`/store` of LangGraph's API: items of an owner, which its graphs see as their store."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from thalweg_server.app.graph_threads import View
from thalweg_server.gateway.access import CurrentTenant
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.gateway.langgraph_api.shapes import (
    ItemKey,
    ItemPut,
    ItemSearch,
    NamespaceSearch,
)
from thalweg_server.gateway.problems import GatewayRefusal

store = APIRouter(
    prefix="/store", tags=["langgraph"], route_class=GatewayRoute, include_in_schema=False
)


@store.put("/items")
async def langgraph_put_item(tenant: CurrentTenant, item: ItemPut) -> Response:
    """Store an item in place of the one with its key."""
    _check(item.namespace)
    await tenant.store.aput(item.namespace, item.key, item.value)
    return Response(status_code=204)


@store.get("/items")
async def langgraph_get_item(
    tenant: CurrentTenant, key: str, namespace: Annotated[str, Query()] = ""
) -> View:
    """Return an item; its namespace is joined by dots."""
    found = await tenant.store.aget(tuple(filter(None, namespace.split("."))), key)
    if found is None:
        raise GatewayRefusal(404, "store.not_found", f"there is no item {key!r}")
    return found.dict()


@store.delete("/items")
async def langgraph_delete_item(tenant: CurrentTenant, item: ItemKey) -> Response:
    """Delete an item; no effect if there is none."""
    await tenant.store.adelete(item.namespace, item.key)
    return Response(status_code=204)


@store.post("/items/search")
async def langgraph_search_items(tenant: CurrentTenant, search: ItemSearch) -> View:
    """Return items below a namespace, the newest first."""
    found = await tenant.store.asearch(
        search.namespace_prefix, filter=search.filter, limit=search.limit, offset=search.offset
    )
    return {"items": [one.dict() for one in found]}


@store.post("/namespaces")
async def langgraph_list_namespaces(tenant: CurrentTenant, search: NamespaceSearch) -> View:
    """Return the namespaces that have items."""
    found = await tenant.store.alist_namespaces(
        prefix=search.prefix,
        suffix=search.suffix,
        max_depth=search.max_depth,
        limit=search.limit,
        offset=search.offset,
    )
    return {"namespaces": [list(one) for one in found]}


def _check(namespace: tuple[str, ...]) -> None:
    """Refuse a namespace that no read could name.

    Raises:
        GatewayRefusal: It is empty, or a label is empty or has a dot.
    """
    if not namespace or any(not label or "." in label for label in namespace):
        detail = "namespace: labels are not empty and have no dot; send at least one"
        raise GatewayRefusal(422, "store.namespace", detail)
