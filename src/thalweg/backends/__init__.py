"""Virtual files: one protocol for an agent's state, a folder, a store, a sandbox.

Two rules: errors are part of a result and explain what to do next; a path is absolute in every
result, and is the same file for every method.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazily

if TYPE_CHECKING:
    from thalweg.backends.bubblewrap import BubblewrapBackend
    from thalweg.backends.composite import CompositeBackend
    from thalweg.backends.container import ContainerBackend
    from thalweg.backends.filesystem import FilesystemBackend
    from thalweg.backends.local.process_limits import ProcessLimits
    from thalweg.backends.local_shell import DEFAULT_EXECUTE_TIMEOUT, LocalShellBackend
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
    "FilesystemBackend",
    "LocalShellBackend",
    "NamespaceFactory",
    "ProcessLimits",
    "SandboxBackendProtocol",
    "StateBackend",
    "StoreBackend",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "BackendProtocol": "thalweg.backends.protocol",
        "BaseSandbox": "thalweg.backends.sandbox",
        "BubblewrapBackend": "thalweg.backends.bubblewrap",
        "CompositeBackend": "thalweg.backends.composite",
        "ContainerBackend": "thalweg.backends.container",
        "DEFAULT_EXECUTE_TIMEOUT": "thalweg.backends.local_shell",
        "FilesystemBackend": "thalweg.backends.filesystem",
        "ProcessLimits": "thalweg.backends.local.process_limits",
        "LocalShellBackend": "thalweg.backends.local_shell",
        "NamespaceFactory": "thalweg.backends.store",
        "SandboxBackendProtocol": "thalweg.backends.protocol",
        "StateBackend": "thalweg.backends.state",
        "StoreBackend": "thalweg.backends.store",
    },
)
