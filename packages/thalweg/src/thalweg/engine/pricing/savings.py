"""The ledger of savings: predicted and realized savings of each rewrite of the prefix.

A thread with n rewrites is compared with itself n times: as it would have continued if it had
been rewritten up to then and never again. The reduced cost of a call after one more rewrite is
the saving of that rewrite, so the gains of all of them add up to the cost of never rewriting, minus
the actual cost. The messages in between are assumed to be the same in each case.

Two rules: every figure is in units of one uncached input token; adding a call takes constant time,
except if its cache was lost or another price tier is near: then every rewrite is evaluated.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from thalweg.engine.pricing.tariff import Tariff

ASK_TOKENS = 60
"""Tokens of the arguments of a step's call, where no recorded call has them."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Predicted cost and savings of a rewrite when it was decided.

    Example:
        >>> Forecast(price=2_000.0, saving=100.0, calls=50).gain
        3000.0
    """

    price: float
    """One-time cost: rewriting everything after the first change, the structured summary, the
    narrative summary, and expected steps to removed content."""
    saving: float
    """Saving per later call: re-reading the freed tokens."""
    calls: int
    """Expected number of further calls: as many as the thread has had. If only the length of a
    thread is available, that is the best estimate (Lindy's law)."""

    @property
    def break_even(self) -> float:
        """Number of calls that recover the price; infinite if nothing is saved."""
        return max(0.0, self.price) / self.saving if self.saving > 0 else math.inf

    @property
    def gain(self) -> float:
        """Net gain after the expected calls; negative for a loss."""
        return self.saving * self.calls - self.price


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedRequest:
    """One request, as it was charged. Tokens are ours; `factor` converts them to the provider's."""

    tariff: Tariff
    tokens: int
    cached: int
    """Tokens read from the cache."""
    written: int
    """Tokens written to it."""
    same: int
    """Tokens of the prefix shared with the previous request: those that a cache could hold."""
    is_cold: bool = False
    """Whether the cache has lost them."""
    factor: float = 1.0
    """Tokens of the provider per token of ours."""

    FOUND: ClassVar[float] = 0.9
    """Share of the cacheable tokens that counts as a cache hit: not every prefix of a request is
    cached, and token counts differ."""

    @property
    def is_found(self) -> bool:
        """Whether the provider's cache had the expected prefix."""
        expected = self.FOUND * self.held(self.same) - self.tariff.block
        return not self.is_cold and self.cached >= expected

    def held(self, prefix: int) -> int:
        """Return how much of a prefix a cache holds: all of it, or none if it is too short."""
        return prefix if prefix * self.factor >= self.tariff.minimum else 0

    def rates(self, tokens: int) -> tuple[float, float]:
        """Return the price of a token, cached and uncached, in a request of this size."""
        prices = self.tariff.prices(int(tokens * self.factor))
        written_share, uncached_tokens = 1.0, self.tokens - self.cached
        if not self.held(tokens):
            written_share = 0.0
        elif self.held(self.tokens) and uncached_tokens > 0:
            written_share = min(1.0, self.written / uncached_tokens)
        uncached_price = prices.input + written_share * (prices.write - prices.input)
        return prices.read * self.factor, uncached_price * self.factor

    def cost(self, tokens: int, cached: int) -> float:
        """Return the cost of a request like this one with another size."""
        cached_price, uncached_price = self.rates(tokens)
        return cached_price * cached + uncached_price * (tokens - cached)

    def step_price(self, *, context: float, arguments: float, added: float) -> float:
        """Return the cost of a step: one more call that brings removed content back.

        The call reads the context; its arguments are written as output and sent again with what
        they bring. In units of one uncached input token, at the rates of this request.

        Args:
            context: Tokens of the request that the call continues.
            arguments: Tokens of the arguments of the call.
            added: Tokens that the call brings.

        Example:
            >>> sent = ChargedRequest(
            ...     tariff=Tariff(name="mine", read=0.1, write=1.25, output=5.0),
            ...     tokens=10_000,
            ...     cached=9_000,
            ...     written=1_000,
            ...     same=9_000,
            ... )
            >>> sent.step_price(context=10_000, arguments=60, added=2_000)
            3875.0
        """
        read, full = self.rates(self.tokens)
        output = self.tariff.prices(int(self.tokens * self.factor)).output * self.factor
        reading = read if self.held(self.tokens) else full
        return reading * context + (full + output) * arguments + full * added


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestChanges:
    """All changes to a thread before one request."""

    turn: int
    reason: str
    freed: int
    """Tokens that the request would have had in addition."""
    took: Iterable[int] = ()
    """Positions of the messages that are no longer shown verbatim."""
    summary_cost: float = 0.0
    """Cost of the models that wrote summaries."""
    forecast: Forecast | None = None
    """The forecast of the policy; computed from the request if there is none."""


def foresee(sent: ChargedRequest, change: RequestChanges, before: int) -> Forecast:
    """Return the forecast of a change that has none, assuming the thread continues as before.

    Args:
        sent: The request after the change.
        change: The change.
        before: Tokens of the previous request.

    Example:
        >>> tariff = Tariff(name="flat", read=0.1, write=1.25)
        >>> sent = ChargedRequest(
        ...     tariff=tariff, tokens=3_000, cached=2_000, written=1_000, same=2_000
        ... )
        >>> round(
        ...     foresee(sent, RequestChanges(turn=40, reason="", freed=7_000), before=10_000).saving
        ... )
        700
    """
    cached_price, uncached_price = sent.rates(sent.tokens)
    rewritten_tokens = sent.held(before) - sent.held(sent.same) - change.freed
    price = (uncached_price - cached_price) * max(0, rewritten_tokens) * (
        not sent.is_cold
    ) + change.summary_cost
    larger_tokens = sent.tokens + change.freed
    saving = sent.cost(larger_tokens, larger_tokens) - sent.cost(sent.tokens, sent.tokens)
    return Forecast(price=price, saving=saving, calls=change.turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """One line of the ledger: a rewrite, its predicted savings and its realized ones so far."""

    turn: int
    reason: str
    forecast: Forecast
    freed: int
    """Tokens that every request since would have had in addition."""
    calls: int
    """Calls since, including the one it was made for."""
    saved: float
    """The additional cost that they would have had."""
    rewriting: float
    """Cost of rewriting everything after the first change, and the structured summary."""
    summary_cost: float
    """Cost of the narrative summaries."""
    fetched: float
    """Cost of the steps to content that it removed."""

    @property
    def realised(self) -> float:
        """Net gain so far; negative until the price is recovered."""
        return self.saved - self.rewriting - self.summary_cost - self.fetched

    @property
    def expected(self) -> float:
        """Predicted net gain by now, after the actual number of calls."""
        return self.forecast.saving * self.calls - self.forecast.price

    def to_json(self) -> dict[str, float | str | None]:
        """Return the fields that `--json` prints."""
        forecast = self.forecast
        is_infinite = math.isinf(forecast.break_even)
        return {
            "turn": self.turn,
            "reason": self.reason,
            "freed": self.freed,
            "predicted": round(forecast.gain, 1),
            "predicted_calls": forecast.calls,
            "price": round(forecast.price, 1),
            "saving_per_call": round(forecast.saving, 1),
            "break_even": None if is_infinite else round(forecast.break_even, 1),
            "expected": round(self.expected, 1),
            "realised": round(self.realised, 1),
            "calls": self.calls,
            "saved": round(self.saved, 1),
            "rewriting": round(self.rewriting, 1),
            "summaries": round(self.summary_cost, 1),
            "fetched": round(self.fetched, 1),
        }


@dataclass(slots=True)
class _SavingsLine:
    change: RequestChanges
    forecast: Forecast
    at: int
    """Tokens before the first change: the position of the freed tokens in a request."""
    freed: int
    """As `RequestChanges.freed`, minus the tokens that were fetched again since."""
    first: int
    """Number of the call it was made for, from 0."""
    begun: float
    """Value of `Savings._cached_token_cost` when it was made."""
    extra: float = 0.0
    """Savings that `_cached_token_cost` does not include."""
    rewriting: float = 0.0
    fetched: float = 0.0

    def saved(self, carried: float) -> float:
        return self.extra + self.freed * (carried - self.begun)


@dataclass(slots=True)
class Savings:
    """The ledger of one thread, updated call by call."""

    window: int = 0
    """Window of the model; 0 if it is to be ignored."""
    calls: int = 0
    beyond: float = 0.0
    """Cost of sending the tokens over the window, which no request could hold."""
    _lines: list[_SavingsLine] = field(default_factory=list)
    _freed_tokens: int = 0
    """Tokens freed by all lines."""
    _cached_token_cost: float = 0.0
    """Cost so far of sending one token of a cached prefix with every call."""
    _previous_tokens: int = 0
    """Tokens of the previous request."""
    _line_by_position: dict[int, _SavingsLine] = field(default_factory=dict)
    """The line that first removed the text of a message from the context, by its position."""

    def call(self, sent: ChargedRequest, change: RequestChanges | None = None) -> None:
        """Add a request, and the change made for it."""
        new_line = None if change is None else self._open_line(sent, change)
        base_tokens, cached_tokens = sent.same, sent.held(sent.same)
        is_found = sent.is_found
        if new_line is not None:  # breakpoints may store less of a changed prefix
            base_tokens, cached_tokens, is_found = (
                self._previous_tokens,
                min(cached_tokens, sent.cached),
                not sent.is_cold,
            )
        rewritten_tokens = (
            0 if new_line is None else sent.held(base_tokens) - cached_tokens - new_line.freed
        )
        cached_price, uncached_price = sent.rates(sent.tokens)
        if new_line is not None and is_found:
            new_line.rewriting = (uncached_price - cached_price) * max(0, rewritten_tokens)
        is_same_rate = sent.held(base_tokens) == base_tokens and sent.rates(
            sent.tokens + self._freed_tokens
        ) == (cached_price, uncached_price)
        if is_found and is_same_rate:
            self._cached_token_cost += cached_price
            if new_line is not None:  # freed tokens that were uncached, and would be written now
                new_line.extra += (uncached_price - cached_price) * max(0, -rewritten_tokens)
        else:
            self._compare_lines(sent, new_line, cached_tokens if is_found else None)
        excess_tokens = sent.tokens + self._freed_tokens - self.window
        if self.window and excess_tokens > 0:
            self.beyond += (cached_price if is_found else uncached_price) * min(
                excess_tokens, self._freed_tokens
            )
        self.calls += 1
        self._previous_tokens = sent.tokens

    def _open_line(self, sent: ChargedRequest, change: RequestChanges) -> _SavingsLine:
        forecast = change.forecast or foresee(sent, change, self._previous_tokens)
        line = _SavingsLine(
            change, forecast, sent.same, change.freed, self.calls, self._cached_token_cost
        )
        self._lines.append(line)
        self._freed_tokens += line.freed
        for position in change.took:
            self._line_by_position.setdefault(position, line)
        return line

    def _compare_lines(
        self, sent: ChargedRequest, new_line: _SavingsLine | None, cached_tokens: int | None
    ) -> None:
        """Compute the cost of the request without each line and the later ones.

        Args:
            sent: The request.
            new_line: The line that was made for it.
            cached_tokens: Cached tokens of it; `None` if the cache had lost them.
        """
        new_tokens = sent.tokens - (
            sent.same if new_line is None else self._previous_tokens - new_line.freed
        )
        tokens, cached = sent.tokens, sent.cached if cached_tokens is None else cached_tokens
        cost_with = sent.cost(tokens, cached)
        for line in reversed(self._lines):
            tokens += line.freed
            if cached_tokens is not None:
                cached = sent.held(tokens - new_tokens)
            elif line.at < sent.cached:
                cached += line.freed
            cost_without = sent.cost(tokens, cached)
            line.extra += cost_without - cost_with
            cost_with = cost_without
        if new_line is not None:
            new_line.extra += new_line.rewriting

    def fetch(self, position: int, price: float, tokens: int = 0) -> None:
        """Add the cost of a step to the line that removed the content.

        If no line is recorded for it, to the newest.

        Args:
            position: Position of the message in the log.
            price: Cost of the step, or of what it brought in a later request.
            tokens: Tokens that it added to the requests since, if those count it.
        """
        if not self._lines:
            return
        line = self._line_by_position.get(position, self._lines[-1])
        line.fetched += price
        line.extra, line.begun = line.saved(self._cached_token_cost), self._cached_token_cost
        line.freed -= tokens
        self._freed_tokens -= tokens

    def lines(self) -> list[Saving]:
        """Return the current lines, oldest first."""
        return [
            Saving(
                turn=line.change.turn,
                reason=line.change.reason,
                forecast=line.forecast,
                freed=line.change.freed,
                calls=self.calls - line.first,
                saved=line.saved(self._cached_token_cost),
                rewriting=line.rewriting,
                summary_cost=line.change.summary_cost,
                fetched=line.fetched,
            )
            for line in self._lines
        ]
