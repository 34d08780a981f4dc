"""Files in a LangGraph store: they outlive a thread and are shared by those who may."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from langgraph.config import get_store
from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore

from thalweg_agent.backends.calls.operations import (
    Answer,
    BackendOperation,
    OperationBackend,
    aperform,
    perform,
)
from thalweg_agent.backends.store_items import Namespace, StoreFiles, as_kept, validate_namespace

NamespaceFactory = Callable[[Runtime[Any]], Namespace]
"""Whose files they are, from the runtime of the run: its context, its user, its store."""


class StoreBackend(OperationBackend):
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
        runtime: Any = None
        with suppress(RuntimeError, KeyError):
            runtime = get_runtime()
        try:
            return validate_namespace(self._namespace(runtime))
        except AttributeError as missing:
            if runtime is not None:
                raise
            raise RuntimeError(_NO_RUNTIME) from missing

    def _files(self) -> StoreFiles:
        return StoreFiles(self._get_store(), as_kept(self._get_namespace()))

    def _perform(self, operation: BackendOperation[Answer]) -> Answer:
        return perform(self._files(), operation)

    async def _aperform(self, operation: BackendOperation[Answer]) -> Answer:
        return await aperform(self._files(), operation)


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
