"""Virtual files: one protocol for an agent's state, a folder, a store, a sandbox.

Two rules: errors are part of a result and explain what to do next; a path is absolute in every
result, and is the same file for every method.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.backends.bubblewrap import BubblewrapBackend
    from thalweg.backends.composite import CompositeBackend
    from thalweg.backends.container import ContainerBackend
    from thalweg.backends.context_hub import ContextHubBackend
    from thalweg.backends.filesystem import FilesystemBackend
    from thalweg.backends.langsmith import LangSmithSandbox
    from thalweg.backends.local_shell import DEFAULT_EXECUTE_TIMEOUT, LocalShellBackend
    from thalweg.backends.process_limits import Limits
    from thalweg.backends.protocol import BackendProtocol, SandboxBackendProtocol
    from thalweg.backends.sandbox import BaseSandbox
    from thalweg.backends.state import StateBackend
    from thalweg.backends.store import NamespaceFactory, StoreBackend

__all__ = [
    "DEFAULT_EXECUTE_TIMEOUT",
    "BackendProtocol",
    "BaseSandbox",
    "BubblewrapBackend",
    "CompositeBackend",
    "ContainerBackend",
    "ContextHubBackend",
    "FilesystemBackend",
    "LangSmithSandbox",
    "Limits",
    "LocalShellBackend",
    "NamespaceFactory",
    "SandboxBackendProtocol",
    "StateBackend",
    "StoreBackend",
]

_HOMES = {
    "DEFAULT_EXECUTE_TIMEOUT": "local_shell",
    "BackendProtocol": "protocol",
    "BaseSandbox": "sandbox",
    "BubblewrapBackend": "bubblewrap",
    "CompositeBackend": "composite",
    "ContainerBackend": "container",
    "FilesystemBackend": "filesystem",
    "Limits": "process_limits",
    "ContextHubBackend": "context_hub",
    "LangSmithSandbox": "langsmith",
    "LocalShellBackend": "local_shell",
    "NamespaceFactory": "store",
    "SandboxBackendProtocol": "protocol",
    "StateBackend": "state",
    "StoreBackend": "store",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 (whatever is asked for)
    # State and stores bring LangGraph; who keeps files in a folder does without.
    if name not in _HOMES:
        msg = f"module 'thalweg.backends' has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"thalweg.backends.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
