"""Selection of the items with the rarest words, among any number of them.

The items of a block that contain a word are the bits of one number, so that a few operations on
long numbers weigh all of them at once.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import islice

from thalweg_memory.search.postings import offsets_of

HEAVIEST = 15
"""Weight of the rarest word a scope can have. One that is in every item weighs next to nothing."""


def weights(counts: Sequence[int], total: int) -> list[int]:
    """Weigh words by how few items have them.

    Args:
        counts: Of each word, the items that have it.
        total: Items there are.

    Example:
        >>> weights([1, 30, 1_000], 1_000)
        [15, 8, 2]
    """
    most = math.log1p(max(total, 2))
    shares = (math.log1p(max(total, 2) / max(count, 1)) / most for count in counts)
    return [max(1, round(HEAVIEST * share)) for share in shares]


def heaviest(blocks: Mapping[int, Sequence[tuple[int, int]]], limit: int) -> dict[int, set[int]]:
    """Return the items with the highest sum of weights; among equals the newest.

    Args:
        blocks: For each block, its words' items as bits, with the weight of the word.
        limit: Items to choose; fewer are returned only if fewer contain any word.

    Returns:
        Offsets of items, by block.
    """
    planes = {block: _added_up(words) for block, words in blocks.items()}
    over, equal = _parted(planes, limit)
    remaining = limit - sum(bits.bit_count() for bits in over.values())
    chosen = {block: set(offsets_of(bits)) for block, bits in over.items()}
    for block in sorted(equal, reverse=True):
        newest = list(islice(offsets_of(equal[block]), remaining))
        chosen[block].update(newest)
        remaining -= len(newest)
    return {block: offsets for block, offsets in chosen.items() if offsets}


def _added_up(words: Sequence[tuple[int, int]]) -> list[int]:
    """Add up the weights of all items at once: bit `i` of plane `p` is worth `2**p` to item `i`."""
    planes = [0] * sum(weight for _, weight in words).bit_length()
    for bits, weight in words:
        for first in range(weight.bit_length()):
            carried = bits if weight >> first & 1 else 0
            for plane in range(first, len(planes)):
                if not carried:
                    break
                planes[plane], carried = planes[plane] ^ carried, planes[plane] & carried
    return planes


def _parted(
    planes: Mapping[int, Sequence[int]], limit: int
) -> tuple[dict[int, int], dict[int, int]]:
    """Find the weight that `limit` items reach; part those over it from those that have just it."""
    over = dict.fromkeys(planes, 0)
    equal = {block: _any_of(sums) for block, sums in planes.items()}
    for plane in range(max(map(len, planes.values()), default=0) - 1, -1, -1):
        with_it = {
            block: equal[block] & sums[plane] if plane < len(sums) else 0
            for block, sums in planes.items()
        }
        reached = sum((over[block] | bits).bit_count() for block, bits in with_it.items())
        for block, bits in with_it.items():
            if reached >= limit:
                equal[block] = bits
            else:
                over[block] |= bits
                equal[block] &= ~bits
    return over, equal


def _any_of(planes: Sequence[int]) -> int:
    found = 0
    for bits in planes:
        found |= bits
    return found
