"""`…/runs`: asking an agent, following what comes of it, and ending it."""

import asyncio
from contextlib import nullcontext, suppress
from typing import Annotated

from fastapi import APIRouter, Body, Header, Query, Response

from thalweg.errors import NoSuchRunError
from thalweg_server.api.runs import NewRun, Run, Runs
from thalweg_server.api.shape import Identifier, Number
from thalweg_server.gateway.access import (
    CurrentCaller,
    CurrentTenant,
    GatewayCaller,
    Many,
    RunId,
    ThreadId,
    problems,
)
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.gateway.streams import EventStream, event_frames

runs = APIRouter(prefix="/api/threads/{thread}/runs", tags=["runs"], route_class=GatewayRoute)
NewRunBody = Annotated[
    NewRun,
    Body(
        openapi_examples={
            "message": {"value": {"message": "What did we decide about the cutover?"}},
            "model": {"value": {"message": "Again, shorter.", "model": "small"}},
            "answer": {"value": {"resume": {"decisions": [{"type": "approve"}]}}},
        }
    ),
]


@runs.get("")
async def list_runs(
    tenant: CurrentTenant,
    thread: ThreadId,
    limit: Many = 50,
    before: Annotated[
        Identifier | None, Query(description="The run after which the list continues.")
    ] = None,
) -> Runs:
    """List runs of a thread, newest first."""
    return await tenant.runs.list(thread, limit=limit, before=before)


@runs.post("", status_code=202, responses=problems(409, 429))
async def start_run(
    caller: CurrentCaller, thread: ThreadId, new: NewRunBody, response: Response
) -> Run:
    """Start a run. It continues with or without a client that follows it.

    A missing thread is created. The same id a second time starts nothing, and returns the existing
    run: a request whose response was lost can be retried.
    """
    run, response.headers["Location"] = await _start(caller, thread, new)
    return run


@runs.post("/stream", status_code=200, response_class=EventStream, responses=problems(409, 429))
async def stream(caller: CurrentCaller, thread: ThreadId, new: NewRunBody) -> EventStream:
    """Ask an agent and follow the run; the header `Location` names it.

    Going away does not end the run: follow it again with `join_run`, or end it with `cancel_run`.
    """
    caller.open_stream()
    run, place = await _start(caller, thread, new)
    return _stream(caller, run, 0, {"Location": place, "Content-Location": place})


@runs.get("/{run}")
async def get_run(tenant: CurrentTenant, thread: ThreadId, run: RunId) -> Run:
    """Return one run."""
    return await tenant.runs.get(thread, run)


@runs.get("/{run}/stream", status_code=200, response_class=EventStream, responses=problems(429))
async def join_run(
    caller: CurrentCaller,
    thread: ThreadId,
    run: RunId,
    after: Annotated[Number, Query(description="The number of the last event you have.")] = 0,
    last_event_id: Annotated[
        Number | None, Header(description="The same, as browsers send it; it comes first.")
    ] = None,
) -> EventStream:
    """Stream a run from any event on, on any gateway; also one that has ended."""
    caller.open_stream()
    found = await caller.tenant.runs.get(thread, run)
    return _stream(caller, found, after if last_event_id is None else last_event_id)


@runs.get("/{run}/wait", responses=problems(429))
async def wait_run(
    caller: CurrentCaller,
    thread: ThreadId,
    run: RunId,
    timeout: Annotated[  # noqa: ASYNC109 (a query, and not this function's own)
        float, Query(ge=0, le=300, description="Seconds to wait at most.")
    ] = 60.0,
) -> Run:
    """Wait for a run to end; after the timeout, return its current state.

    The wait ends early if the gateway closes.
    """
    caller.open_stream()
    runs = caller.tenant.runs
    ended = asyncio.ensure_future(runs.wait(thread, run, timeout))
    closing = asyncio.ensure_future(caller.streams.closing.wait())
    try:
        await asyncio.wait([ended, closing], return_when=asyncio.FIRST_COMPLETED)
        return await (ended if ended.done() else runs.get(thread, run))
    finally:
        ended.cancel()
        closing.cancel()


@runs.post("/{run}/cancel")
async def cancel_run(tenant: CurrentTenant, thread: ThreadId, run: RunId) -> Run:
    """Cancel a run; the thread keeps the state of its last step. No effect on an ended one."""
    return await tenant.runs.cancel(thread, run)


async def _start(caller: GatewayCaller, thread: str, new: NewRun) -> tuple[Run, str]:
    """Start a run; return also the value of its `Location` header."""
    starting = caller.starting()
    if new.id is not None:
        with suppress(NoSuchRunError):
            await caller.tenant.runs.get(thread, new.id)
            starting = nullcontext()  # a request that is repeated starts nothing
    async with starting:
        run = await caller.tenant.runs.start(thread, new)
    return run, caller.location("/api/threads/{}/runs/{}", run.thread, run.id)


def _stream(
    caller: GatewayCaller, run: Run, after: int, headers: dict[str, str] | None = None
) -> EventStream:
    events = caller.tenant.runs.lines(run.thread, run.id, after)
    return caller.stream(event_frames(events), headers)
