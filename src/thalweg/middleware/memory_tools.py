"""What an agent itself can do with its user's memory, where `mode: tool` says so."""

from collections.abc import Sequence

from langchain_core.tools import BaseTool

from thalweg.middleware.memory_binding import Binding


def memory_tools(binding: Binding) -> Sequence[BaseTool]:
    """Make the tools."""
    del binding
    return []
