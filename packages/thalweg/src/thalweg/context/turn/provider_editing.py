"""The provider's edits in the body of a request.

Anthropic's context editing and compaction (`context_management`, each with its own beta header),
and OpenAI's compaction in the Responses API. Sources: see `engine.compaction.provider_edits`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import is_
from typing import Any

from thalweg.context.request.models import Body
from thalweg.engine.compaction.provider_edits import (
    MIN_TRIGGER_TOKENS,
)

EDITING_BETA = "context-management-2025-06-27"
"""Value of the header `anthropic-beta` that the API requires for `clear_…` edits."""
COMPACTION_BETA = "compact-2026-01-12"
"""Value of the header that it requires for compaction, and for the blocks of earlier ones."""
CLEAR_TOOL_USES = "clear_tool_uses_20250919"
CLEAR_THINKING = "clear_thinking_20251015"
COMPACT = "compact_20260112"
EDITING_FIELD = "context_management"


@dataclass(frozen=True, slots=True)
class ProviderEdits:
    """The edits that a request asks of its provider. A body with edits of its own is unchanged."""

    kept: int | None = None
    """How many newest tool uses keep their results (Anthropic); `None` clears nothing."""
    compacts: int | None = None
    """Tokens of the request, which the provider is to compact; `None` if it is not."""

    def transform(self, body: Body) -> Body:
        """Return a copy of a body that asks for these edits."""
        if "input" in body:
            return self._with_compaction(body)
        body = _with_compaction_blocks(body)
        if body.get(EDITING_FIELD):
            return body
        edits: list[dict[str, Any]] = []
        if self.kept is not None:
            body = _with_beta(body, EDITING_BETA)
            # By default the API clears reasoning of earlier turns as well.
            edits += [{"type": CLEAR_THINKING, "keep": "all"}] if body.get("thinking") else []
            keep = {"type": "tool_uses", "value": self.kept}
            trigger: dict[str, Any] = {"type": "tool_uses", "value": 1}
            edits.append({"type": CLEAR_TOOL_USES, "trigger": trigger, "keep": keep})
        if self.compacts is not None:
            body = _with_beta(body, COMPACTION_BETA)
            trigger = {"type": "input_tokens", "value": MIN_TRIGGER_TOKENS}
            edits.append({"type": COMPACT, "trigger": trigger})
        return {**body, EDITING_FIELD: {"edits": edits}} if edits else body

    def _with_compaction(self, body: Body) -> Body:
        """Ask OpenAI to compact; half of the tokens are a threshold that any count reaches."""
        if self.compacts is None or body.get(EDITING_FIELD):
            return body
        return {
            **body,
            EDITING_FIELD: [{"type": "compaction", "compact_threshold": self.compacts // 2}],
        }


def _with_beta(body: Body, beta: str) -> Body:
    betas = body.get("betas") or ()
    return body if beta in betas else {**body, "betas": [*betas, beta]}


def _with_compaction_blocks(body: Body) -> Body:
    """Admit the blocks of earlier compactions, without the index that they have from a stream."""
    messages = [_without_index(message) for message in body.get("messages") or ()]
    if all(map(is_, messages, body.get("messages") or ())):
        return body
    return _with_beta({**body, "messages": messages}, COMPACTION_BETA)


def _without_index(message: Any) -> Any:  # noqa: ANN401 (JSON)
    """Copy a message with a block of a compaction; return the same object without one."""
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(content, list) or not any(map(_is_compaction_block, content)):
        return message
    blocks = [
        {k: v for k, v in b.items() if k != "index"} if _is_compaction_block(b) else b
        for b in content
    ]
    return {**message, "content": blocks}


def _is_compaction_block(block: object) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "compaction"
