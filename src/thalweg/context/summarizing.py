"""What a model is asked to summarize, and where it is asked: pure decisions about a fold."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from thalweg.context.fold import Record
from thalweg.context.pricing import Tariff

LEAST_TOKENS = 1_000
"""Tokens of folded messages below which a summary waits for those of the next fold."""
MOST_UNREAD = 200
"""How many messages of earlier folds that no summary is of are looked at."""
PROMPT_TOKENS = 1_200
"""Room for the instructions beside what is summarized."""
MARGIN = 0.8
"""Share of a summarizer's window that a chunk may fill: its tokens may be others than ours."""
_Read = TypeVar("_Read")


def pays_in_place(
    tariff: Tariff, *, live: int, folded: int, limit: int, is_cold: bool, most: int | None = None
) -> bool:
    """Tell whether asking behind the live request costs less than showing the originals.

    Behind the live request everything is read again at the price of the cache; apart, the
    folded messages at full price.

    Args:
        tariff: Of the model that is asked.
        live: Tokens of the live request.
        folded: Tokens of the messages that are to be summarized.
        limit: Tokens that a request may fill.
        is_cold: Whether the cache has lost the live request.
        most: Tokens that one request for a summary may hold, where somebody said so.

    Example:
        >>> from thalweg.context.tariffs import TARIFFS
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
    """Find the first folded message that no summary is of, among those that are looked at."""
    since = record.summaries[-1][1] + 1 if record.summaries else 0
    return max(since, record.last + 1 - MOST_UNREAD)


def caught_up(
    newest_first: Iterable[_Read], folded: int, tokens: Callable[[_Read], int]
) -> list[_Read]:
    """Pick folded messages behind the last summary, the newest of them if they are many.

    At most twice as many tokens as are folded now, so that what a summarizer which fails for
    good costs is bounded.

    Args:
        newest_first: The messages.
        folded: Tokens that are folded now.
        tokens: Counts one.

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
