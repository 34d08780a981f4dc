"""Decide which messages a model summarizes, by which request, and what its summaries may cost."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Self, TypeVar

from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.snapshot import Record

MIN_TOKENS, MIN_COLD_TOKENS = 1_000, 12_000
"""Tokens of compacted messages below which a summary waits for those of the next compaction; the
same if a cache miss is expected for the live request: everything would be read at full price."""
MAX_UNSUMMARIZED = 200
"""Most messages of earlier compactions without a summary that are considered."""
PROMPT_TOKENS = 1_200
"""Tokens reserved for the instructions of a summary request."""
QUESTION_TOKENS = 500
"""Tokens of the request for a summary at the end of a live request, at most."""
WINDOW_SHARE = 0.8
"""Share of a summarizer's window that a chunk may fill: its token counts may differ from ours."""
SUMMARY_SHARE = 0.25
"""Share of the cost of a thread that its summaries may have, if prices decide about compactions."""
FIRST_ALLOWANCE = 5_000.0
"""Cost that is allowed in addition until an answer was unusable, so that a short thread has one."""
ANSWER_TOKENS = 500
"""Expected tokens of a summary."""
MAX_DOUBLINGS = 10
"""After so many unusable answers in a row the wait stays as long."""
_Message = TypeVar("_Message")


@dataclass(frozen=True, slots=True)
class SummaryAccount:
    """Costs of a branch so far, in units of one uncached input token of the model in use.

    Each record of the journal continues its parent's, from what the record itself has: a restart,
    a rewind or an undo continues from the facts of its branch.
    """

    own: float = 0.0
    """Cost of the requests of the thread, without summaries."""
    saved: float = 0.0
    """Cost of reading the removed tokens again, which its later requests did not have."""
    spent: float = 0.0
    """Cost of summaries."""
    removed: int = 0
    """Tokens that edits removed from the request."""
    failures: int = 0
    """Unusable answers to requests for a summary, in a row."""
    waits: int = 0
    """Compactions that pass before the next request for a summary."""

    def allowed(self, share: float | None) -> float:
        """Return the cost that all summaries so far may have.

        A share of what the thread has cost and of what its compactions saved; after an unusable
        answer, of what it has cost alone.

        Args:
            share: The share; `None` for any cost.
        """
        if share is None:
            return math.inf
        if self.failures:
            return share * self.own
        return FIRST_ALLOWANCE + share * (self.own + self.saved)

    def permits(self, cost: float, share: float | None) -> bool:
        """Return whether a summary of this expected cost may be requested now.

        Example:
            >>> account = SummaryAccount(own=40_000, spent=9_000)
            >>> account.permits(2_000, 0.25)
            True
            >>> account.with_answer(0, is_usable=False).permits(2_000, 0.25)
            False
        """
        return not self.waits and self.spent + cost <= self.allowed(share)

    def with_answer(self, cost: float, *, is_usable: bool) -> Self:
        """Add an answer to a request for a summary; an unusable one makes the next one wait.

        The first waits for the next compaction, each further one in a row twice as long.
        """
        failures = 0 if is_usable else self.failures + 1
        waits = 0 if is_usable else 2 ** min(self.failures, MAX_DOUBLINGS)
        return replace(self, spent=self.spent + cost, failures=failures, waits=waits)

    def with_pass(self) -> Self:
        """Add a compaction without a request for a summary."""
        return replace(self, waits=max(0, self.waits - 1))

    def with_request(
        self, tariff: Tariff, tokens: int, *, cached: int, freed: int, limit: int, answered: int = 0
    ) -> Self:
        """Add a request of the thread.

        Args:
            tariff: Its model's prices.
            tokens: All of it.
            cached: Tokens that the cache is expected to have.
            freed: Tokens that the edits before it removed.
            limit: Most tokens of a request: without edits it would not have had more.
            answered: Tokens of the answer to the previous request.
        """
        removed = max(0, self.removed + freed)
        prices = tariff.prices(tokens)
        saving = prices.read * min(removed, max(0, limit - tokens))
        cost = tariff.charge(cached, tokens - cached) + prices.output * answered
        return replace(self, own=self.own + cost, saved=self.saved + saving, removed=removed)


NO_COSTS = SummaryAccount()
"""The account of a new thread."""


def pays_in_place(
    tariff: Tariff,
    *,
    live_tokens: int,
    folded_tokens: int,
    limit: int,
    is_cold: bool,
    max_request_tokens: int | None = None,
) -> bool:
    """Return whether asking after the live request costs less than sending the originals.

    After the live request everything is read again at the price of the cache; in a request of
    its own, the compacted messages are read at full price.

    Args:
        tariff: Tariff of the summarizing model.
        live_tokens: Tokens of the live request.
        folded_tokens: Tokens of the messages to summarize.
        limit: Tokens that a request may fill.
        is_cold: Whether a cache miss is expected for the live request.
        max_request_tokens: Most tokens of one summary request, if configured.

    Example:
        >>> from thalweg.engine.pricing.table import TARIFFS
        >>> pays_in_place(
        ...     TARIFFS["anthropic"],
        ...     live_tokens=90_000,
        ...     folded_tokens=70_000,
        ...     limit=191_808,
        ...     is_cold=False,
        ... )
        True
    """
    tokens = live_tokens + QUESTION_TOKENS
    if tokens > limit or (max_request_tokens is not None and live_tokens > max_request_tokens):
        return False
    prices = tariff.prices(tokens)
    price = prices.write if is_cold else prices.read
    return price * tokens <= tariff.prices(folded_tokens).input * folded_tokens


def first_unsummarized(record: Record) -> int:
    """Return the position of the first considered message without a summary."""
    next_position = record.summaries[-1][1] + 1 if record.summaries else 0
    return max(next_position, record.last + 1 - MAX_UNSUMMARIZED)


def unsummarized_messages(
    newest_first: Iterable[_Message], folded_tokens: int, count_tokens: Callable[[_Message], int]
) -> list[_Message]:
    """Return compacted messages after the last summary, the newest of them if they are many.

    At most twice as many tokens as are compacted now, so that a summarizer that always fails has
    a bounded cost.

    Args:
        newest_first: The messages.
        folded_tokens: Tokens that are compacted now.
        count_tokens: Counts one message.

    Returns:
        Oldest first.
    """
    room = max(MIN_TOKENS, 2 * folded_tokens)
    picked: list[_Message] = []
    for message in newest_first:
        room -= count_tokens(message)
        if room < 0:
            break
        picked.insert(0, message)
    return picked
