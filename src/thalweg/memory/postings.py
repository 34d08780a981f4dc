"""Where one word stands in a block of items, and how often: packed into bytes, and read again.

A word that stands in few items of a block is kept as a list of them, one that stands in many as
a bitmap. The list costs two bytes an item, the bitmap one bit for any item of the block.
"""

import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

BLOCK_BITS = 15
"""A block is 2**15 items with numbers in a row: a bitmap is at most 4 kB."""
BLOCK = 1 << BLOCK_BITS
MOST_TIMES = 255
"""A word that stands in an item more often is said to stand in it so often."""
_DENSE = 16
"""With more than one item for so many bytes of a bitmap, the bitmap is used. It is the larger
one then for a while, but read faster."""
_HEAD = struct.Struct("<?H")


@dataclass(frozen=True, slots=True)
class Posting:
    """The items of one block in which a word stands, each named by its offset in the block."""

    times: Mapping[int, int]
    """How often it stands in each; those of the bitmap with once are left out."""
    bitmap: bytes = b""
    """Bit `i % 8` of byte `i // 8` stands for the item at offset `i`. Empty: `times` has all."""

    def bits(self) -> int:
        """Give the items as the bits of a number."""
        return int.from_bytes(self.bitmap or _bitmap_of(self.times), "little")

    def offsets(self) -> Collection[int]:
        """List the items."""
        return [*offsets_of(self.bits())] if self.bitmap else self.times

    def among(self, offsets: set[int], base: int = 0) -> dict[int, int]:
        """Tell which items are among some, and how often the word stands in them.

        Args:
            offsets: Of some items.
            base: Is added to the offsets that are returned.
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
        """Say whether the word stands anywhere."""
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
    """Give the bits that are set, the highest first.

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
