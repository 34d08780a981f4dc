"""Runs of LangGraph's API: started, waited for, streamed, joined, cancelled."""

import json
from collections.abc import AsyncIterator, Collection
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response

from thalweg.errors import NoSuchRunError
from thalweg_server.api.graph_runs import GraphRun, NewGraphRun, read_request
from thalweg_server.api.problems import Problem
from thalweg_server.app import Tenant
from thalweg_server.app.graph_threads import STATUSES, View, run_view, snapshot_view
from thalweg_server.app.runs import graph_run
from thalweg_server.gateway.access import (
    CurrentCaller,
    CurrentTenant,
    Flag,
    GatewayCaller,
    RunId,
    ThreadId,
)
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.gateway.langgraph_api.frames import (
    START,
    Position,
    StreamView,
    error_of,
    frames_after,
    position_of,
)
from thalweg_server.gateway.langgraph_api.shapes import CancelMany
from thalweg_server.gateway.streams import EventStream, Frame, Waiting
from thalweg_server.runs.base import ENDED, RunRecord

runs = APIRouter(tags=["langgraph"], route_class=GatewayRoute, include_in_schema=False)
_R = "/threads/{thread}/runs"
StreamModes = Annotated[list[str] | None, Query(alias="stream_mode")]
LastEventId = Annotated[str | None, Header()]
Action = Annotated[Literal["interrupt", "rollback"], Query()]


# -- starting --------------------------------------------------------------------------------


async def _thread(request: Request) -> str | None:
    thread: str | None = request.path_params.get("thread")
    return thread


PathThread = Annotated[str | None, Depends(_thread)]
"""The thread of a path; `None` if the path has none: the run then gets a thread of its own."""


@runs.post(_R)
@runs.post("/runs")
async def langgraph_create_run(
    caller: CurrentCaller, thread: PathThread, new: NewGraphRun, response: Response
) -> View:
    """Start a run in the background."""
    run = await start_run(caller, thread, new)
    response.headers.update(_headers(caller, run))
    return run_view(run)


@runs.post("/runs/batch")
async def langgraph_create_runs(caller: CurrentCaller, many: list[NewGraphRun]) -> list[View]:
    """Start some runs, each on a thread of its own; none if one of them is invalid."""
    for new in many:
        assistant = await caller.tenant.assistants.get(new.assistant_id)
        await caller.tenant.graph_runs.check(graph_run(assistant, new))
    return [run_view(await start_run(caller, None, new)) for new in many]


@runs.post(f"{_R}/stream", response_class=EventStream)
@runs.post("/runs/stream", response_class=EventStream)
async def langgraph_stream_run(
    caller: CurrentCaller, thread: PathThread, new: NewGraphRun
) -> EventStream:
    """Start a run and stream it."""
    caller.open_stream()
    run = await start_run(caller, thread, new)
    return _stream(caller, run, cancels=new.on_disconnect == "cancel")


@runs.post(f"{_R}/wait")
@runs.post("/runs/wait")
async def langgraph_wait_run(
    caller: CurrentCaller, thread: PathThread, new: NewGraphRun
) -> Response:
    """Start a run, and return its last state."""
    caller.open_stream()
    run = await start_run(caller, thread, new)
    return _wait(caller, run, cancels=new.on_disconnect == "cancel")


# -- those that were started -------------------------------------------------------------------


@runs.get(_R)
async def langgraph_list_runs(
    tenant: CurrentTenant,
    thread: ThreadId,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 10,
    offset: Annotated[int, Query(ge=0)] = 0,
    status: str | None = None,
) -> list[View]:
    """Return runs of a thread, the newest first."""
    found = await tenant.graph_runs.list(thread, 1_000 if status else min(offset + limit, 1_000))
    found = [run for run in found if status in {None, STATUSES[run.status]}]
    return [run_view(run) for run in found[offset : offset + limit]]


@runs.get(f"{_R}/{{run}}")
async def langgraph_get_run(tenant: CurrentTenant, thread: ThreadId, run: RunId) -> View:
    """Return a run."""
    return run_view(await tenant.graph_runs.get(thread, run))


@runs.get(f"{_R}/{{run}}/join")
async def langgraph_join_run(
    caller: CurrentCaller,
    thread: ThreadId,
    run: RunId,
    cancel_on_disconnect: Flag = False,  # noqa: FBT002 (a query)
) -> Response:
    """Return the last state of a run once it has ended."""
    caller.open_stream()
    found = await caller.tenant.graph_runs.get(thread, run)
    return _wait(caller, found, cancels=cancel_on_disconnect)


@runs.get(f"{_R}/{{run}}/stream", response_class=EventStream)
async def langgraph_join_stream(
    caller: CurrentCaller,
    thread: ThreadId,
    run: RunId,
    stream_mode: StreamModes = None,
    cancel_on_disconnect: Flag = False,  # noqa: FBT002 (a query)
    last_event_id: LastEventId = None,
) -> EventStream:
    """Stream a run after an event, on any gateway; also one that has ended."""
    caller.open_stream()
    found = await caller.tenant.graph_runs.get(thread, run)
    modes = [mode for given in stream_mode or () for mode in given.split(",") if mode]
    return _stream(caller, found, modes, position_of(last_event_id), cancels=cancel_on_disconnect)


@runs.post(f"{_R}/{{run}}/cancel")
async def langgraph_cancel_run(
    caller: CurrentCaller,
    thread: ThreadId,
    run: RunId,
    wait: Flag = False,  # noqa: FBT002 (a query)
    action: Action = "interrupt",
) -> Response:
    """Cancel a run; with `action=rollback` also delete it and what it did."""
    graph_runs = caller.tenant.graph_runs
    found = await graph_runs.get(thread, run)
    if action == "rollback":
        await graph_runs.roll_back(thread, {run})
    else:
        await caller.tenant.runs.cancel(thread, run)
    if action == "rollback" or not wait:
        return Response("{}", media_type="application/json")
    caller.open_stream()  # it is cancelled also without a place to wait

    async def result() -> bytes:
        await graph_runs.wait(found)
        return b"{}"

    place = caller.location(f"{_R_PATH}/join", thread, run)
    return Waiting(result, caller.streams, headers={"Location": place})


@runs.post("/runs/cancel")
async def langgraph_cancel_runs(
    tenant: CurrentTenant, many: CancelMany, action: Action = "interrupt"
) -> Response:
    """Cancel some runs of a thread; with `action=rollback` also delete them and what they did."""
    thread = many.thread_id
    found = {
        run.key.run
        for run in await tenant.graph_runs.list(thread)
        if run.status not in ENDED
        and (many.run_ids is None or run.key.run in many.run_ids)
        and many.status in {None, "all", STATUSES[run.status]}
    }
    if found and action == "rollback":
        await tenant.graph_runs.roll_back(thread, found)
    else:
        for run in found:
            await tenant.runs.cancel(thread, run)
    return Response(status_code=204)


@runs.delete(f"{_R}/{{run}}")
async def langgraph_delete_run(tenant: CurrentTenant, thread: ThreadId, run: RunId) -> Response:
    """Delete a run and its events; what it did remains."""
    await tenant.graph_runs.delete(thread, run)
    return Response(status_code=204)


@runs.get("/threads/{thread}/stream", response_class=EventStream)
async def langgraph_join_thread(caller: CurrentCaller, thread: ThreadId) -> EventStream:
    """Stream the runs of a thread as they come, until the client goes away."""
    caller.open_stream()
    await caller.tenant.graph_threads.get(thread)

    async def frames() -> AsyncIterator[Frame]:
        views: dict[str, StreamView] = {}
        async for run, event in caller.tenant.graph_runs.follow_thread(thread):
            view = views.get(run.key.run)
            if view is None:
                view = views[run.key.run] = StreamView(run.key.run, _client_modes(run))
            for name, data in view.frames(event):
                yield Frame("", name, json.dumps(data, ensure_ascii=False))
            if event.is_end:
                del views[run.key.run]

    return caller.stream(frames())


# -- shared by the operations above --------------------------------------------------------------

_R_PATH = "/threads/{}/runs/{}"


async def start_run(caller: GatewayCaller, thread: str | None, new: NewGraphRun) -> RunRecord:
    """Start a run; without a thread, on a new one that is deleted after it."""
    tenant = caller.tenant
    assistant = await tenant.assistants.get(new.assistant_id)
    is_temporary = thread is None and new.on_completion == "delete"
    if thread is None:
        await tenant.graph_runs.delete_temporary()
    async with caller.starting(delayed=bool(new.after_seconds)):
        return await tenant.graph_runs.start(
            thread,
            graph_run(assistant, new),
            strategy=new.multitask_strategy or "enqueue",
            creates=new.if_not_exists == "create",
            after_s=new.after_seconds or 0,
            is_temporary=is_temporary,
        )


def _client_modes(run: RunRecord) -> list[str]:
    request = read_request(run.request)
    modes = request.client.get("stream_mode") if isinstance(request, GraphRun) else None
    return [str(mode) for mode in modes] if isinstance(modes, list) else ["values"]


def _headers(caller: GatewayCaller, run: RunRecord, last: str = "") -> dict[str, str]:
    place = caller.location(_R_PATH, run.key.thread, run.key.run)
    headers = {"Content-Location": place}
    return {**headers, "Location": f"{place}/{last}"} if last else headers


async def _cancel(tenant: Tenant, run: RunRecord) -> None:
    with suppress(NoSuchRunError):
        await tenant.runs.cancel(run.key.thread, run.key.run)


def _stream(
    caller: GatewayCaller,
    run: RunRecord,
    modes: Collection[str] = (),
    after: Position = START,
    *,
    cancels: bool,
) -> EventStream:
    view, tenant = StreamView(run.key.run, modes or _client_modes(run)), caller.tenant
    frames = frames_after(tenant.runs.lines(run.key.thread, run.key.run), view, after)
    on_disconnect = partial(_cancel, tenant, run) if cancels else None
    return caller.stream(frames, _headers(caller, run, "stream"), on_disconnect)


def _wait(caller: GatewayCaller, run: RunRecord, *, cancels: bool) -> Waiting:
    tenant = caller.tenant

    async def result() -> bytes:
        ended = await tenant.graph_runs.wait(run)
        return json.dumps(await _last_state(tenant, ended), ensure_ascii=False).encode()

    on_disconnect = partial(_cancel, tenant, run) if cancels else None
    headers = _headers(caller, run, "join")
    return Waiting(result, caller.streams, headers=headers, on_disconnect=on_disconnect)


async def _last_state(tenant: Tenant, run: RunRecord) -> Any:  # noqa: ANN401 (any graph's)
    """Return the last state of an ended run from its journal, else that of its thread."""
    if run.error is not None:
        problem = Problem.model_validate_json(run.error)
        return {"__error__": error_of(problem.model_dump())}
    view = StreamView(run.key.run, ())
    for event in await tenant.graph_runs.read_all(run):
        for _ in view.frames(event):
            pass
    if view.values is not None:
        return view.values
    state = await tenant.graph_threads.snapshot(run.key.thread)
    return snapshot_view(state)["values"]
