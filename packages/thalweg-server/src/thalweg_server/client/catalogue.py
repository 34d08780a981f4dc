"""Models, skills, usage, and the health of the gateway."""

from thalweg_server.api.catalogue import Health, Model, Models, Skill, Skills
from thalweg_server.api.usage import OwnerUsage, ThreadUsage
from thalweg_server.client.caller import Caller
from thalweg_server.client.calls import GatewayRequest

_HEALTH = GatewayRequest("GET", "/healthz", takes=frozenset({503}))


class CatalogueCalls(Caller):
    """Client calls for models, skills, usage and health."""

    async def health(self) -> Health:
        """Return whether the gateway can work, with the reasons if not."""
        return await (await self._connected()).ask(_HEALTH, Health)

    async def metrics(self) -> str:
        """Return the gateway's metrics in Prometheus format."""
        return (await self._fetch(GatewayRequest("GET", "/metrics"))).text

    async def list_models(self) -> Models:
        """List the models that a run may name, the default first."""
        return await self._ask(Models, "GET", "/api/models")

    async def get_model(self, name: str) -> Model:
        """Return the metadata of a model."""
        return await self._ask(Model, "GET", "/api/models/{}", name)

    async def list_skills(self) -> Skills:
        """List the skills that agents can load."""
        return await self._ask(Skills, "GET", "/api/skills")

    async def get_skill(self, name: str) -> Skill:
        """Return a skill, with its text."""
        return await self._ask(Skill, "GET", "/api/skills/{}", name)

    async def get_usage(self) -> OwnerUsage:
        """Return the usage by thread and by model."""
        return await self._ask(OwnerUsage, "GET", "/api/usage")

    async def get_thread_usage(self, thread: str) -> ThreadUsage:
        """Return the usage of a thread, and the fill of its window."""
        return await self._ask(ThreadUsage, "GET", "/api/threads/{}/usage", thread)
