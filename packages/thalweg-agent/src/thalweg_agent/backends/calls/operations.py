"""The methods of a backend as values, so that what wraps or routes backends is written once.

`BlockingBackend` has the blocking file methods of the protocol and turns each call into a
`BackendOperation`, `OperationBackend` the awaited ones, too. A subclass performs operations;
`perform` and `aperform` have another backend do so.
"""

from abc import abstractmethod
from collections.abc import Callable, Coroutine
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from typing import Any, ClassVar, Concatenate, Generic, Literal, ParamSpec, TypeVar, cast

from thalweg_agent.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    ExecuteResponse,
    FileDownloadResponse,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    SandboxBackendProtocol,
    WriteResult,
    accepts_max_count,
    execute_accepts_timeout,
)

Answer = TypeVar("Answer")
_P = ParamSpec("_P")


@dataclass(frozen=True, slots=True)
class BackendOperation(Generic[Answer]):
    """One call of a backend's method; the fields are the method's parameters, in its order."""

    method: ClassVar[str]
    """Name of the blocking method; its awaited twin has an `a` in front."""

    result: ClassVar[type]
    """Type of the result, or of each item of a list of results."""

    def call(self, backend: object, prefix: Literal["", "a"] = "") -> Any:  # noqa: ANN401  # of any package
        """Call the method of a backend, which may be one of another package.

        An option that is `None`, or that the backend's method does not accept, is omitted.

        Args:
            backend: Has the methods of `BackendProtocol`.
            prefix: `a` for the awaited twin.

        Raises:
            NotImplementedError: The backend has no such method.
        """
        name = prefix + self.method
        method = getattr(backend, name, None)
        if method is None:
            message = f"{type(backend).__name__} has no method {name}"
            raise NotImplementedError(message)
        values, named = self.arguments()
        options = {
            option: value
            for option, value in named.items()
            if value is not None and _takes(type(backend), prefix, option)
        }
        return method(*values, **options)

    def on(self, owner: object) -> Any:  # noqa: ANN401  # as its method returns
        """Call the method of an object whose name is that of the operation after a `_`.

        Raises:
            NotImplementedError: The object has no such method.
        """
        method = getattr(owner, f"_{self.method}", None)
        if method is None:
            raise NotImplementedError(self.method)
        values, named = self.arguments()
        return method(*values, **named)

    def arguments(self) -> tuple[list[Any], dict[str, Any]]:
        """Return the positional arguments, and by name those that have a default."""
        values = [(each, getattr(self, each.name)) for each in fields(self)]
        return (
            [value for each, value in values if each.default is MISSING],
            {each.name: value for each, value in values if each.default is not MISSING},
        )


def _takes(kind: Any, prefix: Literal["", "a"], option: str) -> bool:  # noqa: ANN401  # a class of any package
    """Whether a backend's method takes an option; those of older protocols lack two."""
    match option:
        case "max_count":
            return accepts_max_count(kind, "agrep" if prefix else "grep")
        case "timeout":
            return execute_accepts_timeout(kind)
        case _:
            return True


@dataclass(frozen=True, slots=True)
class Ls(BackendOperation[LsResult]):
    """A call of `BackendProtocol.ls`."""

    method: ClassVar[str] = "ls"
    result: ClassVar[type] = LsResult
    path: str


@dataclass(frozen=True, slots=True)
class ReadOperation(BackendOperation[ReadResult]):
    """A call of `BackendProtocol.read`."""

    method: ClassVar[str] = "read"
    result: ClassVar[type] = ReadResult
    file_path: str
    offset: int = 0
    limit: int = 2000


@dataclass(frozen=True, slots=True)
class Grep(BackendOperation[GrepResult]):
    """A call of `BackendProtocol.grep`."""

    method: ClassVar[str] = "grep"
    result: ClassVar[type] = GrepResult
    pattern: str
    path: str | None = None
    glob: str | None = None
    max_count: int | None = None


@dataclass(frozen=True, slots=True)
class Glob(BackendOperation[GlobResult]):
    """A call of `BackendProtocol.glob`."""

    method: ClassVar[str] = "glob"
    result: ClassVar[type] = GlobResult
    pattern: str
    path: str | None = None


@dataclass(frozen=True, slots=True)
class WriteOperation(BackendOperation[WriteResult]):
    """A call of `BackendProtocol.write`."""

    method: ClassVar[str] = "write"
    result: ClassVar[type] = WriteResult
    file_path: str
    content: str


@dataclass(frozen=True, slots=True)
class EditOperation(BackendOperation[EditResult]):
    """A call of `BackendProtocol.edit`."""

    method: ClassVar[str] = "edit"
    result: ClassVar[type] = EditResult
    file_path: str
    old_string: str
    new_string: str
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class Delete(BackendOperation[DeleteResult]):
    """A call of `BackendProtocol.delete`."""

    method: ClassVar[str] = "delete"
    result: ClassVar[type] = DeleteResult
    file_path: str


@dataclass(frozen=True, slots=True)
class UploadFiles(BackendOperation[list[FileUploadResponse]]):
    """A call of `BackendProtocol.upload_files`."""

    method: ClassVar[str] = "upload_files"
    result: ClassVar[type] = FileUploadResponse
    files: list[tuple[str, bytes]]


@dataclass(frozen=True, slots=True)
class DownloadFiles(BackendOperation[list[FileDownloadResponse]]):
    """A call of `BackendProtocol.download_files`."""

    method: ClassVar[str] = "download_files"
    result: ClassVar[type] = FileDownloadResponse
    paths: list[str]


@dataclass(frozen=True, slots=True)
class Execute(BackendOperation[ExecuteResponse]):
    """A call of `SandboxBackendProtocol.execute`."""

    method: ClassVar[str] = "execute"
    result: ClassVar[type] = ExecuteResponse
    command: str
    timeout: int | None = None


def perform(backend: BackendProtocol, operation: BackendOperation[Answer]) -> Answer:
    """Call the blocking method of a backend and return its result."""
    return cast("Answer", operation.call(backend))


async def aperform(backend: BackendProtocol, operation: BackendOperation[Answer]) -> Answer:
    """Call the awaited method of a backend and return its result."""
    return cast("Answer", await operation.call(backend, "a"))


def _performed(
    method: Callable[Concatenate[Any, _P], Answer], operation: type[BackendOperation[Answer]]
) -> Callable[Concatenate[Any, _P], Answer]:
    """Make a blocking method, with the signature and docstring of the protocol's."""

    @wraps(method)
    def perform_it(self: "BlockingBackend", /, *args: _P.args, **kwargs: _P.kwargs) -> Answer:
        return self._perform(operation(*args, **kwargs))

    return perform_it


def _awaited(
    method: Callable[Concatenate[Any, _P], Coroutine[Any, Any, Answer]],
    operation: type[BackendOperation[Answer]],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, Answer]]:
    """Make the awaited twin; see `_performed`."""

    @wraps(method)
    async def perform_it(
        self: "OperationBackend", /, *args: _P.args, **kwargs: _P.kwargs
    ) -> Answer:
        return await self._aperform(operation(*args, **kwargs))

    return perform_it


class BlockingBackend(BackendProtocol):
    """A backend whose blocking file methods are all performed by one; the awaited ones run them.

    Without a `_perform` of its own, a subclass has a method `_METHOD` for each operation, with the
    operation's fields.
    """

    def _perform(self, operation: BackendOperation[Answer]) -> Answer:
        """Perform an operation by blocking calls."""
        return cast("Answer", operation.on(self))

    ls = _performed(BackendProtocol.ls, Ls)
    read = _performed(BackendProtocol.read, ReadOperation)
    grep = _performed(BackendProtocol.grep, Grep)
    glob = _performed(BackendProtocol.glob, Glob)
    write = _performed(BackendProtocol.write, WriteOperation)
    edit = _performed(BackendProtocol.edit, EditOperation)
    delete = _performed(BackendProtocol.delete, Delete)
    upload_files = _performed(BackendProtocol.upload_files, UploadFiles)
    download_files = _performed(BackendProtocol.download_files, DownloadFiles)


class OperationBackend(BlockingBackend):
    """A backend whose awaited file methods are all performed by one method, too."""

    @abstractmethod
    async def _aperform(self, operation: BackendOperation[Answer]) -> Answer:
        """Perform an operation by awaited calls."""

    als = _awaited(BackendProtocol.als, Ls)
    aread = _awaited(BackendProtocol.aread, ReadOperation)
    agrep = _awaited(BackendProtocol.agrep, Grep)
    aglob = _awaited(BackendProtocol.aglob, Glob)
    awrite = _awaited(BackendProtocol.awrite, WriteOperation)
    aedit = _awaited(BackendProtocol.aedit, EditOperation)
    adelete = _awaited(BackendProtocol.adelete, Delete)
    aupload_files = _awaited(BackendProtocol.aupload_files, UploadFiles)
    adownload_files = _awaited(BackendProtocol.adownload_files, DownloadFiles)


class WrappedBackend(OperationBackend):
    """A backend around another one, whose other attributes are its own."""

    def __init__(self, backend: Any) -> None:  # noqa: ANN401  # may be of another package
        self.backend = backend
        """The object whose methods are called."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the backend has
        if name == "backend":  # while a copy is made, nothing is there yet
            raise AttributeError(name)
        return getattr(self.backend, name)


class OperationSandbox(OperationBackend, SandboxBackendProtocol):
    """The same for a backend that also runs commands."""

    execute = _performed(SandboxBackendProtocol.execute, Execute)
    aexecute = _awaited(SandboxBackendProtocol.aexecute, Execute)
