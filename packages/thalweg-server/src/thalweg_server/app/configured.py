"""What settings name and runs use: models, skills, graphs and their assistants, sandboxes.

All of it is the same for all owners, except the assistants that a client stored.
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, assert_never
from uuid import UUID, uuid4, uuid5

from thalweg.errors import ConfigError, NoSuchAssistantError, NoSuchModelError, NoSuchSkillError
from thalweg_agent.backends.bubblewrap import BubblewrapBackend, check_bubblewrap
from thalweg_agent.backends.container import ContainerBackend, check_runtime
from thalweg_agent.backends.local.process_limits import ProcessLimits
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_agent.backends.protocol import SandboxBackendProtocol
from thalweg_agent.skills.format import parse_skill
from thalweg_server.api.catalogue import Model, Models, Skill, Skills
from thalweg_server.api.graph_runs import BUILT_IN
from thalweg_server.app.registry import Document, Documents, moment
from thalweg_server.runs.base import now_ms
from thalweg_server.settings.fields import thawed
from thalweg_server.settings.sections import ModelSettings, SandboxSettings, Settings


def import_named(use: str, where: str) -> object:
    """Import an attribute of a module.

    Args:
        use: `module:attribute`, as the settings checked it.
        where: The setting, for the error.

    Raises:
        ConfigError: There is no such module or attribute.
    """
    place, _, attribute = use.partition(":")
    try:
        found: object = import_module(place)
    except ImportError as error:
        fix = "check its name, or install its package"
        problem = f"{place} cannot be imported ({error})"
        raise ConfigError(where, problem, fix) from error
    for name in attribute.split("."):
        found = getattr(found, name, None)
    if found is None:
        raise ConfigError(where, f"{place} has no {attribute}", "check its name")
    return found


def named_model(settings: Settings, name: str | None = None, *, any_model: bool = False) -> str:
    """Return the name of a model that a run may use.

    Args:
        settings: The current settings.
        name: The requested model; the settings' default if `None`.
        any_model: Whether a model outside of the settings is allowed. An HTTP caller may not be the
            one who pays, nor be allowed to make this process connect to any address.

    Raises:
        NoSuchModelError: The settings have no such model.
        ConfigError: They have no model at all.
    """
    default = settings.default_model
    if name is None:
        if default is None:
            fix = "add one to models:, or set agent.model"
            raise ConfigError("models", "no model is configured", fix)
        return default
    if name != default and settings.model_named(name) is None and not any_model:
        raise NoSuchModelError(name, tuple(model.name for model in settings.models))
    return name


class TenantModels:
    """The models of the settings; they are the same for all owners."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings

    async def list(self) -> Models:
        """List all models, the default first."""
        settings = self._settings()
        named = [_model_view(model, settings) for model in settings.models]
        default = settings.default_model
        if default is not None and settings.model_named(default) is None:
            provider, _, model = default.rpartition(":")
            named.insert(0, Model(name=default, provider=provider, model=model, is_default=True))
        return Models(items=tuple(sorted(named, key=lambda model: not model.is_default)))

    async def get(self, name: str) -> Model:
        """Return one model.

        Raises:
            NoSuchModelError: There is none.
        """
        found = (await self.list()).items
        for model in found:
            if model.name == name:
                return model
        raise NoSuchModelError(name, tuple(model.name for model in found))


def _model_view(model: ModelSettings, settings: Settings) -> Model:
    return Model(
        name=model.name,
        display_name=model.display_name or model.name,
        description=model.description,
        provider=model.provider or (model.use or "").partition(":")[0],
        model=model.model,
        window=model.window,
        max_output=model.max_output,
        supports_thinking=model.supports_thinking,
        supports_vision=model.supports_vision,
        is_default=model.name == settings.default_model,
    )


_SKILL_FILE = "SKILL.md"


class TenantSkills:
    """The skills of the settings; they are the same for all owners."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings

    async def list(self) -> Skills:
        """List all skills by name."""
        found = await asyncio.to_thread(skills_below, self._settings())
        return Skills(items=tuple(skill.model_copy(update={"text": None}) for skill in found))

    async def get(self, name: str) -> Skill:
        """Return one skill with its whole text.

        Raises:
            NoSuchSkillError: There is none.
        """
        found = await asyncio.to_thread(skills_below, self._settings())
        for skill in found:
            if skill.name == name:
                return skill
        raise NoSuchSkillError(name)


def skills_below(settings: Settings) -> list[Skill]:
    """Read the skills of the folders that settings name; of two with one name the later counts."""
    if not settings.skills.enabled:
        return []
    found: dict[str, Skill] = {}
    for folder in settings.skills.paths:
        for path in sorted(Path(folder).glob(f"*/{_SKILL_FILE}")):
            skill = _read_skill(path)
            if skill is not None:
                found[skill.name] = skill
    return [found[name] for name in sorted(found)]


def _read_skill(path: Path) -> Skill | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    parsed = parse_skill(text, str(path), path.parent.name).skill
    if parsed is None:
        return None
    return Skill(
        name=parsed["name"],
        description=parsed["description"],
        path=str(path),
        license=parsed.get("license") or "",
        text=text,
    )


@dataclass(frozen=True, slots=True)
class GraphDefinition:
    """Where a graph is, and what it is for."""

    graph: str
    """`module:attribute`, or the path of a file and an attribute: `./agent.py:graph`."""
    description: str = ""
    folder: str = "."
    """The folder that paths are relative to."""
    packages: tuple[str, ...] = ()
    """Folders whose modules the graph imports."""


def graph_definitions(settings: Settings) -> dict[str, GraphDefinition]:
    """Return the graphs of `agents:` and of the file that `langgraph:` names, by their ids.

    Raises:
        ConfigError: The file cannot be read, or an id is in both.
    """
    found = {
        agent.name: GraphDefinition(agent.graph, agent.description) for agent in settings.agents
    }
    if settings.langgraph is not None:
        for name, definition in _read_langgraph_json(Path(settings.langgraph)).items():
            if name in found:
                fix = "rename one of them"
                raise ConfigError("agents", f"{name!r} is in {settings.langgraph}, too", fix)
            found[name] = definition
    return found


def _read_langgraph_json(path: Path) -> dict[str, GraphDefinition]:
    where = f"langgraph ({path})"
    try:
        given = json.loads(path.read_text("utf-8"))
        graphs = given["graphs"]
        packages = [one for one in given.get("dependencies", ["."]) if str(one).startswith(".")]
        found: dict[str, GraphDefinition] = {}
        for name, graph in graphs.items():
            place, about = (
                (graph, "")
                if isinstance(graph, str)
                else (graph["path"], graph.get("description", ""))
            )
            folders = tuple(str((path.parent / one).resolve()) for one in packages)
            found[name] = GraphDefinition(str(place), str(about), str(path.parent), folders)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"it cannot be read ({type(error).__name__}: {error})"
        fix = 'write {"graphs": {"agent": "./agent.py:graph"}}'
        raise ConfigError(where, problem, fix) from error
    return found


_ASSISTANT = "assistant"
_NEVER = moment(0)


@dataclass(frozen=True, slots=True)
class Assistant:
    """A graph with a config."""

    id: str
    graph: str
    name: str
    description: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    context: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    created: datetime = _NEVER
    updated: datetime = _NEVER


class TenantAssistants:
    """The assistants of one owner.

    Raises (all that name an assistant):
        NoSuchAssistantError: There is none.
    """

    def __init__(self, owner: str, documents: Documents, settings: Callable[[], Settings]) -> None:
        self._owner = owner
        self._documents = documents
        self._settings = settings

    async def graphs(self) -> dict[str, str]:
        """Return the ids of the graphs with their descriptions, that of the gateway first."""
        own = await asyncio.to_thread(graph_definitions, self._settings())
        return {BUILT_IN: ""} | {name: one.description for name, one in own.items()}

    async def list(self) -> Sequence[Assistant]:
        """Return all assistants: one for each graph, then those that the owner stored."""
        graphs = await self.graphs()
        stored = await asyncio.to_thread(self._documents.list, self._owner, _ASSISTANT)
        own = sorted(map(_read_assistant, stored), key=lambda one: one.created)
        return [_assistant_of_graph(*graph) for graph in graphs.items()] + own

    async def get(self, id_: str) -> Assistant:
        """Return an assistant by its id, or that of a graph by the graph's id."""
        for graph in (await self.graphs()).items():
            if id_ in {graph[0], graph_assistant(graph[0])}:
                return _assistant_of_graph(*graph)
        found = await asyncio.to_thread(self._documents.get, self._owner, _ASSISTANT, id_)
        if found is None:
            raise NoSuchAssistantError(id_)
        return _read_assistant(found)

    async def create(self, new: Assistant) -> Assistant:
        """Store an assistant; one without an id gets one."""
        if new.graph not in await self.graphs():
            raise NoSuchAssistantError(new.graph)
        new = replace(new, id=new.id or str(uuid4()))
        return await self._put(new, [new])

    async def update(self, id_: str, fields: Mapping[str, Any]) -> Assistant:
        """Store a new version of an assistant; `metadata` is merged."""
        before = await self._own(id_)
        metadata = {**before.metadata, **(fields.get("metadata") or {})}
        versions = await self.versions(id_)
        version = max(one.version for one in versions) + 1
        new = replace(before, **{**fields, "metadata": metadata, "version": version})
        return await self._put(new, [new, *versions])

    async def versions(self, id_: str) -> Sequence[Assistant]:
        """Return the versions of an assistant, the newest first."""
        found = await asyncio.to_thread(self._documents.get, self._owner, _ASSISTANT, id_)
        if found is None:
            return [await self.get(id_)]
        return [_parse_assistant(body, found) for body in found.body["versions"]]

    async def select(self, id_: str, version: int) -> Assistant:
        """Make an earlier version the one that runs use."""
        versions = await self.versions(id_)
        await self._own(id_)
        for one in versions:
            if one.version == version:
                return await self._put(one, versions)
        raise NoSuchAssistantError(id_)

    async def delete(self, id_: str) -> None:
        """Delete an assistant; its threads remain."""
        await self._own(id_)
        await asyncio.to_thread(self._documents.delete, self._owner, _ASSISTANT, id_)

    async def _own(self, id_: str) -> Assistant:
        found = await asyncio.to_thread(self._documents.get, self._owner, _ASSISTANT, id_)
        if found is None:  # that of a graph belongs to the settings
            raise NoSuchAssistantError(id_)
        return _read_assistant(found)

    async def _put(self, new: Assistant, versions: Sequence[Assistant]) -> Assistant:
        body = {**_assistant_body(new), "versions": [_assistant_body(one) for one in versions]}
        put = partial(self._documents.put, self._owner, _ASSISTANT, new.id, body, now_ms())
        return _read_assistant(await asyncio.to_thread(put))


def graph_assistant(graph: str) -> str:
    """Return the id of the assistant that a graph has without being stored.

    Example:
        >>> graph_assistant("agent")
        'fe096781-5601-53d2-b2f6-0d3403f7e9ca'
    """
    return str(uuid5(_NAMESPACE, graph))


_NAMESPACE = UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")  # LangGraph's: the id is the same there
_ASSISTANT_FIELDS = (
    "id",
    "graph",
    "name",
    "description",
    "config",
    "context",
    "metadata",
    "version",
)


def _assistant_of_graph(graph: str, description: str) -> Assistant:
    return Assistant(
        graph_assistant(graph), graph, graph, description or None, metadata={"created_by": "system"}
    )


def _assistant_body(one: Assistant) -> dict[str, Any]:
    return {name: getattr(one, name) for name in _ASSISTANT_FIELDS}


def _read_assistant(found: Document) -> Assistant:
    return _parse_assistant(found.body, found)


def _parse_assistant(body: Mapping[str, Any], found: Document) -> Assistant:
    fields = {name: body[name] for name in _ASSISTANT_FIELDS}
    return Assistant(**fields, created=moment(found.created), updated=moment(found.updated))


OpenShell = Callable[[Path], LocalShellBackend]
"""Makes the shell of one thread, whose files are in the folder."""
MakeSandbox = Callable[[str, str], SandboxBackendProtocol]
"""Makes the sandbox of a thread: of its owner and its id."""
_OF_HOST = ("PATH", "HOME", "LANG")


def shell_over(settings: SandboxSettings, hidden: Iterable[Path]) -> OpenShell:
    """Return the factory of the shells of threads.

    Args:
        settings: The place where commands run, and their limits.
        hidden: Folders of this application that no command sees but for its thread's own files.

    Raises:
        ConfigError: The configured sandbox is not installed. Raised when a shell is created.
    """
    limits = ProcessLimits(memory_mb=settings.memory_mb, processes=settings.processes)
    env, timeout = settings.variables, settings.timeout_seconds
    kept_back = tuple(hidden)

    def opened(folder: Path) -> LocalShellBackend:
        match settings.use:
            case "bubblewrap":
                return BubblewrapBackend(
                    folder,
                    limits=limits,
                    network=settings.network,
                    read_only=settings.read_only,
                    hidden=kept_back,
                    env=env,
                    is_private=True,
                    timeout=timeout,
                )
            case "docker" | "podman":
                return ContainerBackend(
                    folder,
                    runtime=settings.use,
                    image=settings.image,
                    limits=limits,
                    network=settings.network,
                    env=env,
                    is_private=True,
                    timeout=timeout,
                )
            case "host" | "none" | "custom":
                known = {name: os.environ[name] for name in _OF_HOST if name in os.environ}
                return LocalShellBackend(folder, env={**known, **env}, timeout=timeout)
            case _:
                assert_never(settings.use)

    return opened


def made_by_factory(settings: SandboxSettings) -> MakeSandbox:
    """Import what makes the sandbox of each thread.

    Raises:
        ConfigError: It cannot be imported, or is nothing to call.
    """
    factory = import_named(str(settings.factory), "sandbox.factory")
    options = thawed(settings.options)
    if not callable(factory) or not isinstance(options, dict):
        problem, fix = "it is nothing to call", "name a function of owner and thread"
        raise ConfigError("sandbox.factory", problem, fix)
    make: Any = factory
    return lambda owner, thread: make(owner, thread, **options)


def check_sandbox(settings: SandboxSettings) -> None:
    """Validate that the configured sandbox can run commands; takes milliseconds to seconds.

    Raises:
        ConfigError: It cannot.
    """
    if settings.use == "bubblewrap":
        check_bubblewrap()
    elif settings.use in {"docker", "podman"}:
        check_runtime(settings.use)
    elif settings.use == "custom":
        made_by_factory(settings)
