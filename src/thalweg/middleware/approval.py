"""Approval of calls by a person, in an agent and in its subagents.

LangChain's `HumanInTheLoopMiddleware` interrupts the run. This module computes the rules of a
subagent: those of its parent plus those of its own spec. A spec can make approval stricter and
never looser, either with `interrupt_on`, or with a middleware of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain.agents.middleware.human_in_the_loop import DecisionType
from langchain.agents.middleware.types import (
    AgentMiddleware,
    ModelRequest,
    ToolCallRequest,
)

from thalweg.engine.prompts import prompt
from thalweg.middleware.approval_check import CheckedApprovalMiddleware, checked
from thalweg.middleware.system_prompt import with_text
from thalweg.middleware.turn.effects import RequestChange

Approval = bool | InterruptOnConfig
Approvals = Mapping[str, Approval]
"""Which tools a person is asked about, by name, as `interrupt_on` takes it."""
Middleware = AgentMiddleware[Any, Any, Any]

ALL: tuple[DecisionType, ...] = get_args(DecisionType)
"""Every decision a person can make; what `True` allows."""


class ApprovalMiddleware(RequestChange, CheckedApprovalMiddleware):
    """`CheckedApprovalMiddleware`, with a note to the model in the system prompt.

    The note states that a person decides about some calls. The class replaces LangChain's
    `HumanInTheLoopMiddleware` under the same name.
    """

    def change_request(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Add to the system prompt which calls a person decides about."""
        tools = ", ".join(f"`{name}`" for name in self.interrupt_on)
        return with_text(request, prompt("approval").render(tools=tools))


def merge_approvals(parent: Approvals, child: Approvals) -> dict[str, Approval]:
    """Return the approval rules of a child: the union of its parent's and its own.

    A call needs approval if either requires it. If both do, the person may make the decisions that
    both allow, or those that the parent allows if that is none.

    Raises:
        ValueError: An approval allows no decision at all; LangChain refuses it, too.

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
    """Drop tools that need no approval; raise for a rule without decisions."""
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
    """Return the middleware with approval of calls, by the user's own if there is one.

    The user's middleware keeps its texts and its mode, and its rules are extended by these: it
    would otherwise replace ours and disable the parent's rules. A subclass with another name is not
    changed, and ours is added to it.

    Returns:
        The middleware in the same order; ours last, if the user has none.
    """
    name = HumanInTheLoopMiddleware.__name__
    made = [_asking(each, approvals) if each.name == name else each for each in middleware]
    if any(each.name == name for each in made) or not any(approvals.values()):
        return made
    return [*made, ApprovalMiddleware(dict(approvals))]


def _asking(given: Middleware, approvals: Approvals) -> Middleware:
    if not isinstance(given, HumanInTheLoopMiddleware):  # a stranger of that name asks nobody
        return CheckedApprovalMiddleware(dict(approvals))
    merged = merge_approvals(approvals, given.interrupt_on)
    asking = checked(given)
    asking.interrupt_on = HumanInTheLoopMiddleware(merged).interrupt_on
    return asking
