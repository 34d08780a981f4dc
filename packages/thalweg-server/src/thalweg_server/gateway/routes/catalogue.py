"""`/api/models`, `/api/skills` and `/api/usage`: available models and skills, and the cost."""

from typing import Annotated

from fastapi import APIRouter, Path

from thalweg_server.api.catalogue import Model, Models, OwnerUsage, Skill, Skills, ThreadUsage
from thalweg_server.gateway.access import CurrentTenant, Name, ThreadId
from thalweg_server.gateway.bodies import GatewayRoute

catalogue = APIRouter(route_class=GatewayRoute)


@catalogue.get("/api/models", tags=["models"])
async def list_models(tenant: CurrentTenant) -> Models:
    """List the models that a run may name, the default first."""
    return await tenant.models.list()


@catalogue.get("/api/models/{name:path}", tags=["models"])
async def get_model(
    tenant: CurrentTenant,
    name: Annotated[Name, Path(description="As it is listed.", examples=["small"])],
) -> Model:
    """Return one model."""
    return await tenant.models.get(name)


@catalogue.get("/api/skills", tags=["skills"])
async def list_skills(tenant: CurrentTenant) -> Skills:
    """List the skills that agents can load."""
    return await tenant.skills.list()


@catalogue.get("/api/skills/{name}", tags=["skills"])
async def get_skill(
    tenant: CurrentTenant,
    name: Annotated[Name, Path(description="As it is listed.", examples=["pdf"])],
) -> Skill:
    """Return one skill with its whole text."""
    return await tenant.skills.get(name)


@catalogue.get("/api/usage", tags=["usage"])
async def get_usage(tenant: CurrentTenant) -> OwnerUsage:
    """Return the usage of all threads, each and in total, and by model."""
    return await tenant.usage.owner()


@catalogue.get("/api/threads/{thread}/usage", tags=["usage"])
async def get_thread_usage(tenant: CurrentTenant, thread: ThreadId) -> ThreadUsage:
    """Return a thread's usage, by caller of the model, and the fill of its window."""
    return await tenant.usage.thread(thread)
