"""Decide which messages a model summarizes, and by which request: pure functions."""

from collections.abc import Callable, Iterable
from typing import TypeVar

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
_Message = TypeVar("_Message")


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
