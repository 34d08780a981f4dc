"""What there is to work with, what it cost, and whether the gateway is well."""

from thalweg.client.caller import Caller
from thalweg.client.calls import GatewayRequest, path_of
from thalweg.server.api.catalogue import Health, Model, Models, Skill, Skills
from thalweg.server.api.usage import OwnerUsage, ThreadUsage

_UNAVAILABLE = frozenset({503})


class CatalogueCalls(Caller):
    """What a client asks about models, skills, usage and health."""

    async def health(self) -> Health:
        """Return whether the gateway can work, with the reasons if not."""
        return await self._ask(GatewayRequest("GET", "/healthz", takes=_UNAVAILABLE), Health)

    async def metrics(self) -> str:
        """Return the gateway's metrics in Prometheus format."""
        return (await (await self._connected()).fetch(GatewayRequest("GET", "/metrics"))).text

    async def list_models(self) -> Models:
        """List the models that a run may name, the default first."""
        return await self._ask(GatewayRequest("GET", "/api/models"), Models)

    async def get_model(self, name: str) -> Model:
        """Return the metadata of a model."""
        return await self._ask(GatewayRequest("GET", path_of("/api/models/{}", name)), Model)

    async def list_skills(self) -> Skills:
        """List the skills that agents can load."""
        return await self._ask(GatewayRequest("GET", "/api/skills"), Skills)

    async def get_skill(self, name: str) -> Skill:
        """Return a skill, with its text."""
        return await self._ask(GatewayRequest("GET", path_of("/api/skills/{}", name)), Skill)

    async def get_usage(self) -> OwnerUsage:
        """Return the usage by thread and by model."""
        return await self._ask(GatewayRequest("GET", "/api/usage"), OwnerUsage)

    async def get_thread_usage(self, thread: str) -> ThreadUsage:
        """Return the usage of a thread, and the fill of its window."""
        call = GatewayRequest("GET", path_of("/api/threads/{}/usage", thread))
        return await self._ask(call, ThreadUsage)
