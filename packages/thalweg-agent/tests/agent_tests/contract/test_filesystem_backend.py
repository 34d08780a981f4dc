"""A folder on disk keeps every promise of a backend."""

from pathlib import Path

import pytest

from agent_tests.contract.suites.backends import BackendContract
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.protocol import BackendProtocol


class TestFolder(BackendContract):
    """Its own root, and nothing outside it."""

    @pytest.fixture
    def backend(self, tmp_path: Path) -> BackendProtocol:
        """Return an empty backend."""
        return FilesystemBackend(tmp_path)


class TestFolderByName(TestFolder):
    """The same where a platform cannot open a file relative to an open folder."""

    @pytest.fixture(autouse=True)
    def no_walking(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Do as on such a platform."""
        monkeypatch.setattr("thalweg_agent.backends.filesystem.CAN_WALK", False)


class TestWholeMachine(BackendContract):
    """Without virtual mode paths are those of the machine, and may climb."""

    confined = False

    @pytest.fixture
    def backend(self, tmp_path: Path) -> BackendProtocol:
        """Return an empty folder of the machine, and take it as home."""
        self.home = str(tmp_path)
        return FilesystemBackend(tmp_path, virtual_mode=False)
