"""The files of the current run's thread, and commands in a sandbox elsewhere over them.

The thread's files are the truth. Before a command in a sandbox elsewhere, what changed here is
uploaded; after it, what changed over there is downloaded. So uploads, file tools and artifacts work
as with any other shell, and a sandbox that was lost loses nothing but what ran in it.
"""

import posixpath
import shlex
from pathlib import Path
from threading import Lock
from typing import Final

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
from thalweg_agent.backends.protocol import ExecuteResponse, SandboxBackendProtocol, timeout_of
from thalweg_server.app.files.sandboxes import MakeSandbox, OpenShell
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


MOST_FILES: Final = 10_000
"""Files of a thread that are kept in step."""


class RemoteShell(RunFiles, SandboxBackendProtocol):
    """The files of the current run's thread, and commands in a sandbox of its own.

    Args:
        places: The store of all threads' files.
        make: Creates the sandbox of a thread, at its first command. It is kept until this process
            ends; its service ends an idle one.
        folder: Folder of the files in it.
    """

    def __init__(self, places: Places, make: MakeSandbox, folder: str) -> None:
        super().__init__(places)
        self._make = make
        self.command_root = folder
        self._mirrors: dict[tuple[str, str], Mirror] = {}
        self._lock = Lock()

    @property
    def id(self) -> str:
        """Return the unique name of this sandbox; see `SandboxBackendProtocol.id`."""
        return self._mirror().remote.id

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """See `SandboxBackendProtocol.execute`; commands of one thread run one after another."""
        return self._mirror().execute(command, timeout)

    def _mirror(self) -> "Mirror":
        config = get_config()
        key = owner_of_run(config), thread_of_run(config)
        with self._lock:
            if key not in self._mirrors:
                remote = self._make(*key)
                self._mirrors[key] = Mirror(self._here(), remote, self.command_root)
            return self._mirrors[key]


class Mirror:
    """The files of one thread, here and in a sandbox.

    Args:
        files: The files here.
        remote: The sandbox.
        folder: Path of the files in the sandbox.
    """

    def __init__(self, files: ThreadBackend, remote: SandboxBackendProtocol, folder: str) -> None:
        self.remote = remote
        self._files = files
        self._folder = folder.rstrip("/")
        self._here: dict[str, str] = {}
        """Versions of the files here when both were last in step."""
        self._there: dict[str, tuple[object, object]] = {}
        """Sizes and times of the files over there at the same moment."""
        self._lock = Lock()

    def execute(self, command: str, timeout: int | None) -> ExecuteResponse:
        """Run a command on the current files, and store its changes.

        Raises:
            ConfigError: The sandbox does not support transfer of files.
        """
        with self._lock:
            self._push()
            where = f"cd {shlex.quote(self._folder)} && " if self._folder else ""
            response = self.remote.execute(where + command, **timeout_of(self.remote, timeout))
            self._pull()
            return response

    def _push(self) -> None:
        now = {kept.path: kept for kept in self._files.files(MOST_FILES)}
        changed = [path for path, kept in now.items() if self._here.get(path) != kept.version]
        sent = [
            (self._folder + path, self._files.read_range(path, 0, now[path].size) or b"")
            for path in changed
        ]
        if self._folder and not self._here:
            self.remote.execute(f"mkdir -p {shlex.quote(self._folder)}")
        for answer in self.remote.upload_files(sent) if sent else ():
            _refuse(answer.path, answer.error)
        for path in self._here.keys() - now.keys():
            self.remote.delete(self._folder + path)
        self._here = {path: kept.version for path, kept in now.items()}
        self._there = self._listed()

    def _pull(self) -> None:
        now = self._listed()
        changed = [path for path, seen in now.items() if self._there.get(path) != seen]
        for answer in self.remote.download_files([self._folder + path for path in changed]):
            _refuse(answer.path, answer.error)
            path = answer.path[len(self._folder) :]
            (kept,) = self._files.upload_files([(path, answer.content or b"")])
            _refuse(kept.path, kept.error)
        for path in self._there.keys() - now.keys():
            self._files.delete(path)
        self._here = {kept.path: kept.version for kept in self._files.files(MOST_FILES)}
        self._there = now

    def _listed(self) -> dict[str, tuple[object, object]]:
        root = self._folder or "/"
        found = self.remote.glob("**/*", root)
        _refuse(root, found.error)
        if getattr(found, "truncated", False):  # what is not listed would be taken for deleted
            _refuse(root, "it has too many files to list")
        return {
            # Some backends name paths from the folder that was searched.
            posixpath.normpath(posixpath.join(root, info["path"]))[len(self._folder) :]: (
                info.get("size"),
                info.get("modified_at"),
            )
            for info in found.matches or ()
            if not info.get("is_dir")
        }


def _refuse(path: str, error: str | None) -> None:
    if error is not None:
        fix = "check the sandbox, or run the command again"
        raise ConfigError(path, f"the sandbox could not transfer it ({error})", fix)
