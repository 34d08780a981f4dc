"""Virtual files: one protocol for an agent's state, a folder, a store, a sandbox.

Two rules: errors are part of a result and explain what to do next; a path is absolute in every
result, and is the same file for every method.
"""

from typing import TYPE_CHECKING

from thalweg.engine.lazy import lazy_exports

if TYPE_CHECKING:
    from thalweg_agent.backends.bubblewrap import BubblewrapBackend
    from thalweg_agent.backends.composite import CompositeBackend
    from thalweg_agent.backends.container import ContainerBackend
    from thalweg_agent.backends.filesystem import FilesystemBackend
    from thalweg_agent.backends.local.process_limits import ProcessLimits
    from thalweg_agent.backends.local_shell import DEFAULT_EXECUTE_TIMEOUT, LocalShellBackend
    from thalweg_agent.backends.protocol import BackendProtocol, SandboxBackendProtocol
    from thalweg_agent.backends.sandbox import BaseSandbox
    from thalweg_agent.backends.state import StateBackend
    from thalweg_agent.backends.store import NamespaceFactory, StoreBackend
    from thalweg_agent.backends.thread_files import TranscriptBackend

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
    "TranscriptBackend",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "BackendProtocol": "thalweg_agent.backends.protocol",
        "BaseSandbox": "thalweg_agent.backends.sandbox",
        "BubblewrapBackend": "thalweg_agent.backends.bubblewrap",
        "CompositeBackend": "thalweg_agent.backends.composite",
        "ContainerBackend": "thalweg_agent.backends.container",
        "DEFAULT_EXECUTE_TIMEOUT": "thalweg_agent.backends.local_shell",
        "FilesystemBackend": "thalweg_agent.backends.filesystem",
        "ProcessLimits": "thalweg_agent.backends.local.process_limits",
        "LocalShellBackend": "thalweg_agent.backends.local_shell",
        "NamespaceFactory": "thalweg_agent.backends.store",
        "SandboxBackendProtocol": "thalweg_agent.backends.protocol",
        "StateBackend": "thalweg_agent.backends.state",
        "StoreBackend": "thalweg_agent.backends.store",
        "TranscriptBackend": "thalweg_agent.backends.thread_files",
    },
)
