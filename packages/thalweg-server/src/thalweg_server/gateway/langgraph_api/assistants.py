"""`/assistants`: the graphs that are served, and configs of them."""

from importlib.metadata import version
from operator import attrgetter
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from thalweg_server.app.configured import Assistant
from thalweg_server.app.graph_threads import View, assistant_view
from thalweg_server.gateway.access import CurrentTenant, Flag
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.gateway.langgraph_api.shapes import (
    AssistantChange,
    AssistantSearch,
    NewAssistant,
    Version,
    has_fields,
)
from thalweg_server.gateway.problems import GatewayRefusal

assistants = APIRouter(tags=["langgraph"], route_class=GatewayRoute, include_in_schema=False)
_SORTED = {"assistant_id": "id", "graph_id": "graph", "created_at": "created"}


@assistants.get("/ok")
async def langgraph_ok() -> View:
    """Return whether the process answers."""
    return {"ok": True}


@assistants.get("/info")
async def langgraph_info() -> View:
    """Return versions, and what is there."""
    return {
        "version": version("thalweg-server"),
        "langgraph_py_version": version("langgraph"),
        "flags": {"assistants": True, "crons": True, "langsmith": False},
    }


@assistants.post("/assistants")
async def langgraph_create_assistant(tenant: CurrentTenant, new: NewAssistant) -> View:
    """Store an assistant; one that exists is returned with `if_exists: do_nothing`."""
    known = {one.id: one for one in await tenant.assistants.list()}
    if new.assistant_id in known and new.if_exists == "do_nothing":
        return assistant_view(known[new.assistant_id])
    if new.assistant_id in known:
        detail = f"assistant {new.assistant_id!r} exists already; choose another id, or omit it"
        raise GatewayRefusal(409, "assistant.exists", detail)
    made = Assistant(
        id=new.assistant_id or "",
        graph=new.graph_id,
        name=new.name or new.graph_id,
        description=new.description,
        config=new.config or {},
        context=new.context,
        metadata=new.metadata or {},
    )
    return assistant_view(await tenant.assistants.create(made))


@assistants.post("/assistants/search")
async def langgraph_search_assistants(
    tenant: CurrentTenant, response: Response, search: AssistantSearch
) -> list[View]:
    """Return assistants with all of some properties."""
    found = await _found(tenant, search)
    if search.sort_by is not None:
        field = _SORTED.get(search.sort_by, search.sort_by.removesuffix("_at"))
        found.sort(key=attrgetter(field), reverse=search.sort_order == "desc")
    return [assistant_view(one) for one in search.of(found, response)]


@assistants.post("/assistants/count")
async def langgraph_count_assistants(tenant: CurrentTenant, search: AssistantSearch) -> int:
    """Count assistants with all of some properties."""
    return len(await _found(tenant, search))


@assistants.get("/assistants/{assistant}")
async def langgraph_get_assistant(tenant: CurrentTenant, assistant: str) -> View:
    """Return an assistant by its id or that of its graph."""
    return assistant_view(await tenant.assistants.get(assistant))


@assistants.patch("/assistants/{assistant}")
async def langgraph_update_assistant(
    tenant: CurrentTenant, assistant: str, change: AssistantChange
) -> View:
    """Store a new version of an assistant."""
    given = change.model_dump(exclude_unset=True)
    fields = {name: value for name, value in given.items() if value is not None}
    if "graph_id" in fields:
        fields["graph"] = (await tenant.assistants.get(fields.pop("graph_id"))).graph
    return assistant_view(await tenant.assistants.update(assistant, fields))


@assistants.delete("/assistants/{assistant}")
async def langgraph_delete_assistant(tenant: CurrentTenant, assistant: str) -> Response:
    """Delete an assistant."""
    await tenant.assistants.delete(assistant)
    return Response(status_code=204)


@assistants.post("/assistants/{assistant}/versions")
async def langgraph_assistant_versions(tenant: CurrentTenant, assistant: str) -> list[View]:
    """Return the versions of an assistant, the newest first."""
    return [assistant_view(one) for one in await tenant.assistants.versions(assistant)]


@assistants.post("/assistants/{assistant}/latest")
async def langgraph_select_version(tenant: CurrentTenant, assistant: str, chosen: Version) -> View:
    """Select the version that runs use."""
    return assistant_view(await tenant.assistants.select(assistant, chosen.version))


@assistants.get("/assistants/{assistant}/schemas")
async def langgraph_assistant_schemas(tenant: CurrentTenant, assistant: str) -> View:
    """Return the JSON schemas of a graph; `null` where it has none that JSON can name."""
    one = await tenant.assistants.get(assistant)
    graph = await tenant.graph_runs.graph(one)
    return {
        "graph_id": one.graph,
        **_schemas(graph),
        "config_schema": _schema(lambda: graph.config_schema().model_json_schema()),
        "context_schema": _schema(graph.get_context_jsonschema),
    }


@assistants.get("/assistants/{assistant}/graph")
async def langgraph_assistant_graph(
    tenant: CurrentTenant, assistant: str, xray: Annotated[bool | int, Query()] = 0
) -> View:
    """Return nodes and edges of a graph, with those of subgraphs if asked."""
    graph = await tenant.graph_runs.graph(await tenant.assistants.get(assistant))
    drawn: View = (await graph.aget_graph(xray=xray)).to_json()
    return drawn


@assistants.get("/assistants/{assistant}/subgraphs")
@assistants.get("/assistants/{assistant}/subgraphs/{namespace}")
async def langgraph_assistant_subgraphs(
    tenant: CurrentTenant,
    assistant: str,
    namespace: str | None = None,
    recurse: Flag = False,  # noqa: FBT002 (a query),
) -> View:
    """Return the schemas of the subgraphs of a graph, by namespace."""
    graph = await tenant.graph_runs.graph(await tenant.assistants.get(assistant))
    return {
        name: {**_schemas(subgraph), "config_schema": None}
        async for name, subgraph in graph.aget_subgraphs(namespace=namespace, recurse=recurse)
    }


async def _found(tenant: CurrentTenant, search: AssistantSearch) -> list[Assistant]:
    return [
        one
        for one in await tenant.assistants.list()
        if search.graph_id in {None, one.graph}
        and (search.name or "").casefold() in one.name.casefold()
        and has_fields(one.metadata, search.metadata)
    ]


def _schemas(graph: Any) -> View:  # noqa: ANN401 (LangGraph's)
    written = _schema(graph.get_output_jsonschema)
    read = _schema(graph.get_input_jsonschema)
    return {"input_schema": read, "output_schema": written, "state_schema": written}


def _schema(make: Any) -> Any:  # noqa: ANN401 (a JSON schema)
    try:
        return make()
    except Exception:  # noqa: BLE001 (pydantic raises any for types without a schema)
        return None
