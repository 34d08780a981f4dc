"""Graphs of the operator's own: compiled ones, or functions that make one."""

import asyncio
import importlib.util
import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph, StateGraph

from thalweg.errors import ConfigError
from thalweg_server.app.agents.graph_definitions import GraphDefinition, graph_definitions
from thalweg_server.app.agents.importing import import_named
from thalweg_server.settings.sections import Settings

Graph = CompiledStateGraph[Any, Any, Any, Any]


class OwnGraphs:
    """The graphs of the settings, imported when first asked."""

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

    async def of(self, settings: Settings, name: str, config: RunnableConfig) -> Graph:
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
