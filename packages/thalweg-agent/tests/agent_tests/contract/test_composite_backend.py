"""Several backends as one keep every promise of a backend, each below its prefix."""

from pathlib import Path

import pytest
from langgraph.store.memory import InMemoryStore

from agent_tests.contract.suites.backends import BackendContract
from thalweg_agent.backends.composite import CompositeBackend
from thalweg_agent.backends.filesystem import FilesystemBackend
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.backends.store import StoreBackend


def composite(folder: Path) -> CompositeBackend:
    """Make a composite of a folder, a store, and another folder below the store."""
    (folder / "disk").mkdir()
    (folder / "deep").mkdir()
    return CompositeBackend(
        FilesystemBackend(folder / "disk"),
        {
            "/memories/": StoreBackend(store=InMemoryStore()),
            "/memories/shared/": FilesystemBackend(folder / "deep"),
        },
    )


class TestDefault(BackendContract):
    """Paths below no prefix."""

    home = "/work"

    @pytest.fixture
    def backend(self, tmp_path: Path) -> BackendProtocol:
        """Return an empty backend."""
        return composite(tmp_path)


class TestOnlyDefault(BackendContract):
    """Without any prefix."""

    @pytest.fixture
    def backend(self, tmp_path: Path) -> BackendProtocol:
        """Return an empty backend."""
        return CompositeBackend(FilesystemBackend(tmp_path), {})


class TestRoute(BackendContract):
    """Paths below a prefix, with another prefix next to them."""

    home = "/memories/mine"

    @pytest.fixture
    def backend(self, tmp_path: Path) -> BackendProtocol:
        """Return an empty backend."""
        return composite(tmp_path)


class TestDeepRoute(BackendContract):
    """Paths below a prefix that is below another."""

    home = "/memories/shared"

    @pytest.fixture
    def backend(self, tmp_path: Path) -> BackendProtocol:
        """Return an empty backend."""
        return composite(tmp_path)
