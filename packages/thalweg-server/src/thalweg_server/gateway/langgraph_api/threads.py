"""`/threads` of LangGraph's API: metadata, states, checkpoints."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from thalweg.errors import ConfigError, StorageError, ThreadExistsError
from thalweg_server.api.graph_runs import BUILT_IN, Checkpoint
from thalweg_server.app import Tenant
from thalweg_server.app.graph_threads import (
    GraphThread,
    View,
    checkpoint_view,
    snapshot_view,
    thread_view,
)
from thalweg_server.gateway.access import CurrentTenant, Flag, ThreadId
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.gateway.langgraph_api.shapes import (
    HistorySearch,
    NewThread,
    StateUpdate,
    ThreadPatch,
    ThreadSearch,
    has_fields,
    selected,
)

threads = APIRouter(
    prefix="/threads", tags=["langgraph"], route_class=GatewayRoute, include_in_schema=False
)

MOST_STATES = 1_000
"""States that a search by values reads at most."""


@threads.post("")
async def langgraph_create_thread(tenant: CurrentTenant, new: NewThread) -> View:
    """Create a thread; one that exists is returned with `if_exists: do_nothing`."""
    updates = [update for step in new.supersteps for update in step.updates]
    tenant.graph_threads.check_values([update.get("values") for update in updates])
    try:
        made = await tenant.graph_threads.create(new.thread_id, new.metadata or {})
    except ThreadExistsError:
        if new.if_exists == "raise" or new.thread_id is None:
            raise
        return thread_view(await tenant.graph_threads.get(new.thread_id))
    for update in updates:
        node = update.get("as_node")
        await tenant.graph_threads.update(
            made.row.thread, update.get("values"), node=None if node is None else str(node)
        )
    return thread_view(made)


@threads.post("/search")
async def langgraph_search_threads(
    tenant: CurrentTenant, search: ThreadSearch, response: Response
) -> list[View]:
    """Return threads with all of some properties."""
    found = await _found(tenant, search, search.offset + search.limit + 1)
    wants_values = search.select is None or {"values", "interrupts"} & {*search.select}
    return [
        selected(
            thread_view(one, await _snapshot(tenant, one) if wants_values else None), search.select
        )
        for one in search.of(found, response)
    ]


@threads.post("/count")
async def langgraph_count_threads(tenant: CurrentTenant, search: ThreadSearch) -> int:
    """Count threads with all of some properties."""
    return len(await _found(tenant, search))


@threads.get("/{thread}")
async def langgraph_get_thread(tenant: CurrentTenant, thread: ThreadId) -> View:
    """Return a thread with its newest values."""
    found = await tenant.graph_threads.get(thread)
    return thread_view(found, await _snapshot(tenant, found))


@threads.patch("/{thread}")
async def langgraph_patch_thread(
    tenant: CurrentTenant, thread: ThreadId, patch: ThreadPatch
) -> View:
    """Add fields to the metadata of a thread."""
    await tenant.graph_threads.get(thread)
    await tenant.threads.check_writable(thread)
    await tenant.graph_threads.merge(thread, patch.metadata or {})
    return thread_view(await tenant.graph_threads.get(thread))


@threads.delete("/{thread}")
async def langgraph_delete_thread(tenant: CurrentTenant, thread: ThreadId) -> Response:
    """Cancel the runs of a thread and delete it."""
    await tenant.graph_runs.delete_thread(thread)
    return Response(status_code=204)


@threads.post("/{thread}/copy")
async def langgraph_copy_thread(tenant: CurrentTenant, thread: ThreadId) -> View:
    """Create a thread with the newest state of another one."""
    made = await tenant.graph_threads.copy(thread)
    return thread_view(made, await _snapshot(tenant, made))


@threads.get("/{thread}/state")
@threads.get("/{thread}/state/{checkpoint}")
async def langgraph_get_state(
    tenant: CurrentTenant,
    thread: ThreadId,
    checkpoint: str | None = None,
    subgraphs: Flag = False,  # noqa: FBT002 (a query)
) -> View:
    """Return the state of a thread at a checkpoint, by default the newest."""
    found = await tenant.graph_threads.snapshot(thread, checkpoint, subgraphs=subgraphs)
    shown = snapshot_view(found)
    return shown if checkpoint else await _with_files(tenant, thread, shown)


class _At(HistorySearch):
    subgraphs: bool = False


@threads.post("/{thread}/state/checkpoint")
async def langgraph_get_state_of(tenant: CurrentTenant, thread: ThreadId, at: _At) -> View:
    """Return the state of a thread, or of one of its subgraphs, at a checkpoint."""
    place = at.checkpoint or Checkpoint()
    found = await tenant.graph_threads.snapshot(
        thread, place.checkpoint_id, place.checkpoint_ns, subgraphs=at.subgraphs
    )
    shown = snapshot_view(found)
    is_newest = not (place.checkpoint_id or place.checkpoint_ns)
    return await _with_files(tenant, thread, shown) if is_newest else shown


@threads.post("/{thread}/state")
async def langgraph_update_state(
    tenant: CurrentTenant, thread: ThreadId, update: StateUpdate
) -> View:
    """Change the state of a thread."""
    await tenant.threads.check_writable(thread)
    place = update.checkpoint or Checkpoint()
    config = await tenant.graph_threads.update(
        thread,
        update.values,
        node=update.as_node,
        checkpoint=place.checkpoint_id or update.checkpoint_id,
        namespace=place.checkpoint_ns,
    )
    return {"checkpoint": checkpoint_view(config), **checkpoint_view(config)}


@threads.get("/{thread}/history")
async def langgraph_list_history(
    tenant: CurrentTenant,
    thread: ThreadId,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 10,
    before: str | None = None,
) -> list[View]:
    """Return the states of a thread, the newest first."""
    return await langgraph_history(tenant, thread, HistorySearch(limit=limit, before=before))


@threads.post("/{thread}/history")
async def langgraph_history(
    tenant: CurrentTenant, thread: ThreadId, search: HistorySearch
) -> list[View]:
    """Return the states of a thread, the newest first."""
    place = search.checkpoint or Checkpoint()
    before = _checkpoint_in(search.before)
    found = await tenant.graph_threads.history(
        thread,
        limit=search.limit,
        before=before,
        metadata=search.metadata,
        namespace=place.checkpoint_ns,
    )
    shown = [snapshot_view(one) for one in found]
    if shown and not (before or search.metadata or place.checkpoint_ns):
        await _with_files(tenant, thread, shown[0])
    return shown


async def _with_files(tenant: Tenant, thread: str, newest: View) -> View:
    """Add the files of a thread to the built-in agent's state, as deepagents has them there.

    If the files cannot be listed, the state has none.
    """
    values = newest["values"]
    own = values.get("files") if isinstance(values, dict) else ()
    if isinstance(own, dict | None) and await tenant.graph_threads.graph_id(thread) == BUILT_IN:
        with suppress(StorageError):
            if files := await tenant.files.texts(thread):
                values["files"] = {**files, **(own or {})}
    return newest


def _checkpoint_in(given: Any) -> str | None:  # noqa: ANN401 (an id, a checkpoint, or a config)
    if isinstance(given, dict):
        place = given.get("configurable")
        given = (place if isinstance(place, dict) else given).get("checkpoint_id")
    return str(given) if given else None


async def _snapshot(tenant: Tenant, thread: GraphThread) -> Any:  # noqa: ANN401 (LangGraph's)
    try:
        return await tenant.graph_threads.snapshot(thread.row.thread)
    except ConfigError:  # its graph is no longer in the settings, and the thread is still listed
        return None


async def _found(
    tenant: Tenant, search: ThreadSearch, most: int | None = None
) -> Sequence[GraphThread]:
    """Return the threads that a search names, in its order; with values, the first `most`."""
    found = [
        one
        for one in await tenant.graph_threads.list()
        if (search.ids is None or one.row.thread in search.ids)
        and search.status in {None, one.status}
        and has_fields(one.metadata, search.metadata)
    ]
    if search.sort_by is not None:
        keys: dict[str, Any] = {
            "thread_id": lambda one: one.row.thread,
            "status": lambda one: one.status,
            "created_at": lambda one: one.row.created,
        }
        key = keys.get(search.sort_by, lambda one: one.row.updated)
        found.sort(key=key, reverse=search.sort_order == "desc")
    return await _with_values(tenant, found, search.values, most) if search.values else found


async def _with_values(
    tenant: Tenant, found: Sequence[GraphThread], values: Mapping[str, Any], most: int | None
) -> Sequence[GraphThread]:
    """Return the first threads whose newest states have some values; states are read in turn.

    Raises:
        ConfigError: After `MOST_STATES` states there may be more.
    """
    matching: list[GraphThread] = []
    for one in found[:MOST_STATES]:
        if len(matching) == most:
            break
        state = await _snapshot(tenant, one)
        if state is not None and has_fields(state.values, values):
            matching.append(one)
    if len(matching) != most and len(found) > MOST_STATES:
        problem = (
            f"it reads {MOST_STATES:,} states at most, and {len(found):,} threads match the rest"
        )
        raise ConfigError("values", problem, "add ids, metadata or status to the search")
    return matching
