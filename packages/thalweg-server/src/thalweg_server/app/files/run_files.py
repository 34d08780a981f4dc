"""The files of the current run's thread: one backend for an agent that all owners share."""

from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config

from thalweg.database.private_files import make_private_folder
from thalweg.errors import ConfigError
from thalweg_agent.backends.calls.operations import (
    Answer,
    BackendOperation,
    Execute,
    OperationBackend,
    OperationSandbox,
    aperform,
    perform,
)
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_server.app.files.sandboxes import OpenShell
from thalweg_server.uploads.base import Places, ThreadBackend
from thalweg_server.uploads.disk import DiskFiles

OWNER, AGENT, PLACE = "owner", "agent", "place"
"""Where in the `configurable` of a run its owner is, whose memory it uses, and its user's place."""


def owner_of_run(config: RunnableConfig) -> str:
    """Return the owner of a run, as set by the process that performs it."""
    owner: str = config.get("configurable", {})[OWNER]
    return owner


def agent_of_run(config: RunnableConfig) -> str:
    """Return the agent whose memory a run uses; empty for the one that all agents share."""
    return str(config.get("configurable", {}).get(AGENT) or "")


def place_of_run(config: RunnableConfig) -> str:
    """Return the place of a run's user; empty if unknown."""
    return str(config.get("configurable", {}).get(PLACE) or "")


def thread_of_run(config: RunnableConfig) -> str:
    """Return the thread of a run."""
    return str(config.get("configurable", {})["thread_id"])


class RunFiles(OperationBackend):
    """Passes every call on to the files of the calling run's thread.

    Args:
        places: The storage of the files of all threads.
    """

    def __init__(self, places: Places) -> None:
        self._places = places

    def _here(self) -> ThreadBackend:
        config = get_config()
        return self._places.backend(owner_of_run(config), thread_of_run(config))

    def _perform(self, operation: BackendOperation[Answer]) -> Answer:
        return perform(self._here(), operation)

    async def _aperform(self, operation: BackendOperation[Answer]) -> Answer:
        return await aperform(self._here(), operation)


class RunShell(RunFiles, OperationSandbox):
    """The same, with a shell: commands begin in the folder of the files.

    Args:
        places: The store of all threads' files: folders of this machine.
        opened: Makes the shell over the folder of one thread; it decides about confinement.
        command_root: What `/` of the file tools is for a command; empty if unknown.
    """

    def __init__(self, places: Places, opened: OpenShell, command_root: str = "") -> None:
        super().__init__(places)
        self._opened = opened
        self.command_root = command_root

    @property
    def id(self) -> str:
        """Return the unique name of this sandbox; see `SandboxBackendProtocol.id`."""
        return f"thread-{self._folder().name}"

    def _perform(self, operation: BackendOperation[Answer]) -> Answer:
        if operation.method == Execute.method:
            return perform(self._shell(), operation)
        return super()._perform(operation)

    async def _aperform(self, operation: BackendOperation[Answer]) -> Answer:
        if operation.method == Execute.method:
            return await aperform(self._shell(), operation)
        return await super()._aperform(operation)

    def _shell(self) -> LocalShellBackend:
        folder = self._folder()
        make_private_folder(folder)
        return self._opened(folder)

    def _folder(self) -> Path:
        files = self._here()
        if not isinstance(files, DiskFiles):
            problem = "commands need files on a disk, and those of threads are in a database"
            raise ConfigError("sandbox.use", problem, "set storage.files to a folder")
        return files.folder
