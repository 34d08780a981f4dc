"""The ledger of savings: what each rewrite of the prefix was expected to save, and what it has.

A thread with n rewrites is compared with itself n times: as it would have gone on had it been
rewritten up to then and never again. What a call costs less after one more rewrite is that
rewrite's saving, so the gains of all of them add up to what never rewriting would have cost,
less what was paid. What came in between is taken to be the same in each.

Two rules: every figure is in units of one uncached input token; entering a call costs the same
however many came before, but where its cache was lost or another tier of prices is near: there
every rewrite is looked at.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from thalweg.context.pricing import Tariff


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a rewrite was expected to cost and to save when it was decided.

    Example:
        >>> Forecast(price=2_000.0, saving=100.0, calls=50).gain
        3000.0
    """

    price: float
    """Once: writing anew what stands behind the first change, the record, the summary, and
    fetching back what will be missed."""
    saving: float
    """Of every later call: reading again what was freed."""
    calls: int
    """How many more calls are expected: as many as the thread has had. Of a thread of which
    nothing but its length is known, that is the best guess (Lindy's law)."""

    @property
    def break_even(self) -> float:
        """After how many calls the price has come back; infinite where nothing is saved."""
        return max(0.0, self.price) / self.saving if self.saving > 0 else math.inf

    @property
    def gain(self) -> float:
        """What is left over after the expected calls; negative where it will not have paid."""
        return self.saving * self.calls - self.price


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One request, as it was charged. Tokens are ours; `factor` makes them the provider's."""

    tariff: Tariff
    tokens: int
    cached: int
    """Read from the cache."""
    written: int
    """Written to it."""
    same: int
    """Tokens at its beginning that the request before had, too: what a cache could hold."""
    is_cold: bool = False
    """Whether the cache is known to have lost them."""
    factor: float = 1.0
    """Tokens that the provider counts for one of ours."""

    FOUND: ClassVar[float] = 0.9
    """Share of what a cache could hold that tells that it did: not every place of a request is
    cached, and no two count alike."""

    @property
    def is_found(self) -> bool:
        """Whether the provider's cache had what it could have."""
        expected = self.FOUND * self.held(self.same) - self.tariff.block
        return not self.is_cold and self.cached >= expected

    def held(self, prefix: int) -> int:
        """Tell how much of a prefix a cache holds: all of it, or none that is too short."""
        return prefix if prefix * self.factor >= self.tariff.minimum else 0

    def rates(self, tokens: int) -> tuple[float, float]:
        """Price a token of a request of so many: read from the cache, and not."""
        prices = self.tariff.prices(int(tokens * self.factor))
        share, fresh = 1.0, self.tokens - self.cached
        if not self.held(tokens):
            share = 0.0
        elif self.held(self.tokens) and fresh > 0:
            share = min(1.0, self.written / fresh)
        full = prices.input + share * (prices.write - prices.input)
        return prices.read * self.factor, full * self.factor

    def cost(self, tokens: int, cached: int) -> float:
        """Price a request like this one, of so many tokens."""
        read, full = self.rates(tokens)
        return read * cached + full * (tokens - cached)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What was done to a thread before one request, all of it together."""

    turn: int
    reason: str
    freed: int
    """Tokens that the request would have had more."""
    took: Iterable[int] = ()
    """Positions of the messages that are no longer shown word for word."""
    asked: float = 0.0
    """What the models cost that were asked for summaries."""
    forecast: Forecast | None = None
    """What was expected by who decided it; made from the facts where nobody said."""


def foresee(sent: Sent, change: Change, before: int) -> Forecast:
    """Tell what a change that nobody foresaw costs, and saves if things go on as they did.

    Args:
        sent: The request that it was made for.
        change: What was done.
        before: Tokens of the request before.

    Example:
        >>> tariff = Tariff(name="flat", read=0.1, write=1.25)
        >>> sent = Sent(tariff=tariff, tokens=3_000, cached=2_000, written=1_000, same=2_000)
        >>> round(foresee(sent, Change(turn=40, reason="", freed=7_000), before=10_000).saving)
        700
    """
    read, full = sent.rates(sent.tokens)
    again = sent.held(before) - sent.held(sent.same) - change.freed
    price = (full - read) * max(0, again) * (not sent.is_cold) + change.asked
    larger = sent.tokens + change.freed
    saving = sent.cost(larger, larger) - sent.cost(sent.tokens, sent.tokens)
    return Forecast(price=price, saving=saving, calls=change.turn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """A line of the ledger: one rewrite, what was expected of it and what came of it so far."""

    turn: int
    reason: str
    forecast: Forecast
    freed: int
    """Tokens that every request since would have had more."""
    calls: int
    """Calls since, with the one it was made for."""
    saved: float
    """What they would have cost more."""
    rewriting: float
    """What it cost to write again what stood behind the first change, and the record."""
    asked: float
    """What the summaries cost."""
    fetched: float
    """What fetching back cost of what it took away."""

    @property
    def realised(self) -> float:
        """What is left over so far; negative until the price has come back."""
        return self.saved - self.rewriting - self.asked - self.fetched

    @property
    def expected(self) -> float:
        """What was expected to be left over by now: after as many calls as there were."""
        return self.forecast.saving * self.calls - self.forecast.price

    def to_json(self) -> dict[str, float | str | None]:
        """Give the fields that `--json` prints."""
        forecast = self.forecast
        never = math.isinf(forecast.break_even)
        return {
            "turn": self.turn,
            "reason": self.reason,
            "freed": self.freed,
            "predicted": round(forecast.gain, 1),
            "predicted_calls": forecast.calls,
            "price": round(forecast.price, 1),
            "saving_per_call": round(forecast.saving, 1),
            "break_even": None if never else round(forecast.break_even, 1),
            "expected": round(self.expected, 1),
            "realised": round(self.realised, 1),
            "calls": self.calls,
            "saved": round(self.saved, 1),
            "rewriting": round(self.rewriting, 1),
            "summaries": round(self.asked, 1),
            "fetched": round(self.fetched, 1),
        }


@dataclass(slots=True)
class _Line:
    change: Change
    forecast: Forecast
    at: int
    """Tokens before the first change: that far into a request stood what it freed."""
    freed: int
    """As `Change.freed`, less what was fetched back since."""
    first: int
    """Number of the call it was made for, from 0."""
    begun: float
    """What `Savings` had carried when it was made."""
    extra: float = 0.0
    """Saved beside what the carried tells."""
    rewriting: float = 0.0
    fetched: float = 0.0

    def saved(self, carried: float) -> float:
        return self.extra + self.freed * (carried - self.begun)


@dataclass(slots=True)
class Savings:
    """The ledger of one thread, fed call by call."""

    window: int = 0
    """What the model accepts; 0 where it does not matter."""
    calls: int = 0
    beyond: float = 0.0
    """What sending the tokens over the window would have cost: no request could hold them."""
    _lines: list[_Line] = field(default_factory=list)
    _freed: int = 0
    """By all lines together."""
    _carried: float = 0.0
    """What it has cost to send one token of a prefix with every call that found it cached."""
    _tokens: int = 0
    """Of the request before."""
    _took: dict[int, _Line] = field(default_factory=dict)
    """Which line took the words of a message out of the context first, by its position."""

    def call(self, sent: Sent, change: Change | None = None) -> None:
        """Enter a request, with what was done for it."""
        new = None if change is None else self._open(sent, change)
        base, held = sent.same, sent.held(sent.same)
        is_found = sent.is_found
        if new is not None:  # where it was changed, less than could be may be marked for the cache
            base, held, is_found = self._tokens, min(held, sent.cached), not sent.is_cold
        again = 0 if new is None else sent.held(base) - held - new.freed
        read, full = sent.rates(sent.tokens)
        if new is not None and is_found:
            new.rewriting = (full - read) * max(0, again)
        is_plain = sent.held(base) == base and sent.rates(sent.tokens + self._freed) == (read, full)
        if is_found and is_plain:
            self._carried += read
            if new is not None:  # of what it freed, this was not cached but would be written now
                new.extra += (full - read) * max(0, -again)
        else:
            self._compare(sent, new, held if is_found else None)
        over = sent.tokens + self._freed - self.window
        if self.window and over > 0:
            self.beyond += (read if is_found else full) * min(over, self._freed)
        self.calls += 1
        self._tokens = sent.tokens

    def _open(self, sent: Sent, change: Change) -> _Line:
        forecast = change.forecast or foresee(sent, change, self._tokens)
        line = _Line(change, forecast, sent.same, change.freed, self.calls, self._carried)
        self._lines.append(line)
        self._freed += line.freed
        for position in change.took:
            self._took.setdefault(position, line)
        return line

    def _compare(self, sent: Sent, new: _Line | None, held: int | None) -> None:
        """Price the request as it would have been without each line and those after it.

        Args:
            sent: The request.
            new: The line that was made for it.
            held: What the cache had of it; `None` where it had lost what it could have had.
        """
        arrived = sent.tokens - (sent.same if new is None else self._tokens - new.freed)
        tokens, cached = sent.tokens, sent.cached if held is None else held
        with_it = sent.cost(tokens, cached)
        for line in reversed(self._lines):
            tokens += line.freed
            if held is not None:
                cached = sent.held(tokens - arrived)
            elif line.at < sent.cached:
                cached += line.freed
            without = sent.cost(tokens, cached)
            line.extra += without - with_it
            with_it = without
        if new is not None:
            new.extra += new.rewriting

    def fetch(self, position: int, price: float, tokens: int = 0) -> None:
        """Enter that words were fetched back, on the line that took them away.

        Where none is known to have, on the newest.

        Args:
            position: Of the message in the log.
            price: What fetching them cost.
            tokens: What it added to the requests since, where those count it.
        """
        if not self._lines:
            return
        line = self._took.get(position, self._lines[-1])
        line.fetched += price
        line.extra, line.begun = line.saved(self._carried), self._carried
        line.freed -= tokens
        self._freed -= tokens

    def lines(self) -> list[Saving]:
        """List what was entered, oldest first, as it stands now."""
        return [
            Saving(
                turn=line.change.turn,
                reason=line.change.reason,
                forecast=line.forecast,
                freed=line.change.freed,
                calls=self.calls - line.first,
                saved=line.saved(self._carried),
                rewriting=line.rewriting,
                asked=line.change.asked,
                fetched=line.fetched,
            )
            for line in self._lines
        ]
