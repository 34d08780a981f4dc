"""Backends of other packages, recognized by their methods and not by their class.

Every sandbox package for Deep Agents (Daytona, Modal, Runloop, Vercel) subclasses a class of that
package. An adapter calls such a backend's methods and returns results of this package.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final, cast

from thalweg.errors import ConfigError
from thalweg_agent.backends.calls.operations import (
    Answer,
    BackendOperation,
    DownloadFiles,
    OperationSandbox,
    UploadFiles,
    WrappedBackend,
)
from thalweg_agent.backends.protocol import BackendProtocol

FILE_METHODS: Final = ("ls", "read", "write", "edit", "glob", "grep")
"""Methods that an object must have to be accepted as a backend; each has an awaited twin."""


class BackendKindError(ConfigError, TypeError):
    """An object passed as a backend lacks the methods of one."""


def as_backend(backend: object) -> BackendProtocol:
    """Return a backend of this package: the same object, or a wrapper of another one.

    A backend of ours is returned as it is. Another object with the file methods is wrapped; one
    that also has `execute` and `id` is a sandbox.

    Raises:
        BackendKindError: The object lacks methods.

    Example:
        >>> as_backend({"/a.txt": "text"})
        Traceback (most recent call last):
        thalweg_agent.backends.calls.foreign.BackendKindError: backend must be an initialized \
backend instance: dict has no ls, read, write, edit, glob, grep; pass StateBackend() or another \
backend
    """
    if isinstance(backend, BackendProtocol):
        return backend
    missing = [name for name in FILE_METHODS if not _has(backend, name)]
    if isinstance(backend, type) or missing:
        raise _no_backend(backend, missing)
    return ForeignSandbox(backend) if _has_shell(backend) else ForeignBackend(backend)


def _no_backend(backend: object, missing: Sequence[str]) -> BackendKindError:
    what = "backend must be an initialized backend instance"
    problem = f"{type(backend).__name__} has no {', '.join(missing)}"
    if callable(backend):
        problem = "Backend factories were removed in deepagents 0.7, and there are none here"
    return BackendKindError(what, problem, "pass StateBackend() or another backend")


def _has(backend: object, method: str) -> bool:
    return callable(getattr(backend, method, None)) and callable(
        getattr(backend, f"a{method}", None)
    )


def _has_shell(backend: object) -> bool:
    """Whether commands can be run; of a composite backend, the default counts."""
    shell = getattr(backend, "default", backend)
    return _has(backend, "execute") and _has(shell, "execute") and hasattr(shell, "id")


class ForeignBackend(WrappedBackend):
    """A backend of another package.

    Args:
        backend: Has the methods of `BackendProtocol`, and returns objects whose attributes are
            those of its result types.

    Raises:
        TypeError: A result lacks an attribute that its type requires.
    """

    def _perform(self, operation: BackendOperation[Answer]) -> Answer:
        return _converted(operation, operation.call(self.backend))

    async def _aperform(self, operation: BackendOperation[Answer]) -> Answer:
        return _converted(operation, await operation.call(self.backend, "a"))


class ForeignSandbox(ForeignBackend, OperationSandbox):
    """A backend of another package that also runs commands."""

    @property
    def id(self) -> str:
        """Return the unique name of this sandbox; see `SandboxBackendProtocol.id`."""
        return str(getattr(self.backend, "default", self.backend).id)


def _converted(operation: BackendOperation[Answer], result: object) -> Answer:
    """Convert the result of an operation to this package's types."""
    kind = operation.result
    if operation.method in {UploadFiles.method, DownloadFiles.method}:
        return cast("Answer", [_as(kind, item) for item in cast("list[object]", result)])
    return cast("Answer", _as(kind, result))


def _as(kind: type[Any], result: object) -> object:
    """Return a result of this package with the attributes of another package's result."""
    if isinstance(result, kind):
        return result
    names = [field.name for field in fields(kind)]
    known = {name: getattr(result, name) for name in names if hasattr(result, name)}
    if not known:
        message = f"a backend returned {type(result).__name__}, not {kind.__name__}"
        raise TypeError(message)
    return kind(**known)
