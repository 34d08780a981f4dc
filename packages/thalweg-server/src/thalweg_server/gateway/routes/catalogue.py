"""`/api/models`, `/api/skills` and `/api/usage`: what there is to work with, and what it cost."""

from typing import Annotated

from fastapi import APIRouter, Path

from thalweg_server.api.catalogue import Model, Models, Skill, Skills
from thalweg_server.api.usage import OwnerUsage, ThreadUsage
from thalweg_server.gateway.access import Mine, Name, ThreadId
from thalweg_server.gateway.bodies import GatewayRoute

catalogue = APIRouter(route_class=GatewayRoute)


@catalogue.get("/api/models", tags=["models"])
async def list_models(mine: Mine) -> Models:
    """List the models that a run may name, the default first."""
    return await mine.models.list()


@catalogue.get("/api/models/{name:path}", tags=["models"])
async def get_model(
    mine: Mine, name: Annotated[Name, Path(description="As it is listed.", examples=["small"])]
) -> Model:
    """Return one model."""
    return await mine.models.get(name)


@catalogue.get("/api/skills", tags=["skills"])
async def list_skills(mine: Mine) -> Skills:
    """List the skills that agents can load."""
    return await mine.skills.list()


@catalogue.get("/api/skills/{name}", tags=["skills"])
async def get_skill(
    mine: Mine, name: Annotated[Name, Path(description="As it is listed.", examples=["pdf"])]
) -> Skill:
    """Return one skill with its whole text."""
    return await mine.skills.get(name)


@catalogue.get("/api/usage", tags=["usage"])
async def get_usage(mine: Mine) -> OwnerUsage:
    """Return the usage of all threads, each and in total, and by model."""
    return await mine.usage.owner()


@catalogue.get("/api/threads/{thread}/usage", tags=["usage"])
async def get_thread_usage(mine: Mine, thread: ThreadId) -> ThreadUsage:
    """Return a thread's usage, by caller of the model, and the fill of its window."""
    return await mine.usage.thread(thread)
