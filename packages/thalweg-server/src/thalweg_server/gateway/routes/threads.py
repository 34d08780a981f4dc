"""`/api/threads`: conversations, their turns, and what can be done to them by hand."""

from collections.abc import AsyncIterator
from typing import Annotated, Literal

from fastapi import APIRouter, Body, Query, Response
from fastapi.responses import StreamingResponse

from thalweg_server.api.shape import Number, TurnNumber
from thalweg_server.api.threads import (
    Branch,
    Context,
    DeletedThread,
    Done,
    History,
    NewThread,
    Pinned,
    Rewind,
    State,
    Thread,
    ThreadChange,
    Threads,
    Turns,
)
from thalweg_server.gateway.access import (
    CurrentCaller,
    CurrentTenant,
    Many,
    ThreadId,
    Words,
    problems,
)
from thalweg_server.gateway.bodies import GatewayRoute
from thalweg_server.uploads.serving import disposition

threads = APIRouter(prefix="/api/threads", tags=["threads"], route_class=GatewayRoute)
Before = Annotated[str | None, Query(max_length=400, description="`before` of the last answer.")]


@threads.get("")
async def list_threads(
    tenant: CurrentTenant, limit: Many = 50, before: Before = None, q: Words = ""
) -> Threads:
    """List threads, the one that was used last first."""
    return await tenant.threads.list(limit=limit, before=before, q=q)


@threads.post("", status_code=201, responses=problems(409))
async def create_thread(
    caller: CurrentCaller,
    response: Response,
    new: Annotated[NewThread, Body(examples=[{"title": "Cutover plan"}, {"id": "t1"}])],
) -> Thread:
    """Create a thread; a run creates one, too, if there is none."""
    made = await caller.tenant.threads.create(new)
    response.headers["Location"] = caller.location("/api/threads/{}", made.id)
    return made


@threads.get("/{thread}")
async def get_thread(tenant: CurrentTenant, thread: ThreadId) -> Thread:
    """Return the metadata of a thread."""
    return await tenant.threads.get(thread)


@threads.patch("/{thread}", responses=problems(409))
async def update_thread(
    tenant: CurrentTenant,
    thread: ThreadId,
    change: Annotated[ThreadChange, Body(examples=[{"title": "New"}])],
) -> Thread:
    """Change a thread's title."""
    return await tenant.threads.update(thread, change)


@threads.delete("/{thread}", responses=problems(409))
async def delete_thread(
    tenant: CurrentTenant,
    thread: ThreadId,
    memory: Annotated[
        Literal["keep", "forget"],
        Query(description="Whether facts learned from it are deleted, too."),
    ] = "keep",
) -> DeletedThread:
    """Delete a thread: messages, runs and files.

    With `memory=forget` the facts learned from it are deleted, too, and all bytes are erased from
    the files of the databases before the response, which lists what remains and where.
    """
    return await tenant.threads.delete(thread, forget=memory == "forget")


@threads.get("/{thread}/state")
async def get_state(tenant: CurrentTenant, thread: ThreadId) -> State:
    """Return the state of a thread: its plan, its files, its pending questions."""
    return await tenant.threads.state(thread)


@threads.get("/{thread}/history")
async def get_history(
    tenant: CurrentTenant,
    thread: ThreadId,
    limit: Many = 100,
    before: Number | None = None,
    abandoned: Annotated[  # noqa: FBT002 (a query has no positions)
        bool, Query(description="Whether messages that a rewind abandoned are included.")
    ] = False,
) -> History:
    """Return the newest messages, oldest first, including compacted ones."""
    return await tenant.threads.history(thread, limit=limit, before=before, abandoned=abandoned)


@threads.get("/{thread}/turns")
async def list_turns(
    tenant: CurrentTenant,
    thread: ThreadId,
    edits_only: Annotated[bool, Query(description="Only turns with decisions.")] = False,  # noqa: FBT002
) -> Turns:
    """List turns and the events between them, with the decisions about the context in each."""
    return await tenant.threads.turns(thread, edits_only=edits_only)


@threads.get("/{thread}/context")
async def get_context(
    tenant: CurrentTenant,
    thread: ThreadId,
    turn: TurnNumber | None = None,
    upcoming: Annotated[  # noqa: FBT002 (a query has no positions)
        bool,
        Query(alias="next", description="What the next request begins with, before its message."),
    ] = False,
) -> Context:
    """Return the exact request of a turn, as the model received it; the newest by default."""
    return await tenant.threads.context(thread, turn, next=upcoming)


@threads.post("/{thread}/compact", responses=problems(409, 429, 502))
async def compact_thread(caller: CurrentCaller, thread: ThreadId) -> Done:
    """Compact now what can be; nothing is lost, and it can be undone. It counts as a run."""
    async with caller.starting():
        return await caller.tenant.threads.compact(thread)


@threads.post("/{thread}/rewind", responses=problems(409))
async def rewind_thread(
    tenant: CurrentTenant, thread: ThreadId, to: Annotated[Rewind, Body(examples=[{"turn": 3}])]
) -> Done:
    """Restore the thread's state at the request of a turn; the next run continues there."""
    return await tenant.threads.rewind(thread, to)


@threads.post("/{thread}/undo", responses=problems(409))
async def undo_compaction(
    tenant: CurrentTenant, thread: ThreadId, turn: TurnNumber | None = None
) -> Done:
    """Undo a compaction; the newest if no turn is named."""
    return await tenant.threads.undo(thread, turn)


@threads.post("/{thread}/branch", status_code=201, responses=problems(409))
async def branch_thread(
    tenant: CurrentTenant, thread: ThreadId, branch: Annotated[Branch, Body(examples=[{"turn": 3}])]
) -> Thread:
    """Create a thread from the beginning of another, which does not change."""
    return await tenant.threads.branch(thread, branch)


_WORDS = Body(examples=[{"position": 0, "quote": "never touch the production database"}])


@threads.post("/{thread}/pin", responses=problems(409))
async def pin(tenant: CurrentTenant, thread: ThreadId, words: Annotated[Pinned, _WORDS]) -> Done:
    """Keep words of the user verbatim in every context to come."""
    return await tenant.threads.pin(thread, words)


@threads.post("/{thread}/unpin", responses=problems(409))
async def unpin(tenant: CurrentTenant, thread: ThreadId, words: Annotated[Pinned, _WORDS]) -> Done:
    """Let go of words that were pinned."""
    return await tenant.threads.unpin(thread, words)


_LINES = {"application/jsonl": {"schema": {"type": "string"}}}


@threads.get(
    "/{thread}/export",
    response_class=StreamingResponse,
    responses={200: {"description": "One object a line.", "content": _LINES}},
)
async def export_thread(tenant: CurrentTenant, thread: ThreadId) -> StreamingResponse:
    """Write the whole thread as lines of JSON, as `thalweg thread export` does."""
    lines = tenant.threads.export(thread)
    # Requested before the response begins, so that a missing thread is answered with a 404.
    first = await anext(lines, "")
    return StreamingResponse(
        _chained(first, lines),
        media_type="application/jsonl",
        headers={"Content-Disposition": disposition(f"{thread}.jsonl")},
    )


async def _chained(first: str, rest: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for line in rest:
        yield line
