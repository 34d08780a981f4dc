"""The graphs of runs: the gateway's agent, built from settings, and the operator's own."""

import asyncio
import importlib.util
import inspect
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, cast
from weakref import WeakValueDictionary

from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.graph.state import CompiledStateGraph, StateGraph
from langgraph.types import Command

from thalweg.archive import Archive
from thalweg.context.arguments import KeptState
from thalweg.context.middleware import ContextMiddleware
from thalweg.context.request.models import limits_for
from thalweg.engine.settings import ContextPolicy
from thalweg.errors import ConfigError
from thalweg_agent.backends.bubblewrap import WORKSPACE
from thalweg_agent.backends.composite import CompositeBackend
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.graph.build import Recipe, build
from thalweg_agent.graph.small import create_small_agent
from thalweg_agent.middleware.approval import Approvals
from thalweg_agent.middleware.run_context import UPLOADS, RunContextMiddleware
from thalweg_agent.middleware.subagents.delegation import TASK
from thalweg_agent.middleware.subagents.middleware import (
    GENERAL_PURPOSE_SUBAGENT,
    CompiledSubAgent,
    SubAgent,
    SubagentLimits,
)
from thalweg_agent.subagents.retention import Retention
from thalweg_agent.tools.rights import FilesystemPermission, rights
from thalweg_memory import MemoryStore
from thalweg_memory.middleware.middleware import MemoryMiddleware
from thalweg_server.api.graph_runs import BUILT_IN
from thalweg_server.app.agent_tools import (
    McpTools,
    RemoteShell,
    RunFiles,
    RunShell,
    agent_of_run,
    imported,
    owner_of_run,
    place_of_run,
    thread_of_run,
)
from thalweg_server.app.configured import (
    GraphDefinition,
    graph_definitions,
    import_named,
    made_by_factory,
    named_model,
    shell_over,
    skills_below,
)
from thalweg_server.models import model_by_name
from thalweg_server.settings.fields import thawed
from thalweg_server.settings.sections import SandboxSettings, Settings, SubagentSettings
from thalweg_server.uploads.base import Places

Agent = CompiledStateGraph[Any, Any, Any, Any]


class OwnGraphs:
    """The graphs of the settings, imported at their first use."""

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._definitions: Mapping[str, GraphDefinition] = {}
        self._loaded: dict[str, object] = {}
        self._lock = asyncio.Lock()

    def definitions(self, settings: Settings) -> Mapping[str, GraphDefinition]:
        """Return the graphs of the settings by their ids.

        Raises:
            ConfigError: `langgraph.json` cannot be read.
        """
        if self._settings is not settings:
            self._definitions = graph_definitions(settings)
            self._settings, self._loaded = settings, {}
        return self._definitions

    async def of(self, settings: Settings, name: str, config: RunnableConfig) -> Agent:
        """Return a graph; one that a function makes is made for each call.

        Raises:
            ConfigError: It cannot be imported, or it is no graph.
        """
        definition = self.definitions(settings)[name]
        where = f"agents.{name}"
        async with self._lock:
            if name not in self._loaded:
                self._loaded[name] = await asyncio.to_thread(_load, definition, where)
        found = self._loaded[name]
        if callable(found) and not isinstance(found, CompiledStateGraph | StateGraph):
            found = await _made(found, config, where)
        if isinstance(found, StateGraph):
            found = found.compile()
        if not isinstance(found, CompiledStateGraph):
            problem = f"{definition.graph} is {type(found).__name__}, not a graph"
            raise ConfigError(
                where, problem, "name a compiled graph or a function that returns one"
            )
        return found


def _load(definition: GraphDefinition, where: str) -> object:
    for folder in definition.packages:
        if folder not in sys.path:
            sys.path.insert(0, folder)
    place, _, attribute = definition.graph.rpartition(":")
    if not place or not attribute:
        problem = f"{definition.graph!r} names no attribute"
        raise ConfigError(where, problem, "write module:attribute or ./file.py:attribute")
    if not place.endswith(".py"):
        return import_named(definition.graph, where)
    module = _import_file(Path(definition.folder, place).resolve(), where)
    found: object = getattr(module, attribute, None)
    if found is None:
        raise ConfigError(where, f"{place} has no {attribute}", "check its name")
    return found


def _import_file(path: Path, where: str) -> ModuleType:
    name = f"thalweg_graph_{path.stem}_{abs(hash(str(path)))}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(where, f"{path} cannot be imported", "check its name")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        problem = f"{path} cannot be imported ({type(error).__name__}: {error})"
        raise ConfigError(where, problem, "fix the file, or install its packages") from error
    return module


async def _made(make: Callable[..., Any], config: RunnableConfig, where: str) -> object:
    """Call a function that makes a graph, with the run's config if it takes an argument."""
    takes = len(inspect.signature(make).parameters)
    if takes > 1:
        problem = f"its function takes {takes} arguments"
        raise ConfigError(where, problem, "let it take none, or a RunnableConfig")
    try:
        made = make(config) if takes else make()
        found: object = await made if isinstance(made, Awaitable) else made
    except Exception as error:
        problem = f"its function failed ({type(error).__name__}: {error})"
        raise ConfigError(where, problem, "fix the function") from error
    return found


STATE_MESSAGES = 400
"""Messages that the state keeps in runs of LangGraph's API, whose clients read them there. Other
runs keep the newest run alone: the gateway reads a thread's history from the archive."""
SKILLS = "/skills"
"""Path of the folders of skills, as an agent sees it."""


class Agents:
    """Builds agents, and caches them as long as the settings are the same.

    Args:
        archive: The store of threads.
        memories: The memories of users.
        places: The store of the threads' files.
        hidden: Folders that are hidden from an agent's commands.
    """

    def __init__(
        self,
        archive: Archive,
        memories: MemoryStore,
        places: Places,
        hidden: Iterable[Path] = (),
    ) -> None:
        self._hidden = tuple(hidden)
        self._archive = archive
        self._memories = memories
        self._places = places
        self._mcp = McpTools()
        self._settings: Settings | None = None
        self._tools: Sequence[BaseTool] = ()
        """Those of MCP servers."""
        self._shell: tuple[SandboxSettings, RemoteShell] | None = None
        self._made: dict[tuple[str, KeptState], Agent] = {}
        self._graphs = OwnGraphs()
        self._lock = asyncio.Lock()

    async def of(
        self, settings: Settings, model: str | None = None, *, state: KeptState = "run"
    ) -> Agent:
        """Return the agent for settings.

        Args:
            settings: The current settings.
            model: The name of a model that the run may use; the settings' default if `None`.
            state: Messages that the state keeps; see `ContextMiddleware`.

        Raises:
            ConfigError: It cannot be built from these settings.
        """
        name = model or named_model(settings)
        async with self._lock:
            tools = await self._mcp.of(settings.mcp_servers)
            if self._settings is not settings or self._tools != tools:
                self._settings, self._tools, self._made = settings, tools, {}
            if (name, state) not in self._made:
                made = await asyncio.to_thread(self._make, settings, name, tools, state)
                self._made[name, state] = made
            return self._made[name, state]

    def is_own(self, settings: Settings, graph: str) -> bool:
        """Return whether a graph is one of the settings, and not the gateway's agent."""
        return graph in self._graphs.definitions(settings)

    async def graph(
        self,
        settings: Settings,
        graph: str,
        config: RunnableConfig,
        *,
        model: str | None = None,
    ) -> Agent:
        """Return a graph by its id.

        Args:
            settings: The current settings.
            graph: The id: `agent` is the gateway's own unless the settings define it.
            config: The config of the run, for graphs that are made for each.
            model: As for `of`.

        Raises:
            ConfigError: There is none, or it cannot be built.
        """
        if self.is_own(settings, graph):
            return await self._graphs.of(settings, graph, config)
        if graph != BUILT_IN:
            known = (*self._graphs.definitions(settings), BUILT_IN)
            problem = f"there is no graph {graph!r}"
            raise ConfigError("agents", problem, f"there are: {', '.join(dict.fromkeys(known))}")
        return await self.of(settings, model, state=STATE_MESSAGES)

    def end_sandbox(self, owner: str, thread: str) -> None:
        """End the custom sandbox of a thread; see `RemoteShell.end_sandbox`."""
        if self._shell is not None:
            self._shell[1].end_sandbox(owner, thread)

    async def close(self) -> None:
        """End connections to servers of tools."""
        await self._mcp.close()

    def _make(
        self, settings: Settings, name: str, offered: Sequence[BaseTool], state: KeptState
    ) -> Agent:
        model = model_by_name(name, settings)
        tools = [*map(imported, settings.tools), *offered]
        if is_small(settings, model):
            return self._small(settings, model, tools, state)
        mounts = _Mounts(settings)
        subagents = _subagents(settings, tools, mounts)
        backend = mounts.over(self._files(settings))
        return build(
            Recipe(
                model=model,
                tools=tools,
                system_prompt=settings.agent.system_prompt,
                middleware=self._middleware(settings, backend),
                subagents=subagents,
                skills=mounts.sources,
                memory=None,
                permissions=rights(mounts.rules()),
                backend=backend,
                interrupt_on=_approvals(settings),
                state_schema=None,
                context=self._context(settings, state),
                owner=owner_of_run,
                max_delegations=settings.subagents.max_total_per_run,
                subagent_retention=Retention(
                    days=settings.subagents.retention_days, threads=settings.subagents.max_threads
                ),
            )
        )

    def _files(self, settings: Settings) -> RunFiles:
        sandbox = settings.sandbox
        if not sandbox.is_on:
            return RunFiles(self._places)
        if sandbox.use == "custom":  # agents share it, or each would make sandboxes of its own
            if self._shell is None or self._shell[0] != sandbox:
                shell = RemoteShell(self._places, made_by_factory(sandbox), sandbox.folder)
                self._shell = sandbox, shell
            return self._shell[1]
        root = "" if sandbox.use == "host" else WORKSPACE
        return RunShell(self._places, shell_over(sandbox, self._hidden), root)

    def _small(
        self,
        settings: Settings,
        model: BaseChatModel,
        tools: Sequence[BaseTool],
        state: KeptState,
    ) -> Agent:
        policy, summarizer = _summarization(settings)
        return create_small_agent(
            model,
            tools,
            system_prompt=settings.agent.system_prompt,
            memory=self._memories,
            memory_settings=settings.memory.model_copy(update={"model_name": None}),
            backend=RunFiles(self._places),
            interrupt_on=_approvals(settings),
            context=policy,
            summarizer=summarizer,
            archive=self._archive,
            owner=owner_of_run,
            state=state,
        )

    def _context(self, settings: Settings, state: KeptState) -> ContextMiddleware:
        policy, summarizer = _summarization(settings)
        return ContextMiddleware(
            policy,
            archive=self._archive,
            owner=owner_of_run,
            summarizer=summarizer,
            state=state,
        )

    def _middleware(
        self, settings: Settings, backend: BackendProtocol
    ) -> list[AgentMiddleware[Any, Any, Any]]:
        made: list[AgentMiddleware[Any, Any, Any]] = [
            MemoryMiddleware(
                self._memories,
                owner=owner_of_run,
                agent=agent_of_run,
                settings=settings.memory.model_copy(update={"model_name": None}),
                learns=False,  # one worker learns for all owners
            ),
            RunContextMiddleware(backend=backend, uploads=UPLOADS, place=place_of_run),
        ]
        if settings.subagents.enabled:
            made.append(TaskGate(settings.subagents.max_concurrent))
        return made


def _summarization(settings: Settings) -> tuple[ContextPolicy, BaseChatModel | None]:
    """Return the policy of a thread, and the model that writes summaries if one is named."""
    policy = settings.summarization
    if policy.model_name is None:
        return policy, None
    summarizer = model_by_name(policy.model_name, settings)
    return policy.model_copy(update={"model_name": None}), summarizer


def is_small(settings: Settings, model: BaseChatModel) -> bool:
    """Return whether a model gets the small agent."""
    return settings.has_small_agent(limits_for(model, None).window)


def _approvals(settings: Settings) -> Approvals:
    interrupts: object = {tool: thawed(how) for tool, how in settings.agent.interrupt_on.items()}
    return cast("Approvals", interrupts)  # the middleware looks at them


class TaskGate(AgentMiddleware[Any, Any, Any]):
    """Lets so many subagents of one run be at work at once; the others wait.

    Args:
        most: How many.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._gates: WeakValueDictionary[tuple[str, str], asyncio.Semaphore] = WeakValueDictionary()

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Wait for a place before a task is begun."""
        if request.tool_call["name"] != TASK:
            return await handler(request)
        config = request.runtime.config
        key = owner_of_run(config), thread_of_run(config)
        async with self._gates.setdefault(key, asyncio.Semaphore(self._most)):
            return await handler(request)


class _Mounts:
    """The folders of skills at their paths for an agent: readable, not writable."""

    def __init__(self, settings: Settings) -> None:
        there = [Path(path) for path in settings.skills.paths if Path(path).is_dir()]
        self._folders = there if settings.skills.enabled else []
        self._routes: dict[str, BackendProtocol] = {
            f"{SKILLS}/{k}/": FilesystemBackend(folder, virtual_mode=True)
            for k, folder in enumerate(self._folders)
        }
        self._settings = settings

    @property
    def sources(self) -> list[str] | None:
        """The paths of the folders for the agent; `None` if there are none."""
        found = [f"{SKILLS}/{k}" for k in range(len(self._folders))]
        return found or None

    def some(self, subagent: str, names: Sequence[str]) -> list[str]:
        """Mount some skills for a subagent, and return their folder.

        Raises:
            ConfigError: There is no such skill.
        """
        known = {skill.name: skill for skill in skills_below(self._settings)}
        for name in names:
            if name not in known:
                where, problem = (
                    f"subagents.agents.{subagent}.skills",
                    f"there is no skill {name!r}",
                )
                raise ConfigError(where, problem, f"there are: {', '.join(known) or 'none'}")
            folder = Path(known[name].path).parent
            mount = f"{SKILLS}/of-{subagent}/{name}/"
            self._routes[mount] = FilesystemBackend(folder, virtual_mode=True)
        return [f"{SKILLS}/of-{subagent}"]

    def over(self, files: BackendProtocol) -> BackendProtocol:
        """Return a backend that combines the mounts with the files of a thread."""
        return CompositeBackend(files, self._routes) if self._folders else files

    def rules(self) -> list[FilesystemPermission]:
        """Return the rules that deny writes."""
        if not self._folders:
            return []
        return [FilesystemPermission(["write"], [f"{mount}**" for mount in self._routes], "deny")]


def _subagents(
    settings: Settings, tools: Sequence[BaseTool], mounts: _Mounts
) -> list[SubAgent | CompiledSubAgent]:
    """Return the specs of subagents: none if they are off, else the settings' and one of ours."""
    if not settings.subagents.enabled:
        return []
    general: SubAgent = {**GENERAL_PURPOSE_SUBAGENT}
    specs = {general["name"]: _with_skills(_limited(general, settings), mounts)}
    for given in settings.subagents.agents:
        base = specs.get(given.name) or {**general, "name": given.name}
        specs[given.name] = _as_given(base, given, settings, tools, mounts)
    return list(specs.values())


def _limited(
    spec: SubAgent, settings: Settings, turns: int | None = None, seconds: float | None = None
) -> SubAgent:
    common = settings.subagents
    limits = SubagentLimits(
        turns=turns or common.max_turns,
        tokens=common.max_tokens,
        seconds=seconds or common.timeout_seconds,
    )
    return {**spec, "limits": limits, "no_answer": common.no_answer}


def _with_skills(spec: SubAgent, mounts: _Mounts) -> SubAgent:
    return spec if mounts.sources is None else {**spec, "skills": mounts.sources}


def _as_given(
    base: SubAgent,
    given: SubagentSettings,
    settings: Settings,
    tools: Sequence[BaseTool],
    mounts: _Mounts,
) -> SubAgent:
    spec = _limited(base, settings, given.max_turns, given.timeout_seconds)
    if given.description:
        spec["description"] = given.description
    if given.system_prompt:
        spec["system_prompt"] = given.system_prompt
    if given.tools is not None:
        spec["tools"] = _chosen(given, tools)
    if given.model is not None:
        spec["model"] = model_by_name(given.model, settings)
    if given.skills is None:
        return _with_skills(spec, mounts)
    spec.pop("skills", None)
    if given.skills:
        spec["skills"] = mounts.some(given.name, given.skills)
    return spec


def _chosen(given: SubagentSettings, tools: Sequence[BaseTool]) -> list[BaseTool]:
    known: Mapping[str, BaseTool] = {tool.name: tool for tool in tools}
    chosen: list[BaseTool] = []
    for name in given.tools or ():
        if name in known:
            chosen.append(known[name])
        elif name not in _BUILT_IN:
            where, problem = f"subagents.agents.{given.name}.tools", f"there is no tool {name!r}"
            there = ", ".join((*known, *sorted(_BUILT_IN)))
            raise ConfigError(where, problem, f"there are: {there}")
    return chosen


_BUILT_IN = frozenset(
    (
        *("ls", "read_file", "write_file", "edit_file", "delete", "glob", "grep", "execute"),
        *("write_todos", "recall", "compact_conversation"),
    )
)
"""Tools that every subagent has; to name them is fine."""


def learner_model(settings: Settings) -> BaseChatModel | None:
    """Return the model that extracts facts; `None` if there is none.

    The model of a small agent does not extract facts unless a setting of `memory` besides
    `enabled` is named: search over past turns works without.

    Raises:
        ConfigError: It cannot be built.
    """
    named = settings.memory.model_name
    if named is not None:
        return model_by_name(named, settings)
    name = settings.default_model
    model = None if name is None else model_by_name(name, settings)
    if model is None or settings.names_learning or not is_small(settings, model):
        return model
    return None
