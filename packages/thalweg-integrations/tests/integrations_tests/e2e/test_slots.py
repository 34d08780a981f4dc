"""The engine in the seams of other frameworks: real agents, a real socket, strict rules."""

import subprocess
import sys
from pathlib import Path

import pytest

from core_tests.forking import Forked, start
from integrations_tests.contract.suites.slots import EngineSlotContract, SlotHost
from integrations_tests.e2e.slot_hosts import HOSTS

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

    def start(self, url: str, archive: Path, thread: str, state: Path) -> Forked:
        """Fork its process."""
        pipe = subprocess.PIPE
        _, _, module, *arguments = self.command(url, archive, thread, state)
        return start(module, *arguments, stdin=pipe, stdout=pipe)

    def command(self, url: str, archive: Path, thread: str, state: Path) -> list[str]:
        """Return the command of its process."""
        arguments = [self.name, url, str(archive), thread, str(state)]
        return [sys.executable, "-m", "integrations_tests.e2e.slot_hosts", *arguments]


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


class _Echoing(EngineSlotContract):
    """Its processes print their arguments and one line of input."""

    def command(self, url: str, archive: Path, thread: str, state: Path) -> list[str]:
        """Return the command of its process."""
        program = "import sys; print(*sys.argv[1:], input())"
        return [sys.executable, "-c", program, url, str(archive), thread, str(state)]


def test_the_command_of_a_host_is_started(tmp_path: Path) -> None:
    """The process reads its questions, and gets the paths of everything."""
    process = _Echoing().start("u", tmp_path / "a", "t", tmp_path / "s")  # type: ignore[abstract]
    told, _ = process.communicate("ask\n")
    assert told == f"u {tmp_path / 'a'} t {tmp_path / 's'} ask\n"
    assert process.returncode == 0


del _Contract
