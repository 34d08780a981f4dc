"""The policies of other systems: their triggers, and the content they keep and remove.

They are run by our engine, with exact counts, a valid layout and a placeholder summary of a stated
size, so that only *when* and *what* they remove differs from ours. Constants as measured on
deepagents 0.7.32, langchain 1.4 and DeerFlow 2 (November 2026).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from thalweg.engine.compaction.planning_context import PlanningContext
from thalweg.engine.compaction.policy import Policy
from thalweg.engine.compaction.rewrites import edit_fields
from thalweg.engine.edits import Edit, Elide, Evict, Fold, Reason
from thalweg.engine.entries import Entry, Text, ToolCall
from thalweg.engine.tokens import Counter
from thalweg.engine.window.items import record_message

SUMMARY_TOKENS = 1_500
"""Tokens of the placeholder summary.

It is between the 600 and 3,000 that models write with these systems' prompts.
"""
PROMPT_TOKENS = 500
"""Tokens of a summarizer's instructions, in addition to the messages."""
WHY: Reason = "a trigger of the policy"


@dataclass(frozen=True, slots=True)
class NoPolicy(Policy):
    """Send everything, always."""

    def prepare(self, context: PlanningContext, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """Yield edits before a model call, in batches; see `Policy.prepare`."""
        del context, cold
        return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedTrigger(Policy):
    """Summarize the oldest messages when the context reaches a fixed size.

    A summarizer gets these messages (truncated to the last `trimmed` tokens, if set), and its
    summary replaces them.
    """

    share: float
    """Share of the window at which it acts."""
    messages: int | None = None
    """Number of messages at which it acts as well."""
    keep_messages: int | None = None
    """Newest messages it keeps, or ..."""
    keep_share: float | None = None
    """... share of the window it keeps."""
    trimmed: int | None = None
    """Tokens of the removed messages that the summarizer gets to read."""
    archives: bool = False
    """Whether removed content can be read back by a handle."""
    result_chars: int | None = None
    """A tool result longer than this is offloaded when it arrives."""
    argument_chars: int | None = None
    """Arguments of old writes longer than this are cut when it acts."""

    def prepare(self, context: PlanningContext, *, cold: bool) -> Iterator[Sequence[Edit]]:
        """Yield edits before a model call, in batches; see `Policy.prepare`."""
        del cold
        if self.result_chars is not None:
            yield list(self._offloads(context, self.result_chars))
        if not self._triggered(context):
            return
        if self.argument_chars is not None:
            yield list(self._cut_arguments(context, self.argument_chars))
            if context.window.tokens < self.share * context.budget.window:
                return
        if fold := self._fold(context):
            yield (fold,)

    def _triggered(self, scene: PlanningContext) -> bool:
        window = scene.window
        cut_away = sum(e.freed for e in window.rewrites.values() if isinstance(e, Elide))
        large = window.tokens + cut_away >= self.share * scene.budget.window
        many = self.messages is not None and len(window.items) - window.head >= self.messages
        return large or many

    def _cut(self, scene: PlanningContext) -> int:
        window = scene.window
        if self.keep_share is not None:
            return window.cut_for_tail(int(self.keep_share * scene.budget.window))
        return window.cut_for_messages(self.keep_messages or 1)

    def _fold(self, scene: PlanningContext) -> Fold | None:
        window = scene.window
        cut = self._cut(scene)
        folded = window.entries_folded_by(cut)
        if not folded:
            return None
        last = max(entry.position for entry in folded)
        after = {item.position for item in window.items[cut:]}
        replaced = [item for item in window.items[:cut] if item.section != "system"]
        before = sum(item.tokens for item in replaced)
        where = f" The full history: {scene.name_span(0, last)}" if self.archives else ""
        record = stand_in(window.count, SUMMARY_TOKENS) + where
        read = before if self.trimmed is None else min(before, self.trimmed)
        return Fold(
            reason=WHY,
            turn=scene.turn,
            tokens_before=before,
            tokens_after=scene.tokens(record_message(record)),
            last=last,
            kept=tuple(sorted(p for p in after if 0 <= p <= last)),
            record=record,
            summary_input=read + PROMPT_TOKENS,
            summary_output=SUMMARY_TOKENS,
        )

    def _offloads(self, scene: PlanningContext, chars: int) -> Iterator[Evict]:
        for entry in scene.window.open_entries:
            text = entry.message.text
            if entry.message.role == "tool" and len(text) > chars:
                lines = text.split("\n")
                shown = "\n".join(line[:1_000] for line in (*lines[:5], "…", *lines[-5:]))
                handle = scene.name_span(entry.position, entry.position)
                parts = (Text(f"Result too large, saved at {handle}\n{shown}"),)
                yield Evict(**edit_fields(scene, entry, parts, "arrived too large"))

    def _cut_arguments(self, scene: PlanningContext, chars: int) -> Iterator[Elide]:
        window = scene.window
        for item in window.items[window.head : self._cut(scene)]:
            entry = window.entries.get(item.position)
            if entry is None or item.position in window.rewrites:
                continue
            parts = tuple(
                replace(p, arguments=f'{{"cut": "{len(p.arguments)} characters"}}')
                if isinstance(p, ToolCall) and _is_long_write(entry, p, chars)
                else p
                for p in entry.message.parts
            )
            if parts != entry.message.parts:
                yield Elide(**edit_fields(scene, entry, parts, WHY))


def _is_long_write(entry: Entry, call: ToolCall, chars: int) -> bool:
    writes = any(use.name == call.name and use.action == "write" for use in entry.uses)
    return writes and len(call.arguments) > chars


@cache
def stand_in(count: Counter, tokens: int, number: int | None = None) -> str:
    """Make a text of just so many tokens, for a summary that no model writes here.

    Args:
        count: Counts tokens.
        tokens: How many.
        number: Of the summary in its thread, so that no cache takes it for another.
    """
    heading = f"[stand-in for a summary by a model{'' if number is None else f' #{number}'}]"
    return heading + " summary" * (tokens - count(heading))


DEEPAGENTS = FixedTrigger(
    share=0.85, keep_share=0.10, archives=True, result_chars=80_000, argument_chars=2_000
)
"""deepagents 0.7.32 with a model profile: summary at 85 %, keep 10 %, everything archived."""
LANGCHAIN = FixedTrigger(share=0.85, keep_messages=20, trimmed=4_000)
"""LangChain's SummarizationMiddleware at 85 %: keep 20 messages, summarize the last 4,000."""
DEERFLOW = FixedTrigger(share=0.8, messages=50, keep_messages=20, trimmed=4_000)
"""DeerFlow 2: 80 % or 50 messages, keep 20; the schema's default trim."""
