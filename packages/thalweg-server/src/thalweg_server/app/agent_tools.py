"""What an agent works with: files of its run's thread, commands in sandboxes, tools, the store.

The thread's files are the truth. Before a command in a sandbox elsewhere, what changed here is
uploaded; after it, what changed over there is downloaded. So uploads, file tools and artifacts work
as with any other shell, and a sandbox that was lost loses nothing but what ran in it.
"""

import asyncio
import inspect
import json
import logging
import posixpath
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.config import get_config
from langgraph.store.base import (
    BaseStore,
    GetOp,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from thalweg.database.private_files import make_private_folder
from thalweg.engine.extras import needs_extra
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
from thalweg_agent.backends.protocol import ExecuteResponse, SandboxBackendProtocol
from thalweg_server.app.configured import MakeSandbox, OpenShell, import_named
from thalweg_server.app.registry import Document, Documents
from thalweg_server.runs.base import now_ms
from thalweg_server.settings.sections import McpServer, ToolSettings
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
        make: Creates the sandbox of a thread, at its first command. It is kept until the thread is
            deleted or this process ends; its service ends an idle one.
        folder: Folder of the files in it.
    """

    def __init__(self, places: Places, make: MakeSandbox, folder: str) -> None:
        super().__init__(places)
        self._make = make
        self.command_root = folder
        self._mirrors: dict[tuple[str, str], Mirror] = {}
        self._keys: dict[str, tuple[str, str]] = {}
        """The thread of each sandbox, by the sandbox's id."""
        self._lock = Lock()

    @property
    def id(self) -> str:
        """Return the unique name of this sandbox; see `SandboxBackendProtocol.id`."""
        return f"{owner_of_run(get_config())}/{thread_of_run(get_config())}"

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """See `SandboxBackendProtocol.execute`; commands of one thread run one after another."""
        return self._mirror().execute(command, timeout)

    def end_sandbox(self, owner: str, thread: str) -> None:
        """End the sandbox of a thread if it has `close`, else delete the thread's files there."""
        with self._lock:
            mirror = self._mirrors.pop((owner, thread), None)
            self._keys = {id_: key for id_, key in self._keys.items() if key != (owner, thread)}
        try:
            if mirror is not None:
                mirror.close()
        except Exception as error:  # noqa: BLE001 (a service may raise anything)
            problem = "the sandbox of thread %s was not ended: %s"
            _log.warning(problem, thread, error)

    def _mirror(self) -> "Mirror":
        config = get_config()
        key = owner_of_run(config), thread_of_run(config)
        with self._lock:
            if key not in self._mirrors:
                open_ = partial(self._open, key)
                self._mirrors[key] = Mirror(self._here(), open_, self.command_root)
            return self._mirrors[key]

    def _open(self, key: tuple[str, str]) -> SandboxBackendProtocol:
        remote = self._make(*key)  # without the lock: other threads run commands then
        with self._lock:
            if self._keys.setdefault(remote.id, key) != key:
                problem, fix = "it returned one sandbox for two threads", "return one for each"
                raise ConfigError("sandbox.factory", problem, fix)
        return remote


class Mirror:
    """The files of one thread, here and in a sandbox.

    Args:
        files: The files here.
        make: Makes the sandbox.
        folder: Path of the files in the sandbox.
    """

    def __init__(
        self, files: ThreadBackend, make: Callable[[], SandboxBackendProtocol], folder: str
    ) -> None:
        self._make = make
        self._files = files
        self._folder = folder.rstrip("/")
        self._here: dict[str, str] = {}
        """Versions of the files here when both were last in step."""
        self._there: dict[str, tuple[object, object]] = {}
        """Sizes and times of the files over there at the same moment."""
        self._lock = Lock()

    @cached_property
    def _remote(self) -> SandboxBackendProtocol:
        return self._make()

    def execute(self, command: str, timeout: int | None) -> ExecuteResponse:
        """Run a command on the current files, and store its changes.

        Raises:
            ConfigError: The sandbox does not support transfer of files.
        """
        with self._lock:
            self._push()
            where = f"cd {shlex.quote(self._folder)} && " if self._folder else ""
            response = perform(self._remote, Execute(where + command, timeout))
            self._pull()
            return response

    def close(self) -> None:
        """See `RemoteShell.end_sandbox`."""
        with self._lock:
            if "_remote" not in vars(self):
                return
            if (close := getattr(self._remote, "close", None)) is not None:
                close()
            else:
                for path in self._here:
                    self._remote.delete(self._folder + path)

    def _push(self) -> None:
        now = {kept.path: kept for kept in self._files.files(MOST_FILES)}
        changed = [path for path, kept in now.items() if self._here.get(path) != kept.version]
        sent = [
            (self._folder + path, self._files.read_range(path, 0, now[path].size) or b"")
            for path in changed
        ]
        if self._folder and not self._here:
            self._remote.execute(f"mkdir -p {shlex.quote(self._folder)}")
        for answer in self._remote.upload_files(sent) if sent else ():
            _refuse(answer.path, answer.error)
        for path in self._here.keys() - now.keys():
            self._remote.delete(self._folder + path)
        self._here = {path: kept.version for path, kept in now.items()}
        self._there = self._listed()

    def _pull(self) -> None:
        now = self._listed()
        changed = [path for path, seen in now.items() if self._there.get(path) != seen]
        for answer in self._remote.download_files([self._folder + path for path in changed]):
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
        found = self._remote.glob("**/*", root)
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


PATIENCE_S = 30.0
"""Seconds to wait for the list of tools of an MCP server."""
PING_S = 15.0
"""How often it is seen whether a server still answers."""
AGAIN_S = 60.0
"""Seconds until a server that could not be reached, or disconnected, is tried again."""
_CLOSE_S = 5.0
"""Seconds that the end of a connection may take; a process has two of them to end itself."""
_log = logging.getLogger("thalweg.server.app")


def imported(settings: ToolSettings) -> BaseTool:
    """Make a tool of what `use:` names: a tool, a class of one, a function, or a maker of either.

    Raises:
        ConfigError: It cannot be imported, or is no tool.
    """
    where = f"tools.{settings.name}"
    settings = settings.ready()
    found = import_named(settings.use, where)
    arguments = settings.arguments()
    if isinstance(found, type) or (arguments and callable(found)):
        try:
            found = found(**arguments)
        except (TypeError, ValueError) as error:
            problem = f"{settings.use} cannot be made: {error}"
            raise ConfigError(where, problem, "check the options next to it") from error
    return _as_tool(found, settings)


def _as_tool(found: object, settings: ToolSettings) -> BaseTool:
    if isinstance(found, BaseTool):
        is_named = found.name == settings.name
        return found if is_named else found.model_copy(update={"name": settings.name})
    if inspect.iscoroutinefunction(found):
        return StructuredTool.from_function(coroutine=found, name=settings.name)
    if callable(found):
        return StructuredTool.from_function(found, name=settings.name)
    where, problem = f"tools.{settings.name}", f"{settings.use} is neither a tool nor a function"
    raise ConfigError(where, problem, "name a LangChain tool or a function")


class McpTools:
    """The tools of MCP servers, each of which has a connection and a task of its own.

    If a server cannot be reached, or disconnects, its tools are missing and the run continues; the
    connection is retried.
    """

    def __init__(self) -> None:
        self._connections: dict[str, _ToolConnection] = {}

    async def of(self, servers: Mapping[str, McpServer]) -> list[BaseTool]:
        """Return the tools of the servers that are connected.

        Only the first attempt to connect to a server is waited for, at most `PATIENCE_S` and the
        end of an attempt that takes longer.

        Raises:
            ConfigError: The extra `mcp` is not installed.
        """
        enabled = {name: server for name, server in servers.items() if server.enabled}
        for name, one in list(self._connections.items()):
            if enabled.get(name) != one.server:
                await self._connections.pop(name).close()
        for name in enabled.keys() - self._connections.keys():
            self._connections[name] = _ToolConnection(name, enabled[name])
        connections = [self._connections[name] for name in enabled]
        for one in connections:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S + _CLOSE_S):
                    await one.is_tried.wait()
            one.is_tried.set()
        return [tool for one in connections for tool in one.tools]

    async def close(self) -> None:
        """End all connections."""
        await asyncio.gather(*(one.close() for one in self._connections.values()))
        self._connections.clear()


class _ToolConnection:
    """The connection to one server; the task that opens it closes it, as its library wants."""

    def __init__(self, name: str, server: McpServer) -> None:
        with needs_extra("mcp_servers"):
            from langchain_mcp_adapters.client import (  # noqa: PLC0415 (an extra)
                MultiServerMCPClient,
            )
        self.server = server
        self.tools: Sequence[BaseTool] = ()
        self.is_tried = asyncio.Event()
        """Set after the first attempt to connect."""
        self._name = name
        self._client = MultiServerMCPClient({name: _address(server.ready())})  # type: ignore[dict-item]  # one of four shapes
        self._task = asyncio.create_task(self._connect(), name=f"thalweg-mcp-{name}")

    async def _connect(self) -> None:
        """Connect, and connect again `AGAIN_S` after each failure."""
        while True:
            try:
                await self._hold()
            except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 (of a foreign server)
                if (task := asyncio.current_task()) and task.cancelling():
                    return
                problem = "MCP server %s: its tools are missing (%s)"
                _log.warning(problem, self._name, _error_text(error))
            finally:
                self.tools = ()
                self.is_tried.set()
            await asyncio.sleep(AGAIN_S)

    async def _hold(self) -> None:
        from langchain_mcp_adapters.tools import load_mcp_tools  # noqa: PLC0415 (an extra)

        async with (
            asyncio.timeout(PATIENCE_S) as patience,
            self._client.session(self._name) as session,
        ):
            self.tools = await load_mcp_tools(session, server_name=self._name)
            patience.reschedule(None)
            self.is_tried.set()
            while True:
                await asyncio.sleep(PING_S)
                async with asyncio.timeout(PATIENCE_S):
                    await session.send_ping()

    async def close(self) -> None:
        """End it."""
        for _ in range(3):  # its library may lose a cancellation
            self._task.cancel()
            await asyncio.wait([self._task], timeout=_CLOSE_S)


def _address(server: McpServer) -> dict[str, Any]:
    if server.command:
        environment = {name: value.get_secret_value() for name, value in server.env.items()}
        command: dict[str, Any] = {"command": server.command, "args": list(server.args)}
        return {"transport": "stdio", **command, **({"env": environment} if environment else {})}
    headers = {name: value.get_secret_value() for name, value in server.headers.items()}
    transport = server.transport or "streamable_http"
    return {"transport": transport, "url": server.url, **({"headers": headers} if headers else {})}


def _error_text(error: BaseException) -> str:
    """Return the text of an error; of a group, that of its first error."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:300] if str(error) else type(error).__name__


_STORE = "store"
_OPERATORS = {
    "$eq": lambda a, b: a == b,
    "$ne": lambda a, b: a != b,
    "$gt": lambda a, b: a > b,
    "$gte": lambda a, b: a >= b,
    "$lt": lambda a, b: a < b,
    "$lte": lambda a, b: a <= b,
}


class DocumentStore(BaseStore):
    """The store of one owner.

    Args:
        documents: The documents of all owners.
        owner: The owner.
    """

    def __init__(self, documents: Documents, owner: str) -> None:
        self._documents = documents
        self._owner = owner

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Perform operations in order; see `BaseStore.batch`."""
        return [self._perform(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Perform operations in order, in a thread; see `BaseStore.abatch`."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _perform(self, op: Op) -> Result:
        match op:
            case GetOp():
                found = self._documents.get(
                    self._owner, _STORE, _document_name(op.namespace, op.key)
                )
                return None if found is None else _item(found)
            case PutOp():
                name = _document_name(op.namespace, op.key)
                if op.value is None:
                    self._documents.delete(self._owner, _STORE, name)
                else:
                    self._documents.put(self._owner, _STORE, name, op.value, now_ms())
                return None
            case SearchOp():
                found_ = [
                    one
                    for one in self._items()
                    if one.namespace[: len(op.namespace_prefix)] == tuple(op.namespace_prefix)
                    and _matches(one.value, op.filter or {})
                ]
                found_.sort(key=lambda one: one.updated_at, reverse=True)
                return found_[op.offset : op.offset + op.limit]
            case ListNamespacesOp():
                return self._namespaces(op)

    def _namespaces(self, op: ListNamespacesOp) -> Result:
        names = InMemoryStore()
        names.batch([PutOp(one.namespace, one.key, {}) for one in self._items()])
        return names.batch([op])[0]

    def _items(self) -> list[SearchItem]:
        return [*map(_item, self._documents.list(self._owner, _STORE))]


def _document_name(namespace: Sequence[str], key: str) -> str:
    return json.dumps([list(namespace), key])


def _item(found: Document) -> SearchItem:
    namespace, key = json.loads(found.name)
    return SearchItem(
        value=dict(found.body),
        key=key,
        namespace=tuple(namespace),
        created_at=datetime.fromtimestamp(found.created / 1000, UTC),
        updated_at=datetime.fromtimestamp(found.updated / 1000, UTC),
    )


def _matches(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether an item has the fields of a filter, which may name operators."""
    for key, condition in wanted.items():
        there = value.get(key)
        tests = condition if isinstance(condition, dict) else {"$eq": condition}
        if not tests.keys() <= _OPERATORS.keys():
            tests = {"$eq": condition}
        try:
            if not all(_OPERATORS[name](there, other) for name, other in tests.items()):
                return False
        except TypeError:  # values that have no order
            return False
    return True
