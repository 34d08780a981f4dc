"""Rules for the paths of an agent, and the calls that wait for a human because of them."""

from collections.abc import Callable

from langchain.agents.middleware import InterruptOnConfig
from langchain.tools.tool_node import ToolCallRequest

from thalweg_agent.backends.paths import glob_anchor, to_posix_path, validate_path
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.middleware.approval import ALL
from thalweg_agent.tools.access import Access, ToolRefusedError
from thalweg_agent.tools.places import folds_case
from thalweg_agent.tools.rights import (
    FilesystemOperation,
    FilesystemPermission,
    Mode,
    Permissions,
    Rights,
    both,
    reaches,
    rights,
)

__all__ = [
    "FilesystemOperation",
    "FilesystemPermission",
    "Mode",
    "Permissions",
    "Rights",
    "both",
    "interrupts",
    "rights",
]

_ANY = BackendProtocol()
"""A backend without links, as the default."""

When = Callable[[ToolCallRequest], bool]
"""Whether a call waits."""


def interrupts(
    permissions: Permissions, backend: BackendProtocol | None = None
) -> dict[str, InterruptOnConfig]:
    """Return which calls of file tools need approval by a human, as `interrupt_on`.

    A call waits if a rule requires it for its path, or for anything in the folder that it searches
    or deletes. A denied call does not wait: its tool refuses it.

    Args:
        permissions: The rules.
        backend: Resolves links, so that another name of a path waits, too.
    """
    access = Access(rights(permissions), _ANY if backend is None else backend)
    conditions: dict[str, tuple[FilesystemOperation, When]] = {
        "ls": ("read", when_looked_in(access, "read", "path")),
        "read_file": ("read", when_touched(access, "read")),
        "write_file": ("write", when_touched(access, "write")),
        "edit_file": ("write", when_touched(access, "write")),
        "delete": ("write", when_looked_in(access, "write", "file_path")),
        "glob": ("read", when_looked_in(access, "read", "path", "pattern")),
        "grep": ("read", when_looked_in(access, "read", "path")),
    }
    return {
        tool: InterruptOnConfig(allowed_decisions=list(ALL), when=when)
        for tool, (operation, when) in conditions.items()
        if access.rights.patterns("interrupt", operation)
    }


def when_touched(
    access: Access, operation: FilesystemOperation, argument: str = "file_path"
) -> When:
    """Return a condition that is true if a rule requires approval of the path itself."""

    def when(request: ToolCallRequest) -> bool:
        path = _given(request, argument)
        try:
            return isinstance(path, str) and (
                access.verdict(operation, validate_path(path)) == "interrupt"
            )
        except ValueError:
            return False

    return when


def when_looked_in(
    access: Access,
    operation: FilesystemOperation,
    argument: str,
    pattern_argument: str | None = None,
) -> When:
    """Return a condition that is true if a rule requires approval of anything in a folder.

    Without a folder in the call, it is true if there is any such rule for the operation.

    Args:
        access: The rules.
        operation: The operation.
        argument: The argument with the folder.
        pattern_argument: The argument with a pattern of files in it; an absolute one, or one with
            `..`, could match others.
    """
    patterns = access.rights.patterns("interrupt", operation)
    folds = folds_case(access.backend)

    def reached(folder: str) -> bool:
        return any(reaches(pattern, folder, folds_case=folds) for pattern in patterns)

    def when(request: ToolCallRequest) -> bool:
        folder = _given(request, argument)
        if folder is None:
            return bool(patterns)
        try:
            names = access.names(validate_path(str(folder)))
        except (ValueError, ToolRefusedError):
            names = ()
        return any(map(reached, names)) or leads_there(request)

    def leads_there(request: ToolCallRequest) -> bool:
        pattern = to_posix_path(str((pattern_argument and _given(request, pattern_argument)) or ""))
        if pattern.startswith("/"):
            return reached(glob_anchor(pattern))
        return bool(patterns) and ".." in pattern.split("/")

    return when


def _given(request: ToolCallRequest, argument: str) -> object:
    return request.tool_call.get("args", {}).get(argument)
