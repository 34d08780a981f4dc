"""`/api/memory/facts`: facts one by one."""

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query

from thalweg_memory.facts.values import Status
from thalweg_server.api.memory import Commit, FactChange, Facts, FactView, NewFact, Review
from thalweg_server.gateway.access import Known, Name, problems
from thalweg_server.gateway.bodies import GatewayRoute

facts = APIRouter(prefix="/api/memory/facts", tags=["facts"], route_class=GatewayRoute)
FactId = Annotated[Name, Path(description="The fact's id, as it is listed.", examples=["fact_1"])]


@facts.get("")
async def list_facts(
    known: Known,
    status: Annotated[Status | None, Query(description="Default: the active ones.")] = None,
) -> Facts:
    """List facts, newest first."""
    return await known.facts(status)


@facts.post("", status_code=201, responses=problems(403, 409))
async def add_fact(
    known: Known,
    new: Annotated[
        NewFact, Body(examples=[{"content": "Ada prefers metric units.", "category": "preference"}])
    ],
) -> FactView:
    """Remember a statement on the user's own word."""
    return await known.add(new)


@facts.get("/{fact}")
async def get_fact(known: Known, fact: FactId) -> FactView:
    """Return one fact with its evidence, valid or not."""
    return await known.fact(fact)


@facts.patch("/{fact}", responses=problems(403, 409))
async def edit_fact(
    known: Known,
    fact: FactId,
    change: Annotated[FactChange, Body(examples=[{"content": "Ada prefers SI units."}])],
) -> FactView:
    """Edit a fact; the history keeps its former text."""
    return await known.edit(fact, change)


@facts.delete("/{fact}", responses=problems(403, 409))
async def delete_fact(known: Known, fact: FactId) -> Commit:
    """Take a fact out; it can be undone. `forget_memory` deletes for good."""
    return await known.delete(fact)


@facts.post("/{fact}/review", responses=problems(403, 409))
async def review_fact(
    known: Known, fact: FactId, review: Annotated[Review, Body(examples=[{"accept": True}])]
) -> FactView:
    """Accept or reject a fact that waits for the user's word."""
    return await known.review(fact, review)
