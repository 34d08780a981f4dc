"""Thalweg: threads of any length inside a model's window; what leaves it can be read back."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg.context.middleware import ContextMiddleware
    from thalweg.context.turn.thread_deletion import adelete_thread, delete_thread
    from thalweg.engine.settings import ContextPolicy

    __version__: str

__all__ = ["ContextMiddleware", "ContextPolicy", "adelete_thread", "delete_thread"]

_load_export, _export_names = lazy_exports(
    __name__,
    {
        "ContextMiddleware": "thalweg.context.middleware",
        "ContextPolicy": "thalweg.engine.settings",
        "adelete_thread": "thalweg.context.turn.thread_deletion",
        "delete_thread": "thalweg.context.turn.thread_deletion",
    },
)


def __getattr__(name: str) -> Any:  # noqa: ANN401 (any name of a module)
    if name == "__version__":
        return import_module("importlib.metadata").version("thalweg")
    return _load_export(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_export_names(), "__version__"})
