"""Context editing by Anthropic's API: what a request asks for, and what an answer reports."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from thalweg.middleware.request.checked_model import Body, LastLook

EDITING_BETA = "context-management-2025-06-27"
"""Value of the header `anthropic-beta` that the API requires for it."""
CLEAR_TOOL_USES = "clear_tool_uses_20250919"
CLEAR_THINKING = "clear_thinking_20251015"
_REPORT = "context_management"


def cleared_uses(messages: Sequence[AnyMessage]) -> tuple[int, int]:
    """Return what the API cleared from the request of the last answer: tool uses and tokens."""
    last = next((one for one in reversed(messages) if isinstance(one, AIMessage)), None)
    report = last.response_metadata.get(_REPORT) if last is not None else None
    edits = report.get("applied_edits") if isinstance(report, Mapping) else None
    for edit in edits or ():
        if isinstance(edit, Mapping) and edit.get("type") == CLEAR_TOOL_USES:
            uses, tokens = edit.get("cleared_tool_uses"), edit.get("cleared_input_tokens")
            return int(uses or 0), int(tokens or 0)
    return 0, 0


def unchanged(body: Body) -> Body:
    """Return a body as it is."""
    return body


def chained(first: LastLook, then: LastLook) -> LastLook:
    """Make the function that makes both changes of a body."""
    return lambda body: then(first(body))


def asking_for(kept: int) -> Callable[[Body], Body]:
    """Make the function that has a request's oldest tool results cleared.

    Reasoning is kept: without that, the API clears it from earlier turns by default. A body with
    `context_management` of its own is left alone.

    Args:
        kept: How many newest tool uses remain.
    """
    uses = {"type": "tool_uses", "value": kept}
    edits: list[dict[str, Any]] = [
        {"type": CLEAR_TOOL_USES, "trigger": {"type": "tool_uses", "value": 1}, "keep": uses}
    ]

    def look(body: Body) -> Body:
        if body.get(_REPORT):
            return body
        thinks = [{"type": CLEAR_THINKING, "keep": "all"}] if body.get("thinking") else []
        betas = [*(body.get("betas") or ()), EDITING_BETA]
        return {**body, "betas": betas, _REPORT: {"edits": [*thinks, *edits]}}

    return look
