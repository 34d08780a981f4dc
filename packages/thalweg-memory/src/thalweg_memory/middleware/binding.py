"""Whose memory a run works with, and the operations that it may perform."""

from dataclasses import dataclass
from os import PathLike
from typing import Any, cast, get_args

from langchain_core.runnables import RunnableConfig

from thalweg.context.arguments import AgentName, Owner, as_owner, owner_of
from thalweg.context.turn.graph_state import is_subagent, thread_name
from thalweg.errors import ConfigError
from thalweg_memory.facts.settings import MemorySettings, checked_zone
from thalweg_memory.facts.values import Mode, Scope
from thalweg_memory.handle import Memory
from thalweg_memory.opening import attach_document, open_memory
from thalweg_memory.store.tables import MemoryStore

MODES: tuple[Mode, ...] = get_args(Mode)
"""The later, the less is done."""
SETTING, ZONE = "memory", "time_zone"
"""Where in the `configurable` of a run's config its mode and its time zone are set."""

Given = MemoryStore | Memory | str | PathLike[str]


@dataclass(frozen=True, slots=True)
class BoundMemory:
    """A memory as one run may use it."""

    memory: Memory
    thread: str
    mode: Mode
    is_subagent: bool
    """Whether its thread is talked to by an agent, not by the user."""

    @property
    def tells(self) -> bool:
        """Whether memory may be shown."""
        return self.mode in {"on", "read_only"} and bool(self.thread)

    @property
    def is_before_conversation(self) -> bool:
        """Whether memory is shown in the system prompt, or in a system message after it."""
        return self.settings.placement != "tail"

    @property
    def writes(self) -> bool:
        """Whether messages may be stored."""
        may = self.mode == "on" and not self.settings.read_only
        return may and not self.is_subagent and bool(self.thread)

    @property
    def settings(self) -> MemorySettings:
        """The memory's settings."""
        return self.memory.settings


class MemoryBinding:
    """The configured memory, to bind for each run.

    Raises:
        ConfigError: It is no memory, or cannot be opened.
    """

    def __init__(
        self, given: Given, *, owner: Owner, agent: AgentName, settings: MemorySettings | None
    ) -> None:
        self._owner, self._agent = as_owner(owner), agent
        self._memory = given if isinstance(given, Memory) else None
        self.owns_store = isinstance(given, (str, PathLike))
        if isinstance(given, Memory):
            if settings is not None:
                problem = "the memory that was passed has its own settings"
                raise ConfigError("settings", problem, "set them there, or pass its store")
            self.settings, self.store = given.settings, given.store
            return
        self.settings = settings or MemorySettings()
        self.store = open_memory(given) if isinstance(given, (str, PathLike)) else _as_store(given)
        if self.owns_store:
            self.store.close_when_collected()
        attach_document(self.store, self.settings)

    def requested_mode(self, config: RunnableConfig) -> Mode:
        """Return the memory mode of the settings and a run's config.

        Raises:
            ConfigError: The config names no such mode.
        """
        mode = _mode_of(config)
        return mode if self.settings.enabled else "off"

    def of(self, config: RunnableConfig, state: Any) -> BoundMemory:  # noqa: ANN401 (any agent's)
        """Bind it for a run.

        Raises:
            ConfigError: The config names no such mode or time zone, or no owner.
        """
        name = thread_name(config, state) or ""
        memory = self._memory or Memory(self.store, self._scope(config), settings=self.settings)
        zone = _zone_of(config)
        if zone:
            settings = memory.settings.model_copy(update={"time_zone": zone})
            memory = Memory(
                memory.store,
                memory.scope,
                settings=settings,
                count=memory.count,
                clock=memory.clock,
            )
        set_to = memory.store.mode(memory.scope, name)
        requested = self.requested_mode(config)
        mode = requested if MODES.index(requested) >= MODES.index(set_to) else set_to
        return BoundMemory(memory, name, mode, is_subagent(config))

    def _scope(self, config: RunnableConfig) -> Scope:
        agent = self._agent if isinstance(self._agent, str) else self._agent(config)
        return Scope(owner_of(self._owner, config), agent)

    def close(self) -> None:
        """Close the resources opened here; an object that was passed belongs to its owner."""
        if self.owns_store:
            self.store.close()


def _as_store(given: object) -> MemoryStore:
    if all(hasattr(given, name) for name in ("capture", "commit", "find", "forget")):
        return cast("MemoryStore", given)
    fix = "pass a Memory, a store of open_memory, or an address"
    raise ConfigError("memory", f"it is of type {type(given).__name__}", fix)


def _zone_of(config: RunnableConfig) -> str:
    named: object = config.get("configurable", {}).get(ZONE, "")
    try:
        return checked_zone(str(named))
    except ValueError as error:
        raise ConfigError(ZONE, f"a run's config names {named!r}", str(error)) from error


def _mode_of(config: RunnableConfig) -> Mode:
    named: object = config.get("configurable", {}).get(SETTING, MODES[0])
    for mode in MODES:
        if named == mode:
            return mode
    problem = f"a run's config names {named!r}"
    raise ConfigError(SETTING, problem, f"use {', '.join(MODES)}")
