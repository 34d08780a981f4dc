"""`/api/memory`: an owner's memory as one document, and operations on the whole of it."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Path, Query

from thalweg_memory.facts.values import Mode
from thalweg_server.api.memory import Commit, Commits, Forget, Forgotten, MemoryDocument, Recall
from thalweg_server.api.shape import Number, Shape
from thalweg_server.gateway.access import Known, Many, ThreadId, problems
from thalweg_server.gateway.bodies import GatewayRoute

memory = APIRouter(tags=["memory"], route_class=GatewayRoute)
Query_ = Annotated[str, Query(min_length=1, max_length=2_000, description="What it is about.")]


class MemoryMode(Shape):
    """What memory does with a thread."""

    mode: Mode


@memory.get("/api/memory")
async def get_memory(known: Known) -> MemoryDocument:
    """Return the memory: profile, history and facts."""
    return await known.document()


@memory.delete("/api/memory", responses=problems(403))
async def clear_memory(known: Known) -> Commit | None:
    """Remove everything; it can be undone. `null` if there was nothing."""
    return await known.clear()


@memory.post("/api/memory/reload")
async def reload_memory(known: Known) -> MemoryDocument:
    """Import manual edits of `memory.json`, if memory is kept in one."""
    return await known.reload()


@memory.get("/api/memory/config")
async def get_memory_config(known: Known) -> dict[str, Any]:
    """Return the settings of memory."""
    return await known.config()


@memory.get("/api/memory/status")
async def get_memory_status(known: Known) -> dict[str, Any]:
    """Return settings and document together."""
    return await known.status()


@memory.get("/api/memory/export")
async def export_memory(
    known: Known,
    shape: Annotated[
        Literal["seeds", "full"],
        Query(description="`seeds` is the document; `full` has evidence and what no longer holds."),
    ] = "seeds",
) -> dict[str, Any]:
    """Write the memory as a document that `import_memory` takes."""
    return await known.export(shape)


@memory.post("/api/memory/import", responses=problems(403, 409))
async def import_memory(
    known: Known,
    document: Annotated[
        dict[str, Any],
        Body(
            examples=[
                {
                    "version": "1.0",
                    "facts": [
                        {"content": "Ada prefers metric units.", "category": "preference"},
                    ],
                }
            ]
        ),
    ],
) -> Commit | None:
    """Import a document, in addition to existing facts; `null` if it contains nothing new."""
    return await known.import_(document)


@memory.get("/api/memory/search")
async def search_memory(known: Known, q: Query_) -> Recall:
    """Return the facts that a run about these words would receive."""
    return await known.search(q)


@memory.get("/api/memory/explain")
async def explain_memory(known: Known, q: Query_) -> Recall:
    """Return all candidates for these words, and why each would be shown or not."""
    return await known.explain(q)


@memory.get("/api/memory/history")
async def memory_history(known: Known, limit: Many = 50) -> Commits:
    """List changes, newest first; each can be undone."""
    return await known.history(limit)


@memory.post("/api/memory/history/{operation}/undo", responses=problems(403, 409))
async def undo_memory(
    known: Known,
    operation: Annotated[Number, Path(description="Its number, as the history lists it.")],
) -> Commit:
    """Put back what one change replaced."""
    return await known.undo(operation)


@memory.post("/api/memory/forget", responses=problems(404, 409))
async def forget_memory(
    known: Known, what: Annotated[Forget, Body(examples=[{"words": "the old project"}])]
) -> Forgotten:
    """Delete for good, history and all; works where memory is off, too."""
    return await known.forget(what)


@memory.put("/api/threads/{thread}/memory")
async def set_memory_mode(
    known: Known, thread: ThreadId, mode: Annotated[MemoryMode, Body(examples=[{"mode": "off"}])]
) -> MemoryMode:
    """Set what memory does with a thread."""
    return MemoryMode(mode=await known.set_mode(thread, mode.mode))
