"""The parts of a composite backend, and the link targets of paths."""

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from thalweg_agent.backends.calls.foreign import ForeignBackend
from thalweg_agent.backends.composite import CompositeBackend
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_agent.backends.paths import is_under, validate_path
from thalweg_agent.backends.protocol import BackendProtocol, SandboxBackendProtocol
from thalweg_agent.backends.state import StateBackend
from thalweg_agent.tools.rights import FilesystemPermission


def real_path(backend: BackendProtocol, path: str) -> str:
    """Return the target of a path with links resolved.

    Raises:
        ValueError: The target is outside the backend.
        OSError: The links form a cycle.
    """
    # By its name: a backend around ours, as one that logs, passes it on.
    resolve = getattr(backend, "real_path", None)
    return path if resolve is None else validate_path(resolve(path))


def folds_case(backend: BackendProtocol) -> bool:
    """Return whether `/A` and `/a` may be the same file somewhere in a backend."""
    disks = (part for part in parts(backend) if isinstance(part, FilesystemBackend))
    return any(_folds(str(disk.cwd)) for disk in disks)


@lru_cache(maxsize=64)
def _folds(folder: str) -> bool:
    other = folder.swapcase()
    try:
        return other != folder and os.path.samefile(folder, other)  # noqa: PTH121  # a text
    except OSError:
        return False


def supports_execution(backend: BackendProtocol) -> bool:
    """Return whether commands can run next to the files; the default of a composite decides."""
    at = backend.default if isinstance(backend, CompositeBackend) else backend
    return isinstance(at, SandboxBackendProtocol)


def keeps_in_state(backend: BackendProtocol) -> bool:
    """Return whether any file may be in the agent's state, as another package's may be."""
    return any(isinstance(part, StateBackend | ForeignBackend) for part in parts(backend))


def below_routes(rules: Iterable[FilesystemPermission], backend: BackendProtocol) -> bool:
    """Return whether rules concern only backends that the shell of the default cannot reach."""
    routes = [
        prefix
        for prefix, routed in _routes(backend)
        if all(shell_folder(backend, part) is None for part in parts(routed))
    ]
    return bool(routes) and all(
        any(path.startswith(prefix) for prefix in routes) for rule in rules for path in rule.paths
    )


def shell_folder(backend: BackendProtocol, part: BackendProtocol) -> str | None:
    """Return the folder of a backend's files as the shell of another one sees it, or `None`.

    The text is empty if commands see only folders in it.
    """
    shell = backend.default if isinstance(backend, CompositeBackend) else backend
    if not (isinstance(shell, LocalShellBackend) and isinstance(part, FilesystemBackend)):
        return None
    folder = str(part.cwd) if part.virtual_mode else "/"
    visible = shell.command_folders or {folder: folder}
    for host, path in visible.items():
        if is_under(folder, host):
            return os.path.normpath(os.path.join(path, os.path.relpath(folder, host)))  # noqa: PTH118
    return "" if any(is_under(host, folder) for host in visible) else None


def parts(backend: BackendProtocol) -> Iterator[BackendProtocol]:
    """Yield the parts of a composite backend; otherwise the backend itself."""
    if not isinstance(backend, CompositeBackend):
        yield backend
        return
    yield from parts(backend.default)
    for _, routed in _routes(backend):
        yield from parts(routed)


def _routes(backend: BackendProtocol) -> Sequence[tuple[str, BackendProtocol]]:
    return backend.sorted_routes if isinstance(backend, CompositeBackend) else ()


def artifacts_root(backend: BackendProtocol) -> str:
    """Return the folder for intermediate files, without a `/` at its end."""
    return str(getattr(backend, "artifacts_root", "/")).rstrip("/")
