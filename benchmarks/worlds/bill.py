"""What the requests of a conversation cost, with a prefix cache at the prices of Anthropic."""

from collections.abc import Iterable
from dataclasses import dataclass, field

READ, WRITE, OUTPUT = 0.1, 1.25, 5.0
"""Prices of Anthropic's models, in those of an uncached input token: of a cached one, of one that
is written to the cache, and of an output token."""
LEAST_CACHED = 1_024
"""Tokens of the shortest prefix that is cached."""


class CallsExceededError(Exception):
    """The agent made more model calls than its limit: it does not end."""


@dataclass(slots=True)
class Bill:
    """Counts and prices of the requests of one conversation.

    A request with tools finds the longest prefix of messages that any earlier one had, and writes
    the rest. One without tools, such as a separate request for a summary, uses no cache.
    """

    limit: int
    """Most calls of the agent's model; summaries are not counted."""
    calls: int = 0
    summaries: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    peak: int = 0
    """Tokens of the largest request."""
    cost: float = 0.0
    """In uncached input tokens."""
    _prefixes: set[int] = field(default_factory=set)

    def charge(
        self,
        blocks: Iterable[tuple[str, int]],
        output: int,
        *,
        has_cache: bool = True,
        is_summary: bool = False,
    ) -> tuple[int, int]:
        """Add a request.

        Args:
            blocks: Texts in order, each with its tokens: the tools, then the messages.
            output: Tokens of the answer.
            has_cache: Whether the request uses the prefix cache.
            is_summary: Whether it is for a summary.

        Returns:
            Tokens of its input that are read from the cache, and that are written to it.

        Raises:
            CallsExceededError: The limit is exceeded.
        """
        total = cached = 0
        prefix, is_found = 0, has_cache
        for text, tokens in blocks:
            total += tokens
            prefix = hash((prefix, text))
            is_found = is_found and prefix in self._prefixes
            if is_found and total >= LEAST_CACHED:
                cached = total
            if has_cache:
                self._prefixes.add(prefix)
        self.calls += not is_summary
        self.summaries += is_summary
        self.input += total
        self.cached += cached
        self.output += output
        self.peak = max(self.peak, total)
        is_written = has_cache and total >= LEAST_CACHED
        price = WRITE if is_written else 1.0
        self.cost += READ * cached + price * (total - cached) + OUTPUT * output
        if self.calls > self.limit:
            raise CallsExceededError
        return cached, (total - cached) * is_written
