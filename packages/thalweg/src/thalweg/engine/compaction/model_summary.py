"""Decide which messages a model summarizes, and by which request: pure functions."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from thalweg.engine.pricing.tariff import Tariff
from thalweg.engine.snapshot import Record

LEAST_TOKENS = 1_000
"""Tokens of compacted messages below which a summary waits for those of the next compaction."""
LEAST_COLD_TOKENS = 12_000
"""The same if a cache miss is expected: everything would be read at full price.

A later compaction catches up."""
MOST_UNREAD = 200
"""Most messages of earlier compactions without a summary that are considered."""
PROMPT_TOKENS = 1_200
"""Tokens reserved for the instructions of a summary request."""
MARGIN = 0.8
"""Share of a summarizer's window that a chunk may fill: its token counts may differ from ours."""
_Read = TypeVar("_Read")


def least_tokens(*, is_cold: bool) -> int:
    """Return the tokens of compacted messages below which a summary of them waits.

    Args:
        is_cold: Whether a cache miss is expected for the live request of the summarizing model.
    """
    return LEAST_COLD_TOKENS if is_cold else LEAST_TOKENS


def pays_in_place(
    tariff: Tariff, *, live: int, folded: int, limit: int, is_cold: bool, most: int | None = None
) -> bool:
    """Return whether asking after the live request costs less than sending the originals.

    After the live request everything is read again at the price of the cache; in a request of
    its own, the compacted messages are read at full price.

    Args:
        tariff: Tariff of the summarizing model.
        live: Tokens of the live request.
        folded: Tokens of the messages to summarize.
        limit: Tokens that a request may fill.
        is_cold: Whether a cache miss is expected for the live request.
        most: Most tokens of one summary request, if configured.


    Example:
        >>> from thalweg.engine.pricing.table import TARIFFS
        >>> pays_in_place(
        ...     TARIFFS["anthropic"], live=90_000, folded=70_000, limit=191_808, is_cold=False
        ... )
        True
    """
    tokens = live + PROMPT_TOKENS
    if tokens > limit or (most is not None and live > most):
        return False
    prices = tariff.prices(tokens)
    price = prices.write if is_cold else prices.read
    return price * tokens <= tariff.prices(folded).input * folded


def first_unread(record: Record) -> int:
    """Return the position of the first considered message without a summary."""
    since = record.summaries[-1][1] + 1 if record.summaries else 0
    return max(since, record.last + 1 - MOST_UNREAD)


def caught_up(
    newest_first: Iterable[_Read], folded: int, tokens: Callable[[_Read], int]
) -> list[_Read]:
    """Return compacted messages after the last summary, the newest of them if they are many.

    At most twice as many tokens as are compacted now, so that a summarizer that always fails has
    a bounded cost.

    Args:
        newest_first: The messages.
        folded: Tokens that are compacted now.
        tokens: Counts one message.

    Returns:
        Oldest first.
    """
    room = max(LEAST_TOKENS, 2 * folded)
    picked: list[_Read] = []
    for one in newest_first:
        room -= tokens(one)
        if room < 0:
            break
        picked.insert(0, one)
    return picked
