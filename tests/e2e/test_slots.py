"""The engine behind the seams of other frameworks: real agents, a real socket, strict rules."""

from pathlib import Path

from tests.e2e.slot_hosts import HOSTS
from thalweg.testing.slots import EngineSlotContract, SlotHost
from thalweg.testing.strict import StrictProvider


class TestOpenAIAgents(EngineSlotContract):
    """OpenAI's Agents SDK, over Responses."""

    def host(self, provider: StrictProvider, archive: Path, thread: str) -> SlotHost:
        """Return its agent."""
        return HOSTS["openai-agents"](provider, archive, thread)


class TestPydanticAI(EngineSlotContract):
    """Pydantic AI, over Chat Completions."""

    def host(self, provider: StrictProvider, archive: Path, thread: str) -> SlotHost:
        """Return its agent."""
        return HOSTS["pydantic-ai"](provider, archive, thread)


class TestHermesSelecting(EngineSlotContract):
    """Hermes' interface of today: a view for each request."""

    def host(self, provider: StrictProvider, archive: Path, thread: str) -> SlotHost:
        """Return its agent."""
        return HOSTS["hermes, selecting"](provider, archive, thread)


class TestHermesCompressing(EngineSlotContract):
    """Hermes' older interface: the view replaces the transcript."""

    logs_at_once = False

    def host(self, provider: StrictProvider, archive: Path, thread: str) -> SlotHost:
        """Return its agent."""
        return HOSTS["hermes, compressing"](provider, archive, thread)
