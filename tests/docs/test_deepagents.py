"""The page for those who come from deepagents is correct."""

import re
from importlib import import_module
from pathlib import Path

from tests.examples.running import EXAMPLES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "deepagents.md").read_text(encoding="utf-8")


def test_the_names_it_promises_are_where_they_are_promised() -> None:
    """A table of names is checked, or it rots."""
    for home in ("thalweg_agent", "thalweg_agent.graph"):
        for name in ("create_deep_agent", "DeepAgentState"):
            assert hasattr(import_module(home), name), (home, name)
    backends = import_module("thalweg_agent.backends")
    protocol = import_module("thalweg_agent.backends.protocol")
    for name in re.findall(r"`(\w+Backend)`", PAGE.partition("## What is different")[0]):
        assert hasattr(backends, name) or hasattr(protocol, name), name
    for name in re.findall(r"`(\w+Middleware)`", PAGE.partition("## What is different")[0]):
        homes = ("filesystem", "subagents", "skills", "memory", "patch_tool_calls")
        modules = [import_module(f"thalweg_agent.middleware.{home}") for home in homes]
        assert any(hasattr(module, name) for module in modules), name


def test_the_examples_link_back() -> None:
    """Both lists of examples are one."""
    assert "deepagents" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
