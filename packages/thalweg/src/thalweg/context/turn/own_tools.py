"""Our tools in the requests of one turn: whether they are there, and that they are ours.

A reference implies that the tool which reads it is in the request (I51). Without a reference, an
agent without tools remains without them (I52); see decision 0072.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_core.tools import BaseTool

from thalweg.context.ready_tools import Tool, tool_name
from thalweg.context.request.last_check import with_tool
from thalweg.context.request.tool_support import can_bind_tools, denies_tools
from thalweg.context.turn.context_tools import ContextTool
from thalweg.engine.settings import ContextPolicy
from thalweg.errors import ConfigError


@dataclass(slots=True)
class OwnTools:
    """The tools of a request, the user's and ours."""

    given: tuple[Tool, ...]
    """As the request came: other middleware may have removed some."""
    registered: Mapping[str, BaseTool]
    """Ours that the agent can execute, by name."""
    policy: ContextPolicy
    is_taken: bool
    """Whether the model accepts our tools."""
    others: tuple[Tool, ...] = field(init=False)
    """Those that are not ours."""

    def __post_init__(self) -> None:
        self.others = tuple(tool for tool in self.given if not isinstance(tool, ContextTool))

    @classmethod
    def of(
        cls,
        request: ModelRequest[Any],
        registered: Sequence[BaseTool],
        policy: ContextPolicy,
        *,
        is_refused: bool = False,
    ) -> "OwnTools":
        """Read the tools of a request.

        Args:
            request: The request, before ours are removed or added.
            registered: Ours that the agent can execute.
            policy: When ours are sent.
            is_refused: Whether the model refused tools before.

        Raises:
            ConfigError: Another tool has the name of one of ours.
        """
        known = {tool.name: tool for tool in registered}
        for tool in request.tools:
            name = tool_name(tool)
            if name in known and not isinstance(tool, ContextTool):
                raise _taken_name(str(name), policy)
        model = request.model
        denied = policy.tools != "on" and denies_tools(model)
        is_taken = bool(known) and not is_refused and not denied and can_bind_tools(model)
        return cls(tuple(request.tools), known, policy, is_taken)

    @property
    def recall(self) -> BaseTool | None:
        """The tool that reads references, if the model takes it."""
        return self.registered.get(self.policy.tool_names.recall) if self.is_taken else None

    @property
    def reference(self) -> str:
        """The name that references have; empty if they are notes."""
        return "" if self.recall is None else self.recall.name

    def sent(self, *, refers: bool) -> list[Tool]:
        """Return the tools to send.

        Args:
            refers: Whether the request has a reference.
        """
        if refers and self.recall is not None:
            return with_tool(self.given, self.recall)
        always = self.policy.tools == "on" or bool(self.others)
        return [*self.given] if always and self.recall is not None else [*self.others]


def _taken_name(name: str, policy: ContextPolicy) -> ConfigError:
    setting = next(own for own, named in policy.tool_names.model_dump().items() if named == name)
    return ConfigError(
        "tools",
        f"two tools are named {name!r}: yours, and the one of ContextMiddleware that "
        "references in requests name",
        f'rename ours, ContextPolicy(tool_names={{"{setting}": "{setting}_context"}}), or leave it '
        'out, ContextPolicy(tools="off")',
    )
