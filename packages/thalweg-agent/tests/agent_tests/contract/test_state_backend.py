"""Files in an agent's state keep every promise of a backend."""

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.runnables.config import var_child_runnable_config
from langgraph._internal._constants import CONFIG_KEY_READ, CONFIG_KEY_SEND

from agent_tests.contract.suites.backends import BackendContract
from agent_tests.property.authors import Agent
from thalweg.errors import ConfigError
from thalweg_agent.backends.concurrency.shared import shared
from thalweg_agent.backends.concurrency.state_channel import merge_files
from thalweg_agent.backends.protocol import BackendProtocol
from thalweg_agent.backends.state import StateBackend


class TestState(BackendContract):
    """In a step of a graph whose state has our channel."""

    @pytest.fixture
    def backend(self) -> Iterator[BackendProtocol]:
        """Return an empty backend, in a tool call of an agent."""
        backend = StateBackend()
        with Agent(shared(backend)).acting():
            yield backend

    def test_the_root_is_not_deleted(self, backend: BackendProtocol) -> None:
        """A model that means one thing should not lose all."""
        backend.write("/a.txt", "x")

        assert "root" in (backend.delete("/").error or "")
        assert "root" in (backend.delete("/.//").error or "")
        assert backend.read("/a.txt").error is None


def test_a_text_in_the_input_is_a_file() -> None:
    """As a caller may pass it: `invoke({"files": {"/a.md": "text"}})`."""
    files = merge_files({}, [{"/a.md": "my text", "/b.md": None}])
    assert files == {"/a.md": {"content": "my text", "encoding": "utf-8"}}
    with pytest.raises(ConfigError, match=r"files: /b\.md is 5, which is not a file; pass its"):
        merge_files(files, [{"/b.md": 5}])


class TestSharedState(BackendContract):
    """As the tools of an agent see it."""

    @pytest.fixture
    def backend(self) -> Iterator[BackendProtocol]:
        """Return an empty backend, in a tool call of an agent."""
        backend = shared(StateBackend())
        with Agent(backend).acting():
            yield backend


class TestStateOfAnotherGraph(BackendContract):
    """In a step of a graph that merges files in its own way."""

    @pytest.fixture
    def backend(self) -> Iterator[BackendProtocol]:
        """Return an empty backend, in a step that sees what it wrote itself."""
        files: dict[str, Any] = {}

        def send(writes: list[tuple[str, Any]]) -> None:
            nonlocal files
            for _, delta in writes:
                files = dict(merge_files(files, [delta]))

        def read(_channel: str, _fresh: bool) -> dict[str, Any]:  # noqa: FBT001 (LangGraph's)
            return files

        at: Any = {"configurable": {CONFIG_KEY_READ: read, CONFIG_KEY_SEND: send}}
        token = var_child_runnable_config.set(at)
        yield StateBackend()
        var_child_runnable_config.reset(token)
