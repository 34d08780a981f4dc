"""The engine behind the seams of other frameworks: real agents, a real socket, strict rules."""

import sys
from pathlib import Path

import pytest

from tests.e2e.slot_hosts import HOSTS
from thalweg.testing.slots import EngineSlotContract, SlotHost

for _slow in (
    EngineSlotContract.test_a_process_that_is_killed_at_a_model_call_loses_nothing,
    EngineSlotContract.test_two_processes_on_one_thread,
):
    pytest.mark.slow(_slow)


class _Contract(EngineSlotContract):
    """The contract for one of `slot_hosts`."""

    name = ""

    def host(self, url: str, archive: Path, thread: str) -> SlotHost:
        """Return its agent."""
        return HOSTS[self.name](url, archive, thread)

    def command(self, url: str, archive: Path, thread: str, state: Path) -> list[str]:
        """Return the command of its process."""
        arguments = [self.name, url, str(archive), thread, str(state)]
        return [sys.executable, "-m", "tests.e2e.slot_hosts", *arguments]


class TestOpenAIAgents(_Contract):
    """OpenAI's Agents SDK, over Responses."""

    name = "openai-agents"


class TestPydanticAI(_Contract):
    """Pydantic AI, over Chat Completions."""

    name = "pydantic-ai"


class TestHermesSelecting(_Contract):
    """Hermes' interface of today: a view for each request."""

    name = "hermes, selecting"


class TestHermesCompressing(_Contract):
    """Hermes' older interface: the view replaces the transcript."""

    name = "hermes, compressing"
    logs_at_once = False


del _Contract
