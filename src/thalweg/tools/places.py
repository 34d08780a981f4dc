"""What a backend is made of: which one answers for a path, and where that path really leads."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Protocol, runtime_checkable

from thalweg.backends.paths import validate_path
from thalweg.backends.protocol import BackendProtocol, SandboxBackendProtocol


@runtime_checkable
class Routed(Protocol):
    """A backend that hands a path on to others: `CompositeBackend`."""

    default: BackendProtocol
    sorted_routes: list[tuple[str, BackendProtocol]]
    """Prefixes and who answers below them, the longest first."""


@runtime_checkable
class Linked(Protocol):
    """A backend in which a path may be a link to another: `FilesystemBackend`."""

    cwd: Path

    def real_path(self, path: str) -> str:
        """Follow links; what comes out is a path of the backend again."""


def place(backend: BackendProtocol, path: str) -> tuple[BackendProtocol, str, str]:
    """Find who answers for a path: the backend, the path as it knows it, and what it is below."""
    if isinstance(backend, Routed):
        for prefix, routed in backend.sorted_routes:
            above = prefix.rstrip("/")
            if path == above or path.startswith(f"{above}/"):
                return routed, path[len(above) :] or "/", above
        return backend.default, path, ""
    return backend, path, ""


def real_path(backend: BackendProtocol, path: str) -> str:
    """Say where a path leads when links are followed.

    Raises:
        ValueError: It leads out of what the backend may touch.
        OSError: It leads in a circle.
    """
    if isinstance(backend, Routed):
        owner, inner, above = place(backend, path)
        real = real_path(owner, inner)
        return validate_path(above + real) if above else real
    return validate_path(backend.real_path(path)) if isinstance(backend, Linked) else path


def folds_case(backend: BackendProtocol) -> bool:
    """Whether `/A` and `/a` may be the same file somewhere in a backend."""
    if isinstance(backend, Routed):
        return any(map(folds_case, (backend.default, *(b for _, b in backend.sorted_routes))))
    return isinstance(backend, Linked) and _folds(str(backend.cwd))


@lru_cache(maxsize=64)
def _folds(folder: str) -> bool:
    other = folder.swapcase()
    try:
        return other != folder and os.path.samefile(folder, other)  # noqa: PTH121  # a text
    except OSError:
        return False


def supports_execution(backend: BackendProtocol) -> bool:
    """Whether commands can be run where the files are; of many backends, the default counts."""
    at = backend.default if isinstance(backend, Routed) else backend
    return isinstance(at, SandboxBackendProtocol)


def artifacts_root(backend: BackendProtocol) -> str:
    """Return the folder for what is filed on the way, without a `/` at its end."""
    return str(getattr(backend, "artifacts_root", "/")).rstrip("/")
