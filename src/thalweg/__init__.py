"""Thalweg: conversations and tasks of any length inside a model's window, with nothing lost."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.context.settings import ContextPolicy
    from thalweg.middleware.context import ContextMiddleware

    __version__: str

__all__ = ["ContextMiddleware", "ContextPolicy"]

_HOMES = {
    "ContextMiddleware": "thalweg.middleware.context",
    "ContextPolicy": "thalweg.context.settings",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever is asked for)
    # Nothing is imported before it is used: LangChain alone takes more than a second.
    if name == "__version__":
        return import_module("importlib.metadata").version("thalweg")
    if name not in _HOMES:
        msg = f"module 'thalweg' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
