"""What narrative summaries of a thread may cost: an account that each turn record continues."""

import math
from dataclasses import dataclass, replace
from typing import Self

from thalweg.engine.pricing.tariff import Tariff

SUMMARY_SHARE = 0.25
"""Share of the cost of a thread that its summaries may have, if prices decide about compactions."""
FIRST_ALLOWANCE = 5_000.0
"""Cost that is allowed in addition until an answer was unusable, so that a short thread has one."""
ANSWER_TOKENS = 500
"""Expected tokens of a summary."""
MAX_DOUBLINGS = 10
"""After so many unusable answers in a row the wait stays as long."""


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
