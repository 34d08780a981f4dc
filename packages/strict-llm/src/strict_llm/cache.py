"""The prompt caches of the providers, simulated on the pieces of a request.

OpenAI caches every request automatically, from 1,024 tokens in steps of 128. Anthropic caches up to
the breakpoints that a request marks, from 1,024 tokens; a breakpoint matches an entry written at it
or at one of the 19 blocks before it, and a read extends an entry's lifetime. Both caches are per
model, and expire by the clock that each call passes.

A piece is cached whole or not at all: a prefix that ends within one is a hit only up to the piece
before it.
"""

from collections.abc import Iterator
from threading import Lock

from strict_llm.counting import Measured
from strict_llm.exchange import ExchangeTokens

LEAST_TOKENS = 1_024
STEP_TOKENS = 128
LOOKBACK = 20
"""Blocks that a breakpoint of Anthropic looks at, itself the first."""
LIFETIMES_S = {"5m": 300.0, "1h": 3_600.0}
AUTOMATIC_LIFETIME_S = 600.0
"""Of OpenAI's cache: it forgets after 5 to 10 minutes of rest."""
_MOST_ENTRIES = 200_000


class PromptCache:
    """Prefixes that were sent before, and until when each is remembered."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, bytes], tuple[float, float]] = {}
        self._lock = Lock()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()

    def automatic(self, model: str, measured: Measured, now: float) -> ExchangeTokens:
        """Look a request up and remember all its prefixes, as OpenAI does."""
        with self._lock:
            hit = 0
            for prefix, tokens in zip(measured.prefixes, measured.sums, strict=True):
                if not self._touch(model, prefix, now):
                    break
                hit = tokens
            for prefix in measured.prefixes:
                self._put(model, prefix, now, AUTOMATIC_LIFETIME_S)
        cached = hit - hit % STEP_TOKENS if hit >= LEAST_TOKENS else 0
        return ExchangeTokens(input=measured.total, cached=cached)

    def marked(self, model: str, measured: Measured, now: float) -> ExchangeTokens:
        """Look a request up at its breakpoints and remember these, as Anthropic does."""
        with self._lock:
            marks = [
                at
                for at, keep in enumerate(measured.keeps)
                if keep and measured.sums[at] >= LEAST_TOKENS
            ]
            read = next(self._found(model, measured, marks, now), -1)
            cached = measured.sums[read] if read >= 0 else 0
            written = {"5m": 0, "1h": 0}
            before = cached
            for at in marks:
                if at > read:
                    written[measured.keeps[at]] += measured.sums[at] - before
                    before = measured.sums[at]
                self._put(model, measured.prefixes[at], now, LIFETIMES_S[measured.keeps[at]])
        return ExchangeTokens(measured.total, cached, written["5m"], written["1h"])

    def _found(self, model: str, measured: Measured, marks: list[int], now: float) -> Iterator[int]:
        """Find the remembered prefixes, the longest first."""
        for mark in reversed(marks):
            for at in range(mark, max(-1, mark - LOOKBACK), -1):
                if self._touch(model, measured.prefixes[at], now):
                    yield at

    def _touch(self, model: str, prefix: bytes, now: float) -> bool:
        until, lifetime = self._entries.get((model, prefix), (0.0, 0.0))
        if lifetime == 0.0 or until < now:
            return False
        self._put(model, prefix, now, lifetime)
        return True

    def _put(self, model: str, prefix: bytes, now: float, lifetime: float) -> None:
        if len(self._entries) >= _MOST_ENTRIES:
            alive = {key: entry for key, entry in self._entries.items() if entry[0] >= now}
            self._entries = alive if len(alive) < _MOST_ENTRIES // 2 else {}
        self._entries[model, prefix] = (now + lifetime, lifetime)
