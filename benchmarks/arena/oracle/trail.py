"""A recording as the oracles see it: sizes, calls, needs and the places where it may be cut."""

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Self


@dataclass(frozen=True, slots=True)
class ToolResultUse:
    """One use of a tool result by a turn."""

    source: int
    """Position of the tool result."""
    seen_to: int
    """A cut at this item or an earlier one keeps what the turn repeats visible; -1 if no cut
    does."""
    fetched: int
    """Tokens that fetching it back brings."""
    identifier: str = ""
    """A record that names it meets the need; empty where only the result itself does."""


@dataclass(frozen=True, slots=True)
class TrailCall:
    """One model call."""

    position: int
    """Of the assistant message that answered it."""
    length: int
    """Items of its request when nothing is folded."""
    cold: bool = False
    needs: tuple[ToolResultUse, ...] = ()


@dataclass(frozen=True, slots=True)
class TrailCut:
    """A place where a compaction may cut, and its structured summary of everything before."""

    index: int
    """The index of the first kept item."""
    record: int
    """Tokens of the record."""
    names: frozenset[str] = frozenset()
    """Identifiers in the structured summary."""


@dataclass(frozen=True, slots=True)
class Trail:
    """One recording, laid out as a window without end would send it."""

    fixed: int
    """Tokens of the leading items that no cut takes."""
    head: int
    """How many they are."""
    sums: tuple[int, ...]
    """Tokens of the first i items, for every i."""
    moments: tuple[TrailCall, ...]
    cuts: tuple[TrailCut, ...]
    """In order. A compaction may use one as soon as an item follows it."""

    def tokens(self, cut: TrailCut | None, moment: TrailCall) -> int:
        """Return the tokens of a call's request after a cut, or without one."""
        if cut is None:
            return self.sums[moment.length]
        return self.fixed + cut.record + self.sums[moment.length] - self.sums[cut.index]

    def cooled(self, cold: Container[int]) -> Self:
        """Return a copy whose cache had expired at some turns, by the position of each answer."""
        moments = (replace(m, cold=m.position in cold) for m in self.moments)
        return replace(self, moments=tuple(moments))


def sums_of(sizes: Iterable[int]) -> tuple[int, ...]:
    """Add up sizes: the sum of none, of the first, of the first two and so on."""
    return tuple(accumulate(sizes, initial=0))
