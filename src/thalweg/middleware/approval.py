"""Which calls a person is asked about, in an agent and in its subagents.

The asking itself is LangChain's `HumanInTheLoopMiddleware`. Here stands what a subagent is asked
about: whatever its parent is, and what its own spec adds. A spec can make the asking stricter
and never looser, however it says it: with `interrupt_on`, or with a middleware of its own.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from typing import Any, get_args

from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain.agents.middleware.human_in_the_loop import DecisionType
from langchain.agents.middleware.types import (
    AgentMiddleware,
    ModelRequest,
    ModelResponse,
    ToolCallRequest,
)

from thalweg.middleware.system_prompt import with_text
from thalweg.prompts import prompt

Approval = bool | InterruptOnConfig
Approvals = Mapping[str, Approval]
"""Which tools a person is asked about, by name, as `interrupt_on` takes it."""
Middleware = AgentMiddleware[Any, Any, Any]

ALL: tuple[DecisionType, ...] = get_args(DecisionType)
"""Every decision a person can make; what `True` allows."""


class ApprovalMiddleware(HumanInTheLoopMiddleware):
    """LangChain's, and the model is told in the system prompt that a person decides.

    It stands for LangChain's by its name, too.
    """

    @property
    def name(self) -> str:
        """See `AgentMiddleware.name`."""
        return HumanInTheLoopMiddleware.__name__

    def wrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], ModelResponse[Any]],
    ) -> ModelResponse[Any]:
        """Say in the system prompt which calls a person decides about."""
        return handler(self._told(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """See `wrap_model_call`."""
        return await handler(self._told(request))

    def _told(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        tools = ", ".join(f"`{name}`" for name in self.interrupt_on)
        return with_text(request, prompt("approval").render(tools=tools))


def merge_approvals(parent: Approvals, child: Approvals) -> dict[str, Approval]:
    """Say what a person is asked about in a child: all that the parent's and all its own say.

    A call is asked about where either asks about it. Where both do, the person may decide what
    both allow; what the parent allows, if that is nothing.

    Raises:
        ValueError: An approval allows no decision at all; LangChain refuses it alike.

    Example:
        >>> merge_approvals({"execute": True}, {"execute": False, "write_file": True})
        {'execute': True, 'write_file': True}
    """
    merged: dict[str, Approval] = dict(_asked(parent))
    for name, own in _asked(child).items():
        if name in merged:
            merged[name] = _both(_config(merged[name]), _config(own))
        else:
            merged[name] = own
    return merged


def _asked(approvals: Approvals) -> dict[str, Approval]:
    """Leave out what is not asked about; refuse what only seems to be."""
    names = HumanInTheLoopMiddleware(dict(approvals)).interrupt_on
    return {name: approvals[name] for name in names}


def _config(approval: Approval) -> InterruptOnConfig:
    if isinstance(approval, bool):
        return InterruptOnConfig(allowed_decisions=list(ALL))
    return approval


def _both(parent: InterruptOnConfig, child: InterruptOnConfig) -> InterruptOnConfig:
    """Ask where either asks; the parent's words go first."""
    mine, theirs = parent["allowed_decisions"], child["allowed_decisions"]
    both: InterruptOnConfig = {**child, **parent}
    both["allowed_decisions"] = [each for each in mine if each in theirs] or list(mine)
    both.pop("when", None)
    if "when" in parent and "when" in child:
        both["when"] = _either(parent["when"], child["when"])
    return both


def _either(
    one: Callable[[ToolCallRequest], bool], other: Callable[[ToolCallRequest], bool]
) -> Callable[[ToolCallRequest], bool]:
    return lambda request: one(request) or other(request)


def approvals_of(
    interrupt_on: Approvals | None, middleware: Sequence[Middleware] = ()
) -> dict[str, Approval]:
    """Collect what an agent is asked about: by its argument, and by middleware of the user's.

    Example:
        >>> asking = HumanInTheLoopMiddleware({"execute": True})
        >>> list(approvals_of({"write_file": True}, [asking]))
        ['write_file', 'execute']
    """
    collected = merge_approvals(interrupt_on or {}, {})
    for each in middleware:
        if isinstance(each, HumanInTheLoopMiddleware):
            collected = merge_approvals(collected, each.interrupt_on)
    return collected


def with_approvals(middleware: Sequence[Middleware], approvals: Approvals) -> list[Middleware]:
    """Have a person asked about calls, by the middleware of the user's if there is one.

    One that the user gave keeps its words and its mode, and asks about these as well: it would
    else take the place of ours, and switch off what the parent is asked about. A subclass with
    another name stays as it is, and ours asks beside it.

    Returns:
        The middleware in the same order; the one that asks last, if the user gave none.
    """
    name = HumanInTheLoopMiddleware.__name__
    made = [_asking(each, approvals) if each.name == name else each for each in middleware]
    if any(each.name == name for each in made) or not any(approvals.values()):
        return made
    return [*made, ApprovalMiddleware(dict(approvals))]


def _asking(given: Middleware, approvals: Approvals) -> Middleware:
    """Make the user's middleware ask about more, the user's own object left as it is."""
    if not isinstance(given, HumanInTheLoopMiddleware):  # a stranger of that name asks nobody
        return HumanInTheLoopMiddleware(dict(approvals))
    merged = merge_approvals(approvals, given.interrupt_on)
    asking = copy(given)
    asking.interrupt_on = HumanInTheLoopMiddleware(merged).interrupt_on
    return asking
