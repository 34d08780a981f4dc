"""The file tools that a model sees, and their descriptions."""

from collections.abc import Sequence

from langchain_core.tools import BaseTool

from thalweg.context.ready_tools import Tool, tool_name
from thalweg_agent.backends.composite import CompositeBackend
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_agent.backends.protocol import BackendProtocol, supports_delete
from thalweg_agent.prompts import prompt
from thalweg_agent.tools.kit import FsToolName, described
from thalweg_agent.tools.places import supports_execution

_OF_OTHERS: tuple[FsToolName, ...] = ("grep", "execute")
"""Tools whose descriptions mention other tools, which may be missing."""
_FINDS = ("glob", "grep")
_VARIANTS = {
    described(name, frozenset(visible))
    for name in _OF_OTHERS
    for visible in ((), ("execute",), ("glob",), ("grep",), _FINDS)
}
"""All default descriptions of these tools."""


def servable(tools: Sequence[Tool], backend: BackendProtocol) -> list[Tool]:
    """Remove the tools that a backend does not support."""
    missing = set() if supports_execution(backend) else {"execute"}
    missing |= set() if supports_delete(backend) else {"delete"}
    return [tool for tool in tools if tool_name(tool) not in missing]


def retold(tools: Sequence[Tool], made: dict[tuple[str, str], BaseTool]) -> list[Tool]:
    """Return tools whose descriptions mention only existing tools; the user's own are kept.

    Args:
        tools: The tools that the model sees.
        made: The copies that were made before, by name and description: the same request has the
            same tools.
    """
    visible = frozenset(name for name in map(tool_name, tools) if name)
    return [_retold(tool, visible, made) for tool in tools]


def _retold(tool: Tool, visible: frozenset[str], made: dict[tuple[str, str], BaseTool]) -> Tool:
    name = tool_name(tool)
    if name not in _OF_OTHERS:
        return tool
    current = tool.get("description") if isinstance(tool, dict) else tool.description
    expected = described(name, visible)
    if current == expected or current not in _VARIANTS:
        return tool
    if isinstance(tool, dict):
        return {**tool, "description": expected}
    key = (name, expected)
    if key not in made:
        made[key] = tool.model_copy(update={"description": expected})
    return made[key]


def shell_paths(backend: BackendProtocol) -> str:
    """Return which folders of the file tools have another path in a command, or none at all."""
    default = backend.default if isinstance(backend, CompositeBackend) else backend
    routes = backend.sorted_routes if isinstance(backend, CompositeBackend) else ()
    mapped: dict[str, str | None] = {prefix: _host(default, at) for prefix, at in routes}
    if root := getattr(default, "command_root", ""):
        mapped["/"] = root
    pairs = [f"- `{_folder(p)}` -> `{_folder(host)}`" for p, host in mapped.items() if host]
    others = [f"- `{_folder(p)}`" for p, host in mapped.items() if not host]
    if not mapped:
        return ""
    return prompt("shell_paths").render(
        mapped=_section("shell_paths_mapped", pairs),
        unmapped=_section("shell_paths_unmapped", others),
    )


def _host(default: BackendProtocol, at: BackendProtocol) -> str | None:
    """Return the folder of a backend's files as another backend's shell sees it, or `None`."""
    if not (isinstance(default, LocalShellBackend) and isinstance(at, FilesystemBackend)):
        return None
    return str(at.cwd) if at.virtual_mode else "/"


def _folder(path: str) -> str:
    # A line break in a folder's name would make its rest look like words of ours.
    return path.rstrip("/").encode("unicode_escape").decode() + "/"


def _section(name: str, lines: Sequence[str]) -> str:
    shown = "\n".join(lines)
    return f"\n\n{prompt(name).render(lines=shown)}" if lines else ""
