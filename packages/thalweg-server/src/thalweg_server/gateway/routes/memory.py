"""`/api/memory`: an owner's memory as one document, its facts, and its history."""

import json
from typing import Annotated, Any, Literal, get_args

from fastapi import APIRouter, Body, Path, Query

from thalweg_memory import Fact, Memory, Operation
from thalweg_memory.facts.values import Mode, Status
from thalweg_memory.handle import documents_of
from thalweg_server.api.memory import (
    Commit,
    Commits,
    FactChange,
    Facts,
    FactView,
    Forget,
    Forgotten,
    MemoryDocument,
    NewFact,
    Recall,
    Review,
)
from thalweg_server.api.shape import Number, Shape
from thalweg_server.app.memory import (
    commit_view,
    fact_view,
    forgotten_view,
    recall_view,
    whole,
)
from thalweg_server.gateway.access import Known, Many, Name, Shared, ThreadId, problems
from thalweg_server.gateway.bodies import GatewayRoute

memory = APIRouter(tags=["memory"], route_class=GatewayRoute)
_STATUSES: tuple[Status, ...] = get_args(Status)
FactId = Annotated[Name, Path(description="The fact's id, as it is listed.", examples=["fact_1"])]
Query_ = Annotated[str, Query(min_length=1, max_length=2_000, description="What it is about.")]


class MemoryMode(Shape):
    """What memory does with a thread."""

    mode: Mode


@memory.get("/api/memory")
async def get_memory(known: Known) -> MemoryDocument:
    """Return the memory: profile, history and facts."""
    return await known.ask(lambda memory: MemoryDocument.model_validate_json(memory.export()))


@memory.delete("/api/memory", responses=problems(403))
async def clear_memory(known: Known) -> Commit | None:
    """Remove everything; it can be undone. `null` if there was nothing."""
    return _changed(await known.ask(Memory.clear))


@memory.post("/api/memory/reload")
async def reload_memory(known: Known, shared: Shared) -> MemoryDocument:
    """Import manual edits of `memory.json`, if memory is kept in one."""
    if documents_of(shared.app.parts.memories) is not None:
        await known.ask(Memory.reload)
    return await get_memory(known)


@memory.get("/api/memory/config")
async def get_memory_config(shared: Shared) -> dict[str, Any]:
    """Return the settings of memory."""
    return shared.app.settings.memory.model_dump(mode="json")


@memory.get("/api/memory/status")
async def get_memory_status(known: Known, shared: Shared) -> dict[str, Any]:
    """Return settings and document together."""
    return {"config": await get_memory_config(shared), "data": await export_memory(known)}


@memory.get("/api/memory/export")
async def export_memory(
    known: Known,
    shape: Annotated[
        Literal["seeds", "full"],
        Query(description="`seeds` is the document; `full` has evidence and what no longer holds."),
    ] = "seeds",
) -> dict[str, Any]:
    """Write the memory as a document that `import_memory` takes."""
    text = await known.ask(Memory.export)
    if shape == "full":
        return whole(text, await known.ask(Memory.facts, *_STATUSES))
    document: dict[str, Any] = json.loads(text)
    return document


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
    text = json.dumps(document, ensure_ascii=False)
    return _changed(await known.ask(Memory.import_, text, where="the document"))


@memory.get("/api/memory/search")
async def search_memory(known: Known, q: Query_) -> Recall:
    """Return the facts that a run about these words would receive."""
    return recall_view(q, await known.ask(Memory.search, q))


@memory.get("/api/memory/explain")
async def explain_memory(known: Known, q: Query_) -> Recall:
    """Return all candidates for these words, and why each would be shown or not."""
    return recall_view(q, await known.ask(Memory.explain, q))


@memory.get("/api/memory/history")
async def memory_history(known: Known, limit: Many = 50) -> Commits:
    """List changes, newest first; each can be undone."""
    return Commits(items=tuple(map(commit_view, await known.ask(Memory.history, limit=limit))))


@memory.post("/api/memory/history/{operation}/undo", responses=problems(403, 409))
async def undo_memory(
    known: Known,
    operation: Annotated[Number, Path(description="Its number, as the history lists it.")],
) -> Commit:
    """Put back what one change replaced."""
    return commit_view(await known.ask(Memory.undo, operation))


@memory.post("/api/memory/forget", responses=problems(404, 409))
async def forget_memory(
    known: Known, what: Annotated[Forget, Body(examples=[{"words": "the old project"}])]
) -> Forgotten:
    """Delete for good, history and all; works where memory is off, too."""
    receipt = await known.ask(
        Memory.forget,
        *what.facts,
        threads=what.threads,
        query=what.words,
        everything=what.everything,
    )
    return forgotten_view(receipt)


@memory.put("/api/threads/{thread}/memory")
async def set_memory_mode(
    known: Known, thread: ThreadId, mode: Annotated[MemoryMode, Body(examples=[{"mode": "off"}])]
) -> MemoryMode:
    """Set what memory does with a thread."""
    await known.ask(Memory.set_mode, thread, mode.mode)
    return mode


def _changed(done: Operation | None) -> Commit | None:
    return None if done is None else commit_view(done)


facts = APIRouter(prefix="/api/memory/facts", tags=["facts"], route_class=GatewayRoute)


@facts.get("")
async def list_facts(
    known: Known,
    status: Annotated[Status | None, Query(description="Default: the active ones.")] = None,
) -> Facts:
    """List facts, newest first."""

    def listed(memory: Memory) -> Facts:
        found = memory.facts(*((status,) if status else ()))
        return Facts(items=tuple(map(fact_view, reversed(found))))

    return await known.ask(listed)


@facts.post("", status_code=201, responses=problems(403, 409))
async def add_fact(
    known: Known,
    new: Annotated[
        NewFact, Body(examples=[{"content": "Ada prefers metric units.", "category": "preference"}])
    ],
) -> FactView:
    """Remember a statement on the user's own word."""
    category, confidence = new.category or "knowledge", new.confidence
    return fact_view(
        await known.ask(Memory.remember, new.content, category=category, confidence=confidence)
    )


@facts.get("/{fact}")
async def get_fact(known: Known, fact: FactId) -> FactView:
    """Return one fact with its evidence, valid or not."""
    return fact_view(await known.ask(Memory.fact, fact))


@facts.patch("/{fact}", responses=problems(403, 409))
async def edit_fact(
    known: Known,
    fact: FactId,
    change: Annotated[FactChange, Body(examples=[{"content": "Ada prefers SI units."}])],
) -> FactView:
    """Edit a fact; the history keeps its former text."""
    fields = change.model_dump()
    return fact_view(await known.ask(lambda memory: memory.edit(fact, **fields)))


@facts.delete("/{fact}", responses=problems(403, 409))
async def delete_fact(known: Known, fact: FactId) -> Commit:
    """Take a fact out; it can be undone. `forget_memory` deletes for good."""

    def delete(memory: Memory) -> Operation:
        done = memory.delete(fact)
        return memory.history(limit=1)[0] if done is None else done

    return commit_view(await known.ask(delete))


@facts.post("/{fact}/review", responses=problems(403, 409))
async def review_fact(
    known: Known, fact: FactId, review: Annotated[Review, Body(examples=[{"accept": True}])]
) -> FactView:
    """Accept or reject a fact that waits for the user's word."""

    def decide(memory: Memory) -> Fact:
        before = memory.fact(fact)
        (memory.accept if review.accept else memory.reject)(fact)
        there = memory.facts(*_STATUSES)
        return next((one for one in there if one.id == fact), before)

    return fact_view(await known.ask(decide))
