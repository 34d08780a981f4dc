"""Opening the application: every part, in order, and closing them in the other.

A `Tenant` is what one owner can reach. A run that has ended is sent to the webhook that its request
names. A request could name an address that only this machine reaches. So a host that is not in
`gateway.webhook_hosts` must resolve to public addresses alone, and the connection goes to the
address that was checked.
"""

import asyncio
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import urlsplit, urlunsplit

import httpx2

from thalweg.archive import ThreadKey, open_archive
from thalweg.archive import home as archive_home
from thalweg.database.private_files import is_open_to_others, make_private_folder
from thalweg.errors import ConfigError, StorageError, ThalwegError
from thalweg_memory import Scope, open_memory
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.handle import attach_document
from thalweg_server.api.catalogue import Check, Health
from thalweg_server.api.graph_runs import GraphRun, read_request
from thalweg_server.app.configured import (
    TenantAssistants,
    TenantModels,
    TenantSkills,
    check_sandbox,
)
from thalweg_server.app.crons import TenantCrons
from thalweg_server.app.deletion import FORGET, OwnerDeletion, Retention
from thalweg_server.app.files import ThreadFiles
from thalweg_server.app.graph_threads import (
    TenantGraphThreads,
    is_private,
    run_view,
    snapshot_view,
    webhook_host,
)
from thalweg_server.app.memory import TenantMemory, learning
from thalweg_server.app.metrics import Metrics
from thalweg_server.app.page import TenantPage
from thalweg_server.app.parts import AppParts, SharedCall
from thalweg_server.app.registry import open_registry
from thalweg_server.app.runs import TenantGraphRuns, TenantRuns
from thalweg_server.app.spending import TenantUsage
from thalweg_server.app.threads import TenantThreads
from thalweg_server.checkpoints.erasure import Erasure
from thalweg_server.runs.base import CRON, RunKey, RunRecord
from thalweg_server.runs.opening import open_journal
from thalweg_server.runs.running import ProcessRuns, RunOutcome
from thalweg_server.settings.fields import is_owner
from thalweg_server.settings.reloading import SettingsFile
from thalweg_server.settings.sections import Settings
from thalweg_server.uploads.converting import Converter
from thalweg_server.uploads.disk import open_places
from thalweg_server.uploads.intake import UploadPolicy

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from thalweg_server.app.agent_tools import DocumentStore
    from thalweg_server.app.agents import Agents
    from thalweg_server.runs.emitting import Emit

_TIMEOUT_S = 10.0
_PAUSES_S = (1.0, 5.0, 25.0)
"""Before further attempts."""
_webhook_log = logging.getLogger("thalweg.server.webhooks")


async def send_webhook(url: str, body: Mapping[str, Any], hosts: Collection[str]) -> bool:
    """Send a JSON body to an address; return whether it was accepted.

    Args:
        url: The address.
        body: What JSON can represent.
        hosts: Hosts that may be on private networks.
    """
    for pause_s in (*_PAUSES_S, None):
        try:
            address, headers, extensions = await checked_address(url, hosts)
            async with httpx2.AsyncClient(timeout=_TIMEOUT_S, trust_env=False) as http:
                answer = await http.post(
                    address, json=dict(body), headers=headers, extensions=extensions
                )
            if answer.is_success:
                return True
            problem = f"it answered {answer.status_code}"
        except (ConfigError, ValueError) as error:  # ValueError: the body is not JSON
            _webhook_log.warning("a webhook is not sent: %s", error)
            return False
        except (httpx2.HTTPError, OSError) as error:
            problem = type(error).__name__
        if pause_s is not None:
            await asyncio.sleep(pause_s)
    _webhook_log.warning("a webhook was not accepted: %s", problem)
    return False


async def checked_address(
    url: str, hosts: Collection[str]
) -> tuple[str, dict[str, str], dict[str, Any]]:
    """Return where a webhook connects to, with the headers and options that name its host.

    Raises:
        ConfigError: The address is not one of HTTP, or is on a private network.
        OSError: The name is not resolved.
    """
    host = webhook_host(url, hosts)
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(place[4][0]) for place in found]
    if host not in hosts and any(map(is_private, addresses)):
        problem = f"{host} is on a private network"
        raise ConfigError("webhook", problem, "add it to gateway.webhook_hosts")
    address = f"[{addresses[0]}]" if ":" in addresses[0] else addresses[0]
    place = urlunsplit((parts.scheme, f"{address}:{port}", parts.path, parts.query, ""))
    named = host if parts.port is None else f"{host}:{parts.port}"
    return place, {"Host": named}, {"sni_hostname": host}


class Tenant:
    """One owner's threads, runs, memory and files; another's cannot be named."""

    def __init__(self, owner: str, parts: AppParts, policy: UploadPolicy) -> None:
        self.owner = owner
        self.threads = TenantThreads(owner, parts)
        self.runs = TenantRuns(owner, parts)
        self.memory = TenantMemory(owner, parts)
        self.usage = TenantUsage(owner, parts)
        self.page = TenantPage(owner, parts, self.threads)
        self.models = TenantModels(parts.settings)
        self.skills = TenantSkills(parts.settings)
        self.files = ThreadFiles(
            owner, parts.places, policy=policy, converter=parts.converter, locks=parts.upload_locks
        )
        self.assistants = TenantAssistants(owner, parts.registry.documents, parts.settings)
        self.graph_threads = TenantGraphThreads(owner, parts)
        self.graph_runs = TenantGraphRuns(owner, parts)
        self.crons = TenantCrons(owner, parts)
        self.deletion = OwnerDeletion(owner, parts)
        self._documents = parts.registry.documents

    @property
    def store(self) -> "DocumentStore":
        """The owner's items, as LangGraph's store."""
        from thalweg_server.app.agent_tools import DocumentStore  # noqa: PLC0415 (LangGraph: seconds)

        return DocumentStore(self._documents, self.owner)


Role = Literal["all", "api", "worker"]
NOBODY = "thalweg-health"
"""An owner that no caller is, and a thread that there is not."""

_HEALTH_S = 1.0
"""Seconds that a part may take to answer, and that the result is kept."""
_log = logging.getLogger("thalweg.server.app")


class App:
    """All parts of one process; made by `open_app`.

    Example:
        ```python
        async with open_app("config.yaml") as app:
            tenant = app.tenant("ada")
            run = await tenant.runs.start("t1", NewRun(message="Hello"))
        ```
    """

    def __init__(
        self,
        source: Settings | SettingsFile,
        home: str | PathLike[str] | None,
        *,
        any_model: bool = False,
        is_eager: bool = False,
        role: Role = "all",
    ) -> None:
        self._role = role
        self._source = source
        self._any_model = any_model
        self._is_eager = is_eager
        self.home = folder_of(self.settings) if home is None else Path(home)
        """The folder of its own files."""
        self._storage = self.settings.storage
        self._stack = AsyncExitStack()
        self._parts: AppParts | None = None
        self.metrics = Metrics()
        self._health: asyncio.Task[Health] | None = None
        self._looked_at = 0.0
        self._probing: dict[str, asyncio.Task[Check]] = {}

    @property
    def settings(self) -> Settings:
        """The settings as they are now; a file that changed was read again."""
        if isinstance(self._source, Settings):
            return self._source
        self._source.reload_if_changed()
        return self._source.current

    @property
    def is_open(self) -> bool:
        """Whether its parts are open."""
        return self._parts is not None

    @property
    def parts(self) -> AppParts:
        """The open parts."""
        if self._parts is None:
            raise ConfigError("app", "it is not open", "open it with `async with`")
        return self._parts

    def tenant(self, owner: str) -> Tenant:
        """Return the access of one owner.

        Args:
            owner: The authenticated caller.

        Raises:
            ConfigError: The name is invalid.
        """
        if not is_owner(owner):
            fix = "use a name of at most 255 printable characters"
            raise ConfigError("owner", f"no owner can be named {owner[:40]!a}", fix)
        return Tenant(owner, self.parts, _upload_policy(self.settings))

    async def health(self) -> Health:
        """Return whether archive, memory, checkpoints, runs and threads can be read.

        All are read at once; one that has not answered after a second has failed. The result is
        kept for a second.
        """
        if self._health is None or time.monotonic() - self._looked_at > _HEALTH_S:
            self._looked_at = time.monotonic()
            self._health = asyncio.create_task(self._look(), name="thalweg-health")
        return await asyncio.shield(self._health)

    async def _look(self) -> Health:
        parts = self.parts
        key = ThreadKey(NOBODY, NOBODY)
        config: RunnableConfig = {"configurable": {"thread_id": NOBODY}}
        probes: dict[str, Callable[[], Awaitable[object]]] = {
            "archive": lambda: asyncio.to_thread(parts.archive.length, key),
            "memory": lambda: asyncio.to_thread(parts.memories.version, Scope(NOBODY)),
            "threads": lambda: asyncio.to_thread(parts.registry.names, NOBODY),
            "checkpoints": lambda: parts.checkpoints.of(NOBODY).aget_tuple(config),
            "runs": lambda: parts.journal.list(NOBODY, limit=1),
        }
        for name, probe in probes.items():  # a thread that hangs is not joined by another one
            if name not in self._probing:
                self._probing[name] = asyncio.create_task(_check(name, probe))
        await asyncio.wait(self._probing.values(), timeout=_HEALTH_S)
        checks = [
            self._probing.pop(name).result() if self._probing[name].done() else _silent(name)
            for name in probes
        ]
        checks.append(self._settings_check())
        is_well = all(check.status == "ok" for check in checks if check.name != "settings")
        return Health(
            status="ok" if is_well else "failed", version=version("thalweg"), checks=tuple(checks)
        )

    def _settings_check(self) -> Check:
        source = self._source
        if isinstance(source, SettingsFile) and source.problem is not None:
            return Check(name="settings", status="failed", detail=str(source.problem))
        names = () if isinstance(source, Settings) else source.needs_restart
        detail = f"a restart applies {', '.join(names)}" if names else ""
        return Check(name="settings", status="ok", detail=detail)

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close every part; another process resumes active runs."""
        try:
            await self._stack.aclose()
        finally:
            self._parts = None

    async def _open(self) -> None:
        """Open every part: dependencies first, and the runner of runs last."""
        from thalweg_server.checkpoints.owners import (  # noqa: PLC0415 (LangGraph: seconds)
            open_checkpoints,
        )

        stack, home, url = self._stack, self.home, self._storage.address
        settings = self.settings
        # Threads are made when needed: four for synchronous tools of each run, and those of all
        # other calls. The whole loop uses them, also a program that opens an app in it.
        executor = ThreadPoolExecutor(4 * settings.gateway.max_runs + 32, "thalweg")
        asyncio.get_running_loop().set_default_executor(executor)
        await asyncio.to_thread(check_sandbox, settings.sandbox)
        await asyncio.to_thread(make_private_folder, home)
        if is_open_to_others(home):
            _log.warning("other users of this machine can read %s: chmod -R go= it", home)
        thalweg_at, runs_at = (url or str(home / file) for file in ("thalweg.db", "runs.db"))
        archive = await asyncio.to_thread(open_archive, thalweg_at)
        stack.callback(archive.close)
        memories = await asyncio.to_thread(open_memory, thalweg_at)
        stack.callback(memories.close)
        attach_document(memories, _memory_settings(settings, home))
        registry = await asyncio.to_thread(open_registry, thalweg_at)
        stack.callback(registry.close)
        files = self._storage.files
        places = await asyncio.to_thread(lambda: open_places(url=url, home=home, files=files))
        stack.callback(places.close)
        checkpoints = await stack.enter_async_context(open_checkpoints(runs_at))
        journal = await stack.enter_async_context(
            open_journal(runs_at, self._storage.direct_address)
        )
        if self._role != "api":
            await stack.enter_async_context(
                learning(self._current, memories, registry, self.metrics)
            )
        hidden = (home,) if files == "database" else (home, Path(files))
        agents = _LazyAgents(lambda: _agents_class()(archive, memories, places, hidden))
        stack.push_async_callback(agents.close)
        runs = ProcessRuns(
            journal,
            self._perform,
            limit=0 if self._role == "api" else settings.gateway.max_runs,
            time_limit_s=settings.gateway.run_time_limit_s,
            on_end=self._ended,
            perform_chore=self._perform_chore,
        )
        self._parts = AppParts(
            settings=self._current,
            archive=archive,
            prune=SharedCall(archive.prune),
            memories=memories,
            checkpoints=checkpoints,
            registry=registry,
            journal=journal,
            runs=runs,
            erasure=Erasure(home if url is None else None),
            places=places,
            converter=Converter(_upload_policy(settings)),
            agents=agents,
            end_sandbox=agents.end_sandbox,
            metrics=self.metrics,
            any_model=self._any_model,
        )
        self.retention = Retention(self._parts)
        await stack.enter_async_context(runs)
        if self._is_eager and self._role != "api":
            agents.get_ready(settings)

    def _current(self) -> Settings:
        return self.settings

    async def _perform(self, run: RunRecord, emit: "Emit") -> RunOutcome:
        """Perform a run; see `Performer`."""
        agents = await self.parts.agents()
        from thalweg_server.app.performing import (  # noqa: PLC0415 (LangChain: seconds)
            Performer,
        )

        return await Performer(self.parts, agents)(run, emit)

    async def _perform_chore(self, key: RunKey) -> None:
        if key.run.startswith(FORGET):
            await self.tenant(key.owner).deletion.complete(key)
        elif key.run.startswith(CRON):
            await self.tenant(key.owner).crons.fire(key)
        else:
            await self.retention.perform(key)

    async def _ended(self, key: RunKey) -> None:
        """Schedule the deletion of a run, and send its webhook."""
        with suppress(StorageError):  # after the next run of its thread
            await self.retention.schedule(key.owner, key.thread)
        await self._send_webhook(key)

    async def _send_webhook(self, key: RunKey) -> None:
        """Send an ended run to the webhook of its request, if it names one."""
        run = await self.parts.journal.get(key)
        if run is None or '"webhook":"' not in run.request:
            return
        request = read_request(run.request)
        if isinstance(request, GraphRun) and request.webhook is not None:
            snapshot = await self.tenant(key.owner).graph_threads.snapshot(key.thread)
            body = {**run_view(run), "values": snapshot_view(snapshot)["values"]}
            hosts = self.settings.gateway.webhook_hosts
            await send_webhook(request.webhook, body, hosts)


class _LazyAgents:
    """The builder of agents, which is imported when the first one is asked."""

    def __init__(self, make: Callable[[], "Agents"]) -> None:
        self._make = make
        self._made: Agents | None = None
        self._making = asyncio.Lock()
        self._readying: asyncio.Task[None] | None = None

    async def __call__(self) -> "Agents":
        async with self._making:
            if self._made is None:
                self._made = await asyncio.to_thread(self._make)
            return self._made

    def get_ready(self, settings: Settings) -> None:
        """Start to build the default agent, which answers runs that name no model."""
        if settings.default_model is not None:
            self._readying = asyncio.create_task(self._ready(settings))

    async def _ready(self, settings: Settings) -> None:
        try:
            agents = await self()
            await agents.of(settings)
        except Exception:  # noqa: BLE001 (a model may raise anything; who asks for an answer is told)
            _log.debug("no agent could be built before the first run", exc_info=True)

    async def end_sandbox(self, owner: str, thread: str) -> None:
        """End the sandbox of a thread; see `RemoteShell.end_sandbox`."""
        if self._made is not None:
            await asyncio.to_thread(self._made.end_sandbox, owner, thread)

    async def close(self) -> None:
        """End connections to servers of tools."""
        if self._readying is not None:
            self._readying.cancel()
            await asyncio.wait([self._readying])
        if self._made is not None:
            await self._made.close()


def _agents_class() -> "type[Agents]":
    import thalweg_server.app.performing  # noqa: PLC0415, F401 (LangChain: seconds, and not in the loop)
    from thalweg_server.app.agents import Agents  # noqa: PLC0415 (the same)

    return Agents


def folder_of(settings: Settings) -> Path:
    """Return Thalweg's folder: that of the settings, or the usual one."""
    storage = settings.storage
    return Path(storage.home) if "home" in storage.model_fields_set else archive_home()


def _memory_settings(settings: Settings, home: Path) -> MemorySettings:
    """Return memory settings with this application's own folder as the document's default."""
    memory = settings.memory
    if memory.storage == "database" or memory.storage_path:
        return memory
    return memory.model_copy(update={"storage_path": str(home / "memory.json")})


def _upload_policy(settings: Settings) -> UploadPolicy:
    gateway = settings.gateway
    allowed = tuple(suffix.removeprefix(".") for suffix in gateway.allowed_uploads)
    return UploadPolicy(max_file_bytes=gateway.max_upload_bytes, allowed=allowed)


def _silent(name: str) -> Check:
    return Check(name=name, status="failed", detail=f"no answer within {_HEALTH_S:g} s")


async def _check(name: str, probe: Callable[[], Awaitable[object]]) -> Check:
    try:
        await probe()
    except ThalwegError as error:
        return Check(name=name, status="failed", detail=str(error))
    except Exception as error:  # noqa: BLE001 (a driver may raise anything; health tells it)
        return Check(name=name, status="failed", detail=type(error).__name__)
    return Check(name=name, status="ok")


def open_app(
    settings: Settings | str | PathLike[str] | None = None,
    *,
    home: str | PathLike[str] | None = None,
    any_model: bool = False,
    is_eager: bool = False,
    role: Role = "all",
) -> App:
    """Prepare an application; its parts open with `async with`.

    Args:
        settings: Settings, or the path of a `config.yaml`; the usual places by default. A file is
            read again when it changes.
        home: Folder of stored files; that of the settings by default.
        any_model: Whether a run may use a model outside of the settings: for an application whose
            callers could all start any model themselves.
        is_eager: Whether the agent is built as soon as everything is open, in the background. Its
            libraries take seconds to import, which the first run would wait for.
        role: What the process does: an `api` accepts runs and performs none, and neither learns.

    Raises:
        SettingsError: The file is invalid.
    """
    source = settings if isinstance(settings, Settings) else SettingsFile(settings)
    return App(source, home, any_model=any_model, is_eager=is_eager, role=role)
