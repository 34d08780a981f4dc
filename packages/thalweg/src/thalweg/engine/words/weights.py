"""Weights of words: the fewer texts contain a word, the more it discriminates."""

import math
from collections.abc import Sequence


def rarity(count: float, total: int) -> float:
    """Return the weight of a word by its rarity, as BM25 does: near 0 for a word in every text.

    Args:
        count: Texts with the word; an estimate if they are very many.
        total: All texts.

    Example:
        >>> rarity(1, 1_000) > 10 * rarity(900, 1_000)
        True
    """
    count = min(count, total)
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


class Weights:
    """Weighs sets of words. A set is the bits of a number: bit i represents word i.

    Args:
        word_weights: The weight of each word.

    Example:
        >>> weigh = Weights([1.0, 2.0, 4.0])
        >>> weigh(0b101), weigh.all
        (5.0, 7.0)
    """

    def __init__(self, word_weights: Sequence[float]) -> None:
        self._word_weights = word_weights
        self._sums: dict[int, float] = {}
        self.all = self((1 << len(word_weights)) - 1)
        """The weight of all words together."""

    def __call__(self, word_bits: int) -> float:
        """Return the weight of a set, cached and summed exactly, so that order has no effect."""
        if (known := self._sums.get(word_bits)) is None:
            known = math.fsum(
                [w for bit, w in enumerate(self._word_weights) if word_bits >> bit & 1]
            )
            self._sums[word_bits] = known
        return known
