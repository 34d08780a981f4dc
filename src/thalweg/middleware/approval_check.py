"""Approval of calls, checked again when a call is executed.

LangChain's `HumanInTheLoopMiddleware` asks a person after the model's answer. Another middleware
can jump from there to the tools, past the question or past a rejection (`jump_to="tools"`).
"""

from copy import copy
from functools import lru_cache
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    PrivateStateAttr,
    ToolCallRequest,
)
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from thalweg.engine.prompts import prompt
from thalweg.middleware.turn.effects import AsyncHandler, Handler, ToolResult

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
    keeps that result. A call that needs approval gets an error if nobody reviewed it.
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
            result: ToolResult = handler(request)
            return result
        return inner(request, handler)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: AsyncHandler) -> ToolResult:
        """Execute a call, or return why it must not be executed."""
        if (refused := self._refusal(request)) is not None:
            return refused
        inner = super().awrap_tool_call
        if inner.__func__ is AgentMiddleware.awrap_tool_call:  # type: ignore[attr-defined]  # before LangChain 1.5
            result: ToolResult = await handler(request)
            return result
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
