"""Concurrent use of a backend by several agents of a run, without overwriting unseen changes.

Two rules: a change over another agent's change that this one has not seen is refused, and both are
notified; an accepted change applies to the content at that moment.
"""

from collections.abc import Sequence
from typing import Any, cast

from thalweg_agent.backends.calls.operations import (
    Answer,
    BackendOperation,
    Delete,
    DownloadFiles,
    EditOperation,
    OperationSandbox,
    ReadOperation,
    WrappedBackend,
    WriteOperation,
    aperform,
    perform,
)
from thalweg_agent.backends.concurrency.child_files import RunningSubagent, child_of, with_notices
from thalweg_agent.backends.concurrency.file_access import ReadAccess, WriteAccess, digest
from thalweg_agent.backends.concurrency.file_versions import GONE
from thalweg_agent.backends.concurrency.run_context import here
from thalweg_agent.backends.protocol import BackendProtocol, SandboxBackendProtocol

__all__ = [
    "RunningSubagent",
    "SharedBackend",
    "SharedSandbox",
    "child_of",
    "shared",
    "with_notices",
]


def shared(backend: BackendProtocol) -> "SharedBackend":
    """Return the view of a backend that the tools of an agent use.

    A sandbox remains one. Operations that the model did not request go to the backend itself.
    """
    if isinstance(backend, SharedBackend):
        return backend
    if isinstance(backend, SandboxBackendProtocol):
        return SharedSandbox(backend)
    return SharedBackend(backend)


class SharedBackend(WrappedBackend):
    """A backend that tracks which agent saw and changed what, and refuses to undo it unseen.

    Outside of an agent, and in a graph whose state does not keep our channel, it is the backend
    itself. Changes by commands of a shell, and by other processes, are not tracked.
    """

    def _perform(self, operation: BackendOperation[Answer]) -> Answer:
        access = _access(operation)
        if not isinstance(access, WriteAccess):
            return _seen(access, perform(self.backend, operation))
        with access.alone():
            if (problem := access.problem()) is not None:
                return cast("Answer", operation.result(error=problem))
            return _noted(access, perform(self.backend, operation))

    async def _aperform(self, operation: BackendOperation[Answer]) -> Answer:
        access = _access(operation)
        if not isinstance(access, WriteAccess):
            return _seen(access, await aperform(self.backend, operation))
        async with access.alone():
            if (problem := access.problem()) is not None:
                return cast("Answer", operation.result(error=problem))
            return _noted(access, await aperform(self.backend, operation))


class SharedSandbox(SharedBackend, OperationSandbox):
    """A shared backend that also runs commands."""

    backend: SandboxBackendProtocol

    @property
    def id(self) -> str:
        """Return the unique name of this sandbox; see `SandboxBackendProtocol.id`."""
        return self.backend.id


_Tracked = ReadOperation | WriteOperation | EditOperation | Delete | DownloadFiles
"""Operations of a model; an upload is none."""


def _access(operation: BackendOperation[Any]) -> WriteAccess | Sequence[ReadAccess]:
    """Return the access of the agent that performs an operation; empty of none."""
    at = here() if isinstance(operation, _Tracked) else None
    if at is None or at.agent_files is None:
        return ()
    match operation:
        case WriteOperation(path, content):
            return WriteAccess(at, at.agent_files, path, "written", digest=digest(content))
        case EditOperation(path):
            return WriteAccess(at, at.agent_files, path, "edited")
        case Delete(path):
            return WriteAccess(at, at.agent_files, path, "deleted", digest=GONE)
        case ReadOperation(path):
            paths = [path]
        case DownloadFiles(paths):
            pass
        case _:
            paths = []
    return [ReadAccess(at, at.agent_files, path) for path in paths]


def _noted(act: WriteAccess, result: Answer) -> Answer:
    """Record a change, and return its result with the complete reason if it failed."""
    changed: Any = result
    changed.error = act.done(changed.error)
    return result


def _seen(accesses: Sequence[ReadAccess], result: Answer) -> Answer:
    """Record the files that were read, and return the result."""
    if accesses:
        results: list[Any] = result if isinstance(result, list) else [result]
        for access, each in zip(accesses, results, strict=True):
            access.done(each.error)
    return result
