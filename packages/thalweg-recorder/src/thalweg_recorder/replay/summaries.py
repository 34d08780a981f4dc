"""Summaries of compacted messages in a replay: the model's input, and a placeholder model."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

from thalweg.engine.compaction.model_summary import (
    MIN_COLD_TOKENS,
    MIN_TOKENS,
    PROMPT_TOKENS,
    WINDOW_SHARE,
    first_unsummarized,
    pays_in_place,
    unsummarized_messages,
)
from thalweg.engine.edits import Fold
from thalweg.engine.engine import Engine
from thalweg.engine.entries import Entry
from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.summaries.ask import ask_for, ask_in_place
from thalweg.engine.summaries.summary import Summary
from thalweg.engine.summaries.transcripts import LEAST_BUDGET, chunks
from thalweg.engine.tokens import Counter
from thalweg_recorder.replay.contestant import Summarizing

SUMMARY_TOKENS = 600
"""Tokens that a model writes when it is asked as our middleware asks."""
LINES = 8
"""Lines of a placeholder summary; a model writes about as many."""


@dataclass(slots=True)
class FillerSummarizer:
    """Replaces the middleware's summarizer, with filler text instead of a model's.

    The same rules decide whether it is called, with which messages, and where
    (`engine.compaction.model_summary`).
    """

    tariff: Tariff
    count: Counter

    def summarize(
        self,
        engine: Engine,
        fold: Fold,
        log: Sequence[Entry],
        sent: int,
        *,
        whole: Container[int],
        cold: bool,
    ) -> tuple[Fold, Summarizing | None]:
        """Have the messages that a fold takes summarized.

        Args:
            engine: Of the thread; the fold is not committed.
            fold: The fold.
            log: All entries so far, by position.
            sent: Tokens of the request before, which the cache has while it is warm.
            whole: Positions that the live request shows word for word.
            cold: Whether the cache has lost it.

        Returns:
            The fold with the summary in its record, and the model call; `None` if so
            little is folded that it waits for the next one.
        """
        record = engine.window.record
        entries = engine.window.entries
        folded = [e for p, e in entries.items() if p <= fold.last and p not in fold.kept]
        tokens = _tokens(folded)
        unread = log[first_unsummarized(record) : record.last + 1]
        older = unsummarized_messages(reversed(unread), tokens, lambda entry: entry.tokens)
        if tokens + _tokens(older) < (MIN_COLD_TOKENS if cold else MIN_TOKENS):
            return fold, None
        first = older[0].position if older else record.last + 1
        limit = engine.calibrated_budget.limit
        live = engine.window.tokens
        if pays_in_place(
            self.tariff, live_tokens=live, folded_tokens=tokens, limit=limit, is_cold=cold
        ):
            request_tokens = live + self.count(ask_in_place(fold.last))
            cached = 0 if cold else min(sent, live)
            read = {e.position for e in folded if e.position in whole}
            apart = self._apart(older, limit) if older else 0
            call = Summarizing(
                tokens=request_tokens + apart,
                cached=cached,
                written=live - cached,
                output=SUMMARY_TOKENS,
                read=frozenset(read | {e.position for e in older}),
            )
        else:
            shown = [*older, *folded]
            call = Summarizing(
                tokens=self._apart(shown, limit),
                output=SUMMARY_TOKENS,
                read=frozenset(e.position for e in shown),
            )
        summary = self._written(first, fold.last)
        spent = call.tokens, call.output
        return engine.joined(fold, summary, spent, first=first), call

    def _apart(self, entries: Sequence[Entry], limit: int) -> int:
        """Count the tokens shown to a model that is asked about originals, chunk by chunk."""
        shown = [(entry.position, entry.message) for entry in entries]
        transcripts = chunks(
            shown, max(LEAST_BUDGET, int((limit - PROMPT_TOKENS) * WINDOW_SHARE)), self.count
        )
        return sum(self.count(ask_for(text)) for text in transcripts)

    def _written(self, first: int, last: int) -> Summary:
        """Write lines of the size that a model's would have; no two summaries share one."""

        def line(number: int) -> str:
            head = f"[stand-in for line {number} of a summary of #{first} to #{last}]"
            return head + " summary" * max(0, SUMMARY_TOKENS // LINES - self.count(head))

        return Summary(
            goal=(line(1),),
            decisions=tuple(map(line, (2, 3, 4))),
            state=tuple(map(line, (5, 6, 7))),
            next_steps=(line(8),),
        )


def _tokens(entries: Sequence[Entry]) -> int:
    return sum(entry.tokens for entry in entries)
