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
    if not item.namespace or item.namespace[0] == "langgraph":
        detail = "namespace: it has no label, or its first one is reserved; send another"
        raise GatewayRefusal(422, "store.namespace", detail)
    _check(item.namespace)
    await tenant.store.aput(item.namespace, item.key, item.value)
    return Response(status_code=204)


@store.get("/items")
async def langgraph_get_item(
    tenant: CurrentTenant, key: str, namespace: Annotated[str, Query()] = ""
) -> View:
    """Return an item; its namespace is joined by dots."""
    labels = tuple(filter(None, namespace.split(".")))
    _check(labels)
    found = await tenant.store.aget(labels, key)
    if found is None:
        raise GatewayRefusal(404, "store.not_found", f"there is no item {key!r}")
    return found.dict()


@store.delete("/items")
async def langgraph_delete_item(tenant: CurrentTenant, item: ItemKey) -> Response:
    """Delete an item; no effect if there is none."""
    _check(item.namespace)
    await tenant.store.adelete(item.namespace, item.key)
    return Response(status_code=204)


@store.post("/items/search")
async def langgraph_search_items(tenant: CurrentTenant, search: ItemSearch) -> View:
    """Return items below a namespace, the newest first."""
    _check(search.namespace_prefix)
    found = await tenant.store.asearch(
        search.namespace_prefix, filter=search.filter, limit=search.limit, offset=search.offset
    )
    return {"items": [one.dict() for one in found]}


@store.post("/namespaces")
async def langgraph_list_namespaces(tenant: CurrentTenant, search: NamespaceSearch) -> View:
    """Return the namespaces that have items."""
    _check((*(search.prefix or ()), *(search.suffix or ())))
    found = await tenant.store.alist_namespaces(
        prefix=search.prefix,
        suffix=search.suffix,
        max_depth=search.max_depth,
        limit=search.limit,
        offset=search.offset,
    )
    return {"namespaces": [list(one) for one in found]}


def _check(namespace: tuple[str, ...]) -> None:
    """Refuse labels that LangGraph's store refuses.

    Raises:
        GatewayRefusal: A label is empty, or has a dot or a NUL.
    """
    if any(not label or "." in label or "\0" in label for label in namespace):
        detail = "namespace: a label is empty, or has a dot or a NUL; send others"
        raise GatewayRefusal(422, "store.namespace", detail)
