"""A folder with a shell next to it keeps every promise of a folder."""

from pathlib import Path

import pytest

from agent_tests.contract.suites.backends import BackendContract
from thalweg_agent.backends.local_shell import LocalShellBackend
from thalweg_agent.backends.protocol import BackendProtocol


class TestLocalShell(BackendContract):
    """Its own root for the file methods."""

    @pytest.fixture
    def backend(self, tmp_path: Path) -> BackendProtocol:
        """Return an empty backend."""
        return LocalShellBackend(tmp_path)
