"""What an agent may touch, and which calls wait for a human because of it."""

from collections.abc import Callable
from typing import Literal

from langchain.agents.middleware import InterruptOnConfig
from langchain.tools.tool_node import ToolCallRequest

from thalweg.backends.paths import glob_anchor, to_posix_path, validate_path
from thalweg.backends.protocol import BackendProtocol
from thalweg.tools.access import Access, RefusedError
from thalweg.tools.rights import (
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

_DECISIONS: list[Literal["approve", "edit", "reject", "respond"]] = [
    "approve",
    "edit",
    "reject",
    "respond",
]

_ANY = BackendProtocol()
"""Stands for a backend in which no path is a link."""

When = Callable[[ToolCallRequest], bool]
"""Whether a call waits."""


def interrupts(
    permissions: Permissions, backend: BackendProtocol | None = None
) -> dict[str, InterruptOnConfig]:
    """Say which calls of file tools must wait for a human: `interrupt_on`, ready for use.

    A call waits when a rule says so of its path, or of something in the folder it looks
    through or deletes. A call that is denied does not wait: its tool refuses it.

    Args:
        permissions: The rules.
        backend: Follows links, so that another name for a path waits, too.
    """
    access = Access(rights(permissions), _ANY if backend is None else backend)
    asks: dict[str, tuple[FilesystemOperation, When]] = {
        "ls": ("read", _looks_in(access, "read", "path")),
        "read_file": ("read", _touches(access, "read")),
        "write_file": ("write", _touches(access, "write")),
        "edit_file": ("write", _touches(access, "write")),
        "delete": ("write", _looks_in(access, "write", "file_path")),
        "glob": ("read", _either(_looks_in(access, "read", "path"), _leads_to(access))),
        "grep": ("read", _looks_in(access, "read", "path")),
    }
    return {
        tool: InterruptOnConfig(allowed_decisions=list(_DECISIONS), when=when)
        for tool, (operation, when) in asks.items()
        if access.rights.patterns("interrupt", operation)
    }


def _touches(access: Access, operation: FilesystemOperation) -> When:
    def when(request: ToolCallRequest) -> bool:
        path = _given(request, "file_path")
        try:
            return isinstance(path, str) and (
                access.verdict(operation, validate_path(path)) == "interrupt"
            )
        except ValueError:
            return False

    return when


def _looks_in(access: Access, operation: FilesystemOperation, argument: str) -> When:
    patterns = access.rights.patterns("interrupt", operation)

    def when(request: ToolCallRequest) -> bool:
        folder = _given(request, argument)
        if folder is None:
            return bool(patterns)
        try:
            names = access.names(validate_path(str(folder)))
        except (ValueError, RefusedError):
            return False
        return any(reaches(pattern, name) for pattern in patterns for name in names)

    return when


def _leads_to(access: Access) -> When:
    """Whether the pattern of a `glob` itself names a folder, or climbs to who knows where."""
    patterns = access.rights.patterns("interrupt", "read")

    def when(request: ToolCallRequest) -> bool:
        pattern = to_posix_path(str(_given(request, "pattern") or ""))
        if pattern.startswith("/"):
            return any(reaches(p, glob_anchor(pattern)) for p in patterns)
        return bool(patterns) and ".." in pattern.split("/")

    return when


def _either(one: When, other: When) -> When:
    return lambda request: one(request) or other(request)


def _given(request: ToolCallRequest, argument: str) -> object:
    return request.tool_call.get("args", {}).get(argument)
