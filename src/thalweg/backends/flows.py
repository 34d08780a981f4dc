"""What is written once and done in two ways, by blocking calls and by awaited ones.

A flow is a generator: it yields the next step, is sent what came of it, and returns its result.
What a step is, and how it is done, is for whoever goes through the flow.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar

from thalweg.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)

Step = TypeVar("Step")
Result = TypeVar("Result")
Flow = Generator[Any, Any, Result]
"""Steps of some kind, and the result."""
Errors = tuple[type[Exception], ...]


def go(
    flow: Generator[Step, Any, Result], perform: Callable[[Step], object], told: Errors = ()
) -> Result:
    """Go through a flow by blocking calls.

    Args:
        flow: What is to be done.
        perform: Does a step.
        told: Errors of a step that the flow hears of; others end it.

    Example:
        >>> def twice():
        ...     first = yield 1
        ...     return first + (yield 10)
        >>> go(twice(), lambda step: step * 2)
        22
    """
    try:
        step = next(flow)
        while True:
            try:
                came = perform(step)
            except told as error:
                step = flow.throw(error)
            else:
                step = flow.send(came)
    except StopIteration as end:
        result: Result = end.value
        return result


async def ago(
    flow: Generator[Step, Any, Result],
    perform: Callable[[Step], Awaitable[object]],
    told: Errors = (),
) -> Result:
    """See `go`; each step is awaited."""
    try:
        step = next(flow)
        while True:
            try:
                came = await perform(step)
            except told as error:
                step = flow.throw(error)
            else:
                step = flow.send(came)
    except StopIteration as end:
        result: Result = end.value
        return result


class FlowBackend(BackendProtocol):
    """A backend whose file methods are flows.

    A subclass writes each of them once, and says how a flow is gone through.
    """

    @abstractmethod
    def _now(self, flow: Flow[Result]) -> Result:
        """Go through a flow by blocking calls."""

    @abstractmethod
    async def _later(self, flow: Flow[Result]) -> Result:
        """Go through a flow by awaited calls."""

    @abstractmethod
    def _ls(self, path: str) -> Flow[LsResult]: ...

    @abstractmethod
    def _read(self, path: str, offset: int, limit: int) -> Flow[ReadResult]: ...

    @abstractmethod
    def _write(self, path: str, content: str) -> Flow[WriteResult]: ...

    @abstractmethod
    def _edit(self, path: str, old: str, new: str, *, replace_all: bool) -> Flow[EditResult]: ...

    @abstractmethod
    def _delete(self, path: str) -> Flow[DeleteResult]: ...

    @abstractmethod
    def _grep(
        self, pattern: str, path: str | None, glob: str | None, max_count: int | None
    ) -> Flow[GrepResult]: ...

    @abstractmethod
    def _glob(self, pattern: str, path: str | None) -> Flow[GlobResult]: ...

    def ls(self, path: str) -> LsResult:
        """See `BackendProtocol.ls`."""
        return self._now(self._ls(path))

    async def als(self, path: str) -> LsResult:
        """See `ls`."""
        return await self._later(self._ls(path))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `BackendProtocol.read`."""
        return self._now(self._read(file_path, offset, limit))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `read`."""
        return await self._later(self._read(file_path, offset, limit))

    def write(self, file_path: str, content: str) -> WriteResult:
        """See `BackendProtocol.write`."""
        return self._now(self._write(file_path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """See `write`."""
        return await self._later(self._write(file_path, content))

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the protocol's
    ) -> EditResult:
        """See `BackendProtocol.edit`."""
        return self._now(self._edit(file_path, old_string, new_string, replace_all=replace_all))

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the protocol's
    ) -> EditResult:
        """See `edit`."""
        flow = self._edit(file_path, old_string, new_string, replace_all=replace_all)
        return await self._later(flow)

    def delete(self, file_path: str) -> DeleteResult:
        """See `BackendProtocol.delete`."""
        return self._now(self._delete(file_path))

    async def adelete(self, file_path: str) -> DeleteResult:
        """See `delete`."""
        return await self._later(self._delete(file_path))

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `BackendProtocol.grep`."""
        return self._now(self._grep(pattern, path, glob, max_count))

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `grep`."""
        return await self._later(self._grep(pattern, path, glob, max_count))

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `BackendProtocol.glob`."""
        return self._now(self._glob(pattern, path))

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `glob`."""
        return await self._later(self._glob(pattern, path))
