"""The provider's edits of one thread: the settings in requests, the reports in answers.

Anthropic's context editing and compaction (`context_management`, each with its own beta header),
and OpenAI's compaction in the Responses API. Sources: see `engine.compaction.provider_edits`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Any

from langchain.agents.middleware.types import ModelRequest
from langchain_core.messages import AIMessage, AnyMessage

from thalweg.context.request.cache_marks import is_anthropic
from thalweg.context.request.messages import TargetModel, is_own
from thalweg.context.request.models import Body, BodyTransform
from thalweg.context.turn.threads import OpenThread
from thalweg.engine.compaction.policy import RentOrBuy
from thalweg.engine.compaction.provider_edits import (
    MIN_TRIGGER_TOKENS,
    compaction_index,
    min_compaction_tokens,
    plan_received,
    unseen_tokens,
)
from thalweg.engine.edits import Edit
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Message
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.settings import ContextPolicy
from thalweg.engine.wires.fields import unpack
from thalweg.engine.wires.langchain import WIRE

EDITING_BETA = "context-management-2025-06-27"
"""Value of the header `anthropic-beta` that the API requires for `clear_…` edits."""
COMPACTION_BETA = "compact-2026-01-12"
"""Value of the header that it requires for compaction, and for the blocks of earlier ones."""
CLEAR_TOOL_USES = "clear_tool_uses_20250919"
CLEAR_THINKING = "clear_thinking_20251015"
COMPACT = "compact_20260112"
_EDITING_FIELD = "context_management"


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
        if body.get(_EDITING_FIELD):
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
        return {**body, _EDITING_FIELD: {"edits": edits}} if edits else body

    def _with_compaction(self, body: Body) -> Body:
        """Ask OpenAI to compact; half of the tokens are a threshold that any count reaches."""
        if self.compacts is None or body.get(_EDITING_FIELD):
            return body
        return {
            **body,
            _EDITING_FIELD: [{"type": "compaction", "compact_threshold": self.compacts // 2}],
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


@dataclass(frozen=True, slots=True)
class ProviderEditing:
    """The edits by the provider of one request, according to the user's policy."""

    policy: ContextPolicy
    request: ModelRequest[Any]
    target: TargetModel
    open: OpenThread

    @property
    def clears(self) -> bool:
        """Whether the provider clears old results: only for models that bind their reasoning."""
        requested = self.policy.clear_on_server or self.policy.compaction == "provider"
        return requested and self._engine.binds and is_anthropic(self.request.model)

    @property
    def _engine(self) -> Engine:
        return self.open.session.engine

    def take(self) -> None:
        """Set whether we or the provider edit the next request; count the results last cleared."""
        engine = self._engine
        if isinstance(engine.policy, RentOrBuy):
            engine.policy.provider_clears = self.clears
            engine.policy.provider_compacts = self._compaction_minimum()
        uses = cleared_uses(self.request.state["messages"])[0] if self.clears else 0
        engine.window.settle()
        self.open.clearing.resume(engine.window, uses)

    def _compaction_minimum(self) -> int | None:
        """Return the fewest tokens that the provider compacts; `None` if we compact."""
        if self.policy.compaction == "ours":
            return None
        fewest = min_compaction_tokens(self.target.model, self.target.client)
        is_reachable = fewest is not None and fewest < RentOrBuy.FULL * self._engine.budget.limit
        return fewest if is_reachable else None

    def plan(self, tariff: Tariff, *, is_cold: bool) -> None:
        """Choose the results that the provider clears from the next request."""
        engine = self._engine
        engine.window.settle()
        if self.clears:
            limit = engine.budget.limit
            self.open.clearing.plan(engine.window, tariff, limit, is_cold=is_cold)

    def plan_received_fold(self) -> Sequence[Edit]:
        """Plan the reported compaction of everything before an answer of the target model."""
        window, index = self._engine.window, self._received_index()
        fold = None if index is None else plan_received(self._engine.planning_context(), index)
        if index is None or fold is None:
            return ()
        read, written = compaction_cost(window.items[index].message)
        return [replace(fold, summary_input=read, summary_output=written)]

    def transform(self, *, is_continued: bool) -> BodyTransform | None:
        """Return the function that edits a request's body; `None` for a client without such edits.

        Args:
            is_continued: Whether the thread continues from this request: no other one is compacted.
        """
        if self.target.client not in ("anthropic", "openai-responses"):
            return None
        edits = self._edits()
        return (edits if is_continued else replace(edits, compacts=None)).transform

    def _edits(self) -> ProviderEdits:
        """Return the edits of the next request, and count the tokens that the provider ignores."""
        engine, index = self._engine, self._received_index()
        self.open.unseen = (0, 0) if index is None else unseen_tokens(engine.window, index)
        requests_compaction = (
            isinstance(engine.policy, RentOrBuy) and engine.policy.requests_compaction
        )
        kept = self.open.clearing.kept(engine.window) if self.clears else None
        return ProviderEdits(kept, engine.window.tokens if requests_compaction else None)

    def _received_index(self) -> int | None:
        window = self._engine.window
        index = compaction_index(window)
        if index is None or is_own(window.items[index].message, self.target):
            return index
        return None


def cleared_uses(messages: Sequence[AnyMessage]) -> tuple[int, int]:
    """Return the tool uses and tokens that the API cleared from the request of the last answer."""
    last_answer = next(
        (message for message in reversed(messages) if isinstance(message, AIMessage)), None
    )
    report = last_answer.response_metadata.get(_EDITING_FIELD) if last_answer is not None else None
    edits = report.get("applied_edits") if isinstance(report, Mapping) else None
    for edit in edits or ():
        if isinstance(edit, Mapping) and edit.get("type") == CLEAR_TOOL_USES:
            uses, tokens = edit.get("cleared_tool_uses"), edit.get("cleared_input_tokens")
            return int(uses or 0), int(tokens or 0)
    return 0, 0


def compaction_cost(message: Message) -> tuple[int, int]:
    """Return the tokens that Anthropic's API read and wrote to compact, apart from the answer's.

    Zeros if the client does not pass them on, as for a streamed answer.
    """
    usage: object = unpack(message.extra, WIRE).get("response_metadata")
    for name in ("usage", "iterations"):
        usage = usage.get(name) if isinstance(usage, Mapping) else None
    steps = usage if isinstance(usage, list) else []
    compactions = [s for s in steps if isinstance(s, Mapping) and s.get("type") == "compaction"]
    return (
        sum(int(step.get(name) or 0) for step in compactions for name in _INPUT_FIELDS),
        sum(int(step.get("output_tokens") or 0) for step in compactions),
    )


_INPUT_FIELDS = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
