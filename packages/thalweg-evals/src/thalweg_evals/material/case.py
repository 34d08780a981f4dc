"""The shared parts of the package's cases: their tools, and a model's use of requested pages."""

from functools import cached_property
from typing import ClassVar

from langchain_core.tools import BaseTool, StructuredTool

from thalweg_evals.material.paging import is_page, turn_page
from thalweg_evals.scripted.moves import Move, View


class ScriptedCase:
    """A case whose tools are methods of it, and in which scripted models can take part."""

    system_prompt: str = ""
    gist: tuple[str, ...] = ()
    tool_names: ClassVar[tuple[str, ...]] = ()
    """Methods that the agent gets as tools."""

    @cached_property
    def tools(self) -> tuple[BaseTool, ...]:
        """Tools besides those that the conversation brings."""
        methods = (getattr(self, name) for name in self.tool_names)
        return tuple(StructuredTool.from_function(one, handle_tool_error=True) for one in methods)

    def act(self, view: View) -> Move:
        """Return the page that the user requests, or else the move of the case."""
        return turn_page(view) if is_page(view) else self.move(view)

    def move(self, view: View) -> Move:
        """Decide the move of a model that understands the case."""
        raise NotImplementedError
