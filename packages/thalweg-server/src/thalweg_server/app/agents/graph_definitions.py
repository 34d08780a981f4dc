"""Which graphs the settings define, and where they are."""

import json
from dataclasses import dataclass
from pathlib import Path

from thalweg.errors import ConfigError
from thalweg_server.settings.sections import Settings


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
