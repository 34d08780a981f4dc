"""A place that only runs commands keeps every promise of a backend."""

from pathlib import Path

import pytest

from agent_tests.contract.suites.backends import BackendContract
from agent_tests.sandboxes import FolderSandbox
from thalweg_agent.backends.protocol import BackendProtocol


class TestSandbox(BackendContract):
    """Its `/` is a folder of the machine that it runs on."""

    @pytest.fixture
    def backend(self, tmp_path: Path) -> BackendProtocol:
        """Return an empty backend."""
        return FolderSandbox(tmp_path)
