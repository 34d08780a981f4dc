"""The tool that runs a command where the files are."""

from typing import cast

from thalweg.backends.composite import CompositeBackend
from thalweg.backends.protocol import (
    BackendProtocol,
    ExecuteArtifact,
    ExecuteOffloadResult,
    ExecuteResponse,
    SandboxBackendProtocol,
    execute_accepts_timeout,
)
