"""Files in a LangGraph store: they outlive a thread and are shared by those who may."""

from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from typing import Any, Final

from langgraph.config import get_store
from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore

from thalweg.backends import store_items as items
from thalweg.backends.calls.flows import Flow, FlowBackend, Result, ago, go
from thalweg.backends.namespaces import Namespace, as_kept, validate_namespace
from thalweg.backends.paths import validate_path
from thalweg.backends.protocol import (
    GlobResult,
    GrepResult,
    LsResult,
)
from thalweg.backends.searches.matches import (
    entries_of,
    glob_matches_from_files,
    grep_matches_from_files,
)
from thalweg.errors import PathError

NamespaceFactory = Callable[[Runtime[Any]], Namespace]
"""Whose files they are, from the runtime of the run: its context, its user, its store."""


class StoreBackend(FlowBackend):
    """Files as items of a LangGraph `BaseStore`, by path, in one namespace.

    An edit reads and writes under a lock, so that no edit of another thread or task of this process
    is lost; stores have no locks between processes. Items of namespaces below this one belong to
    other owners and are never visible.

    Args:
        store: The store of the items; that of the run when `None`.
        namespace: The namespace of the files, or a function that returns it from the runtime.
            Outside of a run the function gets `None`.

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

    def _ls(self, path: str) -> Flow[LsResult]:
        try:
            folder = validate_path(path).rstrip("/") + "/"
        except PathError as refused:
            return LsResult(error=f"Path '{path}': {refused}")
        files = yield from items.all_files()
        return LsResult(entries=entries_of(files, folder))

    _read = staticmethod(items.read)
    _write = staticmethod(items.write)
    _edit = staticmethod(items.edit)
    _delete = staticmethod(items.delete)
    _upload_files = staticmethod(items.upload)
    _download_files = staticmethod(items.download)

    def _grep(
        self, pattern: str, path: str | None, glob: str | None, max_count: int | None
    ) -> Flow[GrepResult]:
        files = yield from items.all_files()
        return grep_matches_from_files(files, pattern, path, glob, max_count=max_count)

    def _glob(self, pattern: str, path: str | None) -> Flow[GlobResult]:
        return glob_matches_from_files((yield from items.all_files()), pattern, path)

    def _now(self, flow: Flow[Result]) -> Result:
        kept = items.StoreNamespace(self._get_store(), as_kept(self._get_namespace()))
        with ExitStack() as held:

            def perform(step: items.Step) -> object:
                if not isinstance(step, items.LockPath):
                    return kept.perform(step)
                held.close()
                return held.enter_context(kept.turnstile().at(step.path))

            return go(flow, perform)

    async def _later(self, flow: Flow[Result]) -> Result:
        kept = items.StoreNamespace(self._get_store(), as_kept(self._get_namespace()))
        async with AsyncExitStack() as held:

            async def perform(step: items.Step) -> object:
                if not isinstance(step, items.LockPath):
                    return await kept.aperform(step)
                await held.aclose()
                return await held.enter_async_context(kept.turnstile().at(step.path))

            return await ago(flow, perform)


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
