"""The postings of one word in a block of items, with counts, as packed bytes.

A word in few items of a block is stored as a list of them, one in many as a bitmap. The list has
two bytes per item, the bitmap one bit for each item of the block.
"""

import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

BLOCK_BITS = 15
"""A block is 2**15 items with numbers in a row: a bitmap is at most 4 kB."""
BLOCK = 1 << BLOCK_BITS
MOST_TIMES = 255
"""Maximum count of a word in an item; higher ones are stored as this."""
_DENSE = 16
"""With more than one item for so many bytes of a bitmap, the bitmap is used. It is the larger
one then for a while, but read faster."""
_HEAD = struct.Struct("<?H")


@dataclass(frozen=True, slots=True)
class Posting:
    """The items of one block that contain a word, each as its offset in the block."""

    times: Mapping[int, int]
    """The count in each; items of the bitmap with a count of one are omitted."""
    bitmap: bytes = b""
    """Bit `i % 8` of byte `i // 8` is the item at offset `i`. Empty: `times` has all."""

    def bits(self) -> int:
        """Return the items as the bits of a number."""
        return int.from_bytes(self.bitmap or _bitmap_of(self.times), "little")

    def offsets(self) -> Collection[int]:
        """List the items."""
        return [*offsets_of(self.bits())] if self.bitmap else self.times

    def among(self, offsets: set[int], base: int = 0) -> dict[int, int]:
        """Return the counts of the word in those of some items that contain it.

        Args:
            offsets: Offsets of the items.
            base: Added to the returned offsets.
        """
        times = self.times
        if not self.bitmap:
            return {base + at: times[at] for at in offsets.intersection(times)}
        bitmap, end = self.bitmap, len(self.bitmap) << 3
        return {
            base + at: times.get(at, 1)
            for at in offsets
            if at < end and bitmap[at >> 3] >> (at & 7) & 1
        }

    def with_items(self, times: Mapping[int, int]) -> "Posting":
        """Take items in."""
        if not times:
            return self
        if not self.bitmap:
            return Posting({**self.times, **times})
        bits = self.bits() | int.from_bytes(_bitmap_of(times), "little")
        repeated = {at: often for at, often in times.items() if often > 1}
        return Posting({**self.times, **repeated}, _bytes_of(bits))

    def without(self, offsets: Collection[int]) -> "Posting":
        """Take items out; those that are not there are passed over."""
        if not offsets:
            return self
        left = {at: often for at, often in self.times.items() if at not in offsets}
        if not self.bitmap:
            return Posting(left)
        gone = int.from_bytes(_bitmap_of(offsets), "little")
        return Posting(left, _bytes_of(self.bits() & ~gone))

    def __bool__(self) -> bool:
        """Return whether any item contains the word."""
        return bool(self.times) or any(self.bitmap)


def pack(posting: Posting) -> bytes:
    """Write a posting as bytes.

    Example:
        >>> unpack(pack(Posting({3: 1, 9: 2}))).among({3, 4, 9}) == {3: 1, 9: 2}
        True
    """
    times, bitmap = posting.times, posting.bitmap
    if not bitmap and len(times) * _DENSE > max(times, default=0) >> 3:
        bitmap = _bitmap_of(times)
    repeated = [(at, often) for at, often in times.items() if often > 1]
    members = bitmap or _shorts(len(times)).pack(*sorted(times))
    return b"".join(
        (
            _HEAD.pack(bool(bitmap), len(repeated)),
            _shorts(len(repeated)).pack(*(at for at, _ in repeated)),
            bytes(often for _, often in repeated),
            members,
        )
    )


def unpack(packed: bytes) -> Posting:
    """Read what `pack` wrote."""
    is_bitmap, number = _HEAD.unpack_from(packed)
    at = _HEAD.size + 2 * number
    often, members = packed[at : at + number], packed[at + number :]
    repeated = zip(_shorts(number).unpack_from(packed, _HEAD.size), often, strict=True)
    if is_bitmap:
        return Posting(dict(repeated), members)
    times = dict.fromkeys(_shorts(len(members) // 2).unpack(members), 1)
    times.update(repeated)
    return Posting(times)


@cache
def _shorts(number: int) -> struct.Struct:
    return struct.Struct(f"<{number}H")


def _bitmap_of(offsets: Collection[int]) -> bytes:
    bitmap = bytearray((max(offsets, default=-1) >> 3) + 1)
    for at in offsets:
        bitmap[at >> 3] |= 1 << (at & 7)
    return bytes(bitmap)


def _bytes_of(bits: int) -> bytes:
    return bits.to_bytes((bits.bit_length() + 7) >> 3, "little")


def offsets_of(bits: int) -> Iterator[int]:
    """Yield the bits that are set, the highest first.

    Example:
        >>> list(offsets_of(0b1000_0000_0101))
        [11, 2, 0]
    """
    words = (bits.bit_length() + 63) >> 6
    base = words << 6
    for word in struct.unpack(f">{words}Q", bits.to_bytes(words << 3, "big")):
        base -= 64
        left = word
        while left:
            highest = left.bit_length() - 1
            yield base + highest
            left ^= 1 << highest
