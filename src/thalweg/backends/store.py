"""Files in a LangGraph store: they outlive a thread and are shared by those who may."""

from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from typing import Any, Final, TypeVar

from langgraph.config import get_store
from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore

from thalweg.backends import store_items as items
from thalweg.backends.matches import (
    file_info,
    glob_matches_from_files,
    grep_matches_from_files,
)
from thalweg.backends.namespaces import Namespace, as_kept, validate_namespace
from thalweg.backends.paths import validate_path
from thalweg.backends.protocol import (
    BackendProtocol,
    DeleteResult,
    EditResult,
    FileDownloadResponse,
    FileInfo,
    FileUploadResponse,
    GlobResult,
    GrepResult,
    LsResult,
    ReadResult,
    WriteResult,
)
from thalweg.errors import PathError

NamespaceFactory = Callable[[Runtime[Any]], Namespace]
"""Whose files they are, from the runtime of the run: its context, its user, its store."""

Result = TypeVar("Result")


class StoreBackend(BackendProtocol):
    """Files as items of a LangGraph `BaseStore`, by path, in one namespace.

    An edit reads and writes under a lock, so that no edit of another thread or task of this
    process is lost; stores know no such thing between processes. Items of namespaces below
    this one belong to others and are never seen.

    Args:
        store: Where the items are; the store of the run when `None`.
        namespace: Whose files they are, or how to know from the runtime. Outside of a run the
            factory is given `None`.

    Example:
        >>> from langgraph.store.memory import InMemoryStore
        >>> backend = StoreBackend(store=InMemoryStore(), namespace=lambda _: ("notes", "ann"))
        >>> backend.write("/a.md", "hello").path
        '/a.md'
    """

    def __init__(
        self,
        *,
        namespace: NamespaceFactory | Namespace | None = None,
        store: BaseStore | None = None,
    ) -> None:
        self._store = store
        self._namespace = namespace

    def _get_store(self) -> BaseStore:
        if self._store is not None:
            return self._store
        try:
            return get_store()
        except (RuntimeError, KeyError):
            raise RuntimeError(_NO_STORE) from None

    def _get_namespace(self) -> Namespace:
        if self._namespace is None:
            return ("filesystem",)
        if not callable(self._namespace):
            return validate_namespace(self._namespace)
        try:
            runtime = get_runtime()
        except (RuntimeError, KeyError):
            # A factory that asks nothing of it does without.
            return validate_namespace(self._without_runtime(self._namespace))
        return validate_namespace(self._namespace(runtime))

    @staticmethod
    def _without_runtime(factory: Callable[[Any], Namespace]) -> Namespace:
        try:
            return factory(None)
        except AttributeError as missing:
            raise RuntimeError(_NO_RUNTIME) from missing

    def ls(self, path: str) -> LsResult:
        """See `BackendProtocol.ls`; a folder of nothing is empty, not missing."""
        return self._now(self._ls(path))

    async def als(self, path: str) -> LsResult:
        """See `ls`."""
        return await self._later(self._ls(path))

    def _ls(self, path: str) -> items.Flow[LsResult]:
        try:
            folder = validate_path(path).rstrip("/") + "/"
        except PathError as refused:
            return LsResult(error=f"Path '{path}': {refused}")
        files = yield from items.all_files()
        entries: dict[str, FileInfo] = {}
        for name, file_data in files.items():
            if not name.startswith(folder):
                continue
            first, slash, _ = name[len(folder) :].partition("/")
            entry = folder + first + slash
            entries[entry] = (
                FileInfo(path=entry, is_dir=True, size=0, modified_at="")
                if slash
                else file_info(entry, file_data)
            )
        return LsResult(entries=[entries[entry] for entry in sorted(entries)])

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `BackendProtocol.read`."""
        return self._now(items.read(file_path, offset, limit))

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """See `read`."""
        return await self._later(items.read(file_path, offset, limit))

    def write(self, file_path: str, content: str) -> WriteResult:
        """See `BackendProtocol.write`."""
        return self._now(items.write(file_path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        """See `write`."""
        return await self._later(items.write(file_path, content))

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the protocol's
    ) -> EditResult:
        """See `BackendProtocol.edit`."""
        return self._now(items.edit(file_path, old_string, new_string, replace_all=replace_all))

    async def aedit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,  # noqa: FBT001, FBT002  # the protocol's
    ) -> EditResult:
        """See `edit`."""
        return await self._later(
            items.edit(file_path, old_string, new_string, replace_all=replace_all)
        )

    def delete(self, file_path: str) -> DeleteResult:
        """See `BackendProtocol.delete`."""
        return self._now(items.delete(file_path))

    async def adelete(self, file_path: str) -> DeleteResult:
        """See `delete`."""
        return await self._later(items.delete(file_path))

    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `BackendProtocol.grep`."""
        files = self._now(items.all_files())
        return grep_matches_from_files(files, pattern, path, glob, max_count=max_count)

    async def agrep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> GrepResult:
        """See `grep`."""
        files = await self._later(items.all_files())
        return grep_matches_from_files(files, pattern, path, glob, max_count=max_count)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `BackendProtocol.glob`."""
        return glob_matches_from_files(self._now(items.all_files()), pattern, path)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        """See `glob`."""
        return glob_matches_from_files(await self._later(items.all_files()), pattern, path)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `BackendProtocol.upload_files`; what is no UTF-8 is kept as base64."""
        return self._now(items.upload(files))

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """See `upload_files`."""
        return await self._later(items.upload(files))

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `BackendProtocol.download_files`."""
        return self._now(items.download(paths))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """See `download_files`."""
        return await self._later(items.download(paths))

    def _now(self, flow: items.Flow[Result]) -> Result:
        kept = items.Kept(self._get_store(), as_kept(self._get_namespace()))
        with ExitStack() as held:
            try:
                step = next(flow)
                while True:
                    if isinstance(step, items.Turn):
                        held.close()
                        held.enter_context(kept.turnstile().at(step.path))
                        step = flow.send(None)
                    else:
                        step = flow.send(kept.perform(step))
            except StopIteration as done:
                result: Result = done.value
                return result

    async def _later(self, flow: items.Flow[Result]) -> Result:
        kept = items.Kept(self._get_store(), as_kept(self._get_namespace()))
        async with AsyncExitStack() as held:
            try:
                step = next(flow)
                while True:
                    if isinstance(step, items.Turn):
                        await held.aclose()
                        await held.enter_async_context(kept.turnstile().at(step.path))
                        step = flow.send(None)
                    else:
                        step = flow.send(await kept.aperform(step))
            except StopIteration as done:
                result: Result = done.value
                return result


_NO_STORE: Final = (
    "StoreBackend must be used inside a LangGraph graph execution (e.g. via create_deep_agent), "
    "or initialized with an explicit store and namespace: "
    "StoreBackend(store=my_store, namespace=lambda _rt: ('filesystem',))"
)
_NO_RUNTIME: Final = (
    "The namespace factory tried to read the Runtime, but it is unavailable (running outside a "
    "LangGraph graph execution). Use StoreBackend inside a graph (e.g. via create_deep_agent), "
    "or pass a namespace factory that does not read the Runtime."
)
