"""A user's own agent as a subject, by import path: a graph, or a function that creates one.

The error of a wrong path explains the problem.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, get_args
from uuid import uuid4

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.pregel.protocol import PregelProtocol

from thalweg.engine.sections import name_remedy
from thalweg.errors import ConfigError
from thalweg_evals.base import Agent, Need, Setting
from thalweg_evals.subjects.graphs import GraphAgent, awaited, files_below
from thalweg_evals.subjects.sizes import fitted

GIVEN = ("model", "tools", "system_prompt", "window", "trigger", "folder", "checkpointer")
"""Possible parameters of a function that creates a graph; it gets those in its signature."""
_CONFIG = "config"
"""Parameter that LangGraph's server passes to such functions; empty here."""
_SHOWN: tuple[Need, ...] = ("tools", "system_prompt", "trigger")
"""Abilities that the parameters of the same names show."""
OFFERS = "offers"
"""Attribute of a function with further abilities of its agents: `make.offers = ["files"]`."""


def found_at(name: str) -> object:
    """Import `module:attribute` or `path/to/file.py:attribute`.

    The current folder is importable, and so is the folder of a file. Errors of the imported module
    are passed to the caller.

    Raises:
        ConfigError: There is no such module or attribute, or a dependency of it is not installed.
    """
    place, _, attribute = name.rpartition(":")
    found: object = _module(name, place)
    for step in attribute.split("."):
        if not hasattr(found, step):
            known = [one for one in vars(found) if not one.startswith("_")]
            fix = name_remedy(step, known, "name a graph, or a function that makes one")
            raise ConfigError(name, f"{place} has no {step!r}", fix)
        found = getattr(found, step)
    return found


def _module(name: str, place: str) -> ModuleType:
    if place.endswith(".py"):
        return _of_file(name, Path(place))
    _let_import(Path.cwd())
    try:
        return import_module(place)
    except ModuleNotFoundError as missing:
        _raise_missing(name, place, missing)


def _of_file(name: str, path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        there = [one.name for one in path.parent.glob("*.py")] if path.parent.is_dir() else []
        close = get_close_matches(path.name, there, 1)
        fix = f"did you mean {close[0]}?" if close else "name a file, from the current folder on"
        raise ConfigError(name, f"there is no file {path}", fix)
    _let_import(Path.cwd())
    _let_import(path.parent)
    called = f"thalweg_subject_{path.stem}_{uuid4().hex[:8]}"
    loader = SourceFileLoader(called, str(path))
    module = module_from_spec(ModuleSpec(called, loader, origin=str(path)))
    module.__file__ = str(path)
    sys.modules[called] = module  # dataclasses and annotations resolve their names here
    try:
        loader.exec_module(module)
    except ModuleNotFoundError as missing:
        _raise_missing(name, str(path), missing)
    return module


def _let_import(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _raise_missing(name: str, place: str, missing: ModuleNotFoundError) -> NoReturn:
    lacks = missing.name or ""
    if f"{place}.".startswith(f"{lacks}."):
        problem = f"there is no module {lacks!r} that could be imported from {Path.cwd()}"
        fix = f"name a file (path/to/file.py:{name.rpartition(':')[2]}), or go to its folder"
        raise ConfigError(name, problem, fix) from missing
    install = f"pip install {lacks.partition('.')[0].replace('_', '-')}"
    raise ConfigError(name, f"it imports {lacks}, which is not installed", install) from missing


@dataclass(frozen=True, slots=True)
class CompiledSubject:
    """A compiled graph: it has its own model and tools, and is used unchanged."""

    name: str
    graph: Any
    offers: frozenset[Need] = frozenset()

    def begin(self, setting: Setting) -> Agent:
        """Create an agent with the graph."""
        del setting
        return GraphAgent(self.graph, prefix=f"{uuid4().hex}-")


@dataclass(frozen=True, slots=True)
class GraphFactory:
    """A function that creates a graph, for every trial."""

    name: str
    make: Callable[..., Any]
    names: frozenset[str]
    """Names of its arguments."""
    offers: frozenset[Need]

    def begin(self, setting: Setting) -> Agent:
        """Create an agent.

        Raises:
            ConfigError: The function returned no graph with messages.
        """
        values: dict[str, object] = {
            "model": fitted(setting),
            "tools": list(setting.tools),
            "system_prompt": setting.system_prompt,
            "window": setting.window,
            "trigger": setting.trigger,
            "folder": setting.folder,
            "checkpointer": InMemorySaver(),
            _CONFIG: {"configurable": {}},
        }
        made = self.make(**{name: values[name] for name in self.names})
        is_awaited = inspect.isawaitable(made)
        if is_awaited:
            made = awaited(_result(made))
        reading = partial(files_below, setting.folder) if "folder" in self.names else None
        return GraphAgent(as_graph(self.name, made), reading=reading, is_awaited=is_awaited)


async def _result(made: Any) -> object:  # noqa: ANN401 (an awaitable of anything)
    return await made


def imported(name: str) -> CompiledSubject | GraphFactory:
    """Return the subject for an import path; see `found_at`.

    Raises:
        ConfigError: Nothing is there, or it is neither a graph nor a function that creates one.
    """
    found = found_at(name)
    if isinstance(found, PregelProtocol | StateGraph) or not callable(found):
        return CompiledSubject(name, as_graph(name, found))
    return _made_by(name, found)


def as_graph(name: str, found: object) -> Any:  # noqa: ANN401 (of any state)
    """Return a graph with messages, compiled if it was not.

    Raises:
        ConfigError: It is no graph, or its state has no messages.
    """
    graph: Any = found
    if isinstance(found, StateGraph):
        graph = found.compile(checkpointer=InMemorySaver())
    if not isinstance(graph, PregelProtocol):
        fix = "name a graph of LangGraph's, or a function that makes one"
        raise ConfigError(name, f"a {type(found).__name__} is no graph", fix)
    channels = getattr(graph, "channels", None)
    if isinstance(channels, Mapping) and "messages" not in channels:
        held = ", ".join(one for one in channels if not one.startswith(("_", "branch:")))
        problem = f"the state of the graph has no `messages`, but {held or 'nothing'}"
        raise ConfigError(name, problem, "let its state extend MessagesState")
    return graph


def _made_by(name: str, make: Callable[..., Any]) -> GraphFactory:
    """Return the subject for a function, with the arguments of its signature.

    Raises:
        ConfigError: It requires an unsupported argument.
    """
    known = (*GIVEN, _CONFIG)
    requested: set[str] = set()
    for one in inspect.signature(make).parameters.values():
        if one.kind in {one.VAR_POSITIONAL, one.VAR_KEYWORD}:
            continue
        if one.name in known and one.kind is not one.POSITIONAL_ONLY:
            requested.add(one.name)
        elif one.default is one.empty:
            problem = f"it requires {one.name!r}, which a trial does not provide"
            fix = name_remedy(
                one.name, known, f"it can name {', '.join(GIVEN)}; give {one.name!r} a default"
            )
            raise ConfigError(name, problem, fix)
    offers: set[Need] = {need for need in _SHOWN if need in requested}
    return GraphFactory(name, make, frozenset(requested), frozenset(offers | _declared(name, make)))


def _declared(name: str, make: object) -> set[Need]:
    """Return the abilities of a function's agents that its signature does not show.

    Raises:
        ConfigError: There is no such ability.
    """
    declared, needs = getattr(make, OFFERS, ()), {str(one): one for one in get_args(Need)}
    where = f"{name}.{OFFERS}"
    for one in declared:
        if one not in needs:
            problem = f"there is no {one!r}"
            raise ConfigError(where, problem, name_remedy(one, list(needs)))
    return {needs[one] for one in declared}
