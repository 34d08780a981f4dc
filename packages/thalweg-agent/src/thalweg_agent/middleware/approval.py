"""Approval of calls by a person, in an agent and in its subagents.

LangChain's `HumanInTheLoopMiddleware` interrupts the run. This module computes the rules of a
subagent: those of its parent plus those of its own spec. A spec can make approval stricter and
never looser, either with `interrupt_on`, or with a middleware of its own.

LangChain asks after the model's answer, and another middleware can jump from there to the tools
(`jump_to="tools"`), past the question or past a rejection. A call is therefore checked again when
it is executed.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Annotated, Any, NotRequired, cast, get_args

from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain.agents.middleware.human_in_the_loop import DecisionType
from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    PrivateStateAttr,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from thalweg.context.turn.additions import with_text
from thalweg.context.turn.effects import AsyncHandler, Handler, RequestChange, ToolResult
from thalweg_agent.prompts import prompt

Approval = bool | InterruptOnConfig
Approvals = Mapping[str, Approval]
"""Which tools a person is asked about, by name, as `interrupt_on` takes it."""
Middleware = AgentMiddleware[Any, Any, Any]

ALL: tuple[DecisionType, ...] = get_args(DecisionType)
"""Every decision a person can make; what `True` allows."""

REVIEW = "thalweg_review"
"""Key of the state with the newest review."""


class Review(TypedDict):
    """The calls of one answer that were approved, or that need no approval."""

    message: str | None
    """The id of the answer."""
    calls: list[str | None]
    """Ids of the calls."""


@lru_cache(maxsize=64)
def _with_review(schema: type) -> type:
    kept = {REVIEW: NotRequired[Annotated[Review, PrivateStateAttr]]}
    kind: Any = type(schema)  # that of all `TypedDict` classes
    made: type = kind(schema.__name__, (schema,), {"__annotations__": kept})
    return made


class CheckedApprovalMiddleware(HumanInTheLoopMiddleware[Any, Any, Any]):
    """LangChain's `HumanInTheLoopMiddleware`, with a check when a call is executed.

    A call whose result is in the state already (a person rejected it, or answered in its place)
    keeps that result. A call that needs approval gets an error if no one reviewed it.
    """

    state_schema: Any = _with_review(HumanInTheLoopMiddleware.state_schema)

    @property
    def name(self) -> str:
        """Return the name of LangChain's middleware; see `AgentMiddleware.name`."""
        return HumanInTheLoopMiddleware.__name__

    def after_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Ask a person about calls of the newest answer, and record the review."""
        return self._recorded(state, super().after_model(state, runtime))

    async def aafter_model(
        self, state: AgentState[Any], runtime: Runtime[Any]
    ) -> dict[str, Any] | None:
        """Ask a person about calls of the newest answer, and record the review."""
        # LangChain's own calls `after_model`, which has recorded the review then.
        return self._recorded(state, await super().aafter_model(state, runtime))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> ToolResult:
        """Execute a call, or return why it must not be executed."""
        if (refused := self._refusal(request)) is not None:
            return refused
        inner = super().wrap_tool_call
        if inner.__func__ is AgentMiddleware.wrap_tool_call:  # type: ignore[attr-defined]  # before LangChain 1.5
            return cast("ToolResult", handler(request))
        return inner(request, handler)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: AsyncHandler) -> ToolResult:
        """Execute a call, or return why it must not be executed."""
        if (refused := self._refusal(request)) is not None:
            return refused
        inner = super().awrap_tool_call
        if inner.__func__ is AgentMiddleware.awrap_tool_call:  # type: ignore[attr-defined]  # before LangChain 1.5
            return cast("ToolResult", await handler(request))
        return await inner(request, handler)

    def _recorded(
        self, state: AgentState[Any], update: dict[str, Any] | None
    ) -> dict[str, Any] | None:
        answers = [m for m in state["messages"] if isinstance(m, AIMessage)]
        calls = answers[-1].tool_calls if answers else []
        if not any(call["name"] in self.interrupt_on for call in calls):
            return update
        review = Review(message=answers[-1].id, calls=[call["id"] for call in calls])
        return {**(update or {}), REVIEW: review}

    def _refusal(self, request: ToolCallRequest) -> ToolMessage | None:
        """Return the result of a call that must not be executed; `None` for any other."""
        name, uid = request.tool_call["name"], request.tool_call["id"]
        if name not in self.interrupt_on:
            return None
        state: Any = request.state
        messages = list(state.get("messages", []))
        answer = None
        for message in reversed(messages):
            if isinstance(message, ToolMessage) and message.tool_call_id == uid:
                return message
            if isinstance(message, AIMessage):
                answer = message
                break
        if getattr(self, "interrupt_mode", "batched") == "per_call":  # asked when it is executed
            return None
        review = state.get(REVIEW) or Review(message=None, calls=[])
        if answer is not None and answer.id == review["message"] and uid in review["calls"]:
            return None
        text = prompt("approval_missing").render(tool=name)
        return ToolMessage(text, tool_call_id=uid or "", name=name, status="error")


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
    merged: dict[str, Approval] = dict(_required(parent))
    for name, own in _required(child).items():
        if name in merged:
            merged[name] = _both(_config(merged[name]), _config(own))
        else:
            merged[name] = own
    return merged


def _required(approvals: Approvals) -> dict[str, Approval]:
    """Drop tools that need no approval; raise for a rule without decisions."""
    names = HumanInTheLoopMiddleware(dict(approvals)).interrupt_on
    return {name: approvals[name] for name in names}


def _config(approval: Approval) -> InterruptOnConfig:
    if isinstance(approval, bool):
        return InterruptOnConfig(allowed_decisions=list(ALL))
    return approval


def _both(parent: InterruptOnConfig, child: InterruptOnConfig) -> InterruptOnConfig:
    """Ask where either asks; the parent's words go first."""
    parent_decisions, child_decisions = parent["allowed_decisions"], child["allowed_decisions"]
    both: InterruptOnConfig = {**child, **parent}
    both["allowed_decisions"] = [
        each for each in parent_decisions if each in child_decisions
    ] or list(parent_decisions)
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
    """Collect the tools that need approval: by the argument, and by middleware of the user's.

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


def checked(given: HumanInTheLoopMiddleware[Any, Any, Any]) -> CheckedApprovalMiddleware:
    """Return a copy of a user's middleware that also checks calls when they are executed."""
    made: Any = copy(given)
    if not isinstance(given, CheckedApprovalMiddleware):
        kind: Any = type(given)
        made.__class__ = _checked(kind)
    approving: CheckedApprovalMiddleware = made
    return approving


@lru_cache(maxsize=64)
def _checked(kind: Any) -> type:  # noqa: ANN401 (a subclass of LangChain's middleware)
    schema = {"state_schema": _with_review(kind.state_schema)}
    return type(kind.__name__, (CheckedApprovalMiddleware, kind), schema)
