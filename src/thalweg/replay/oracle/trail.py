"""A recording as the oracles see it: sizes, calls, needs and the places where it may be cut."""

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Need:
    """One use of a tool result by a turn."""

    source: int
    """Position of the tool result."""
    seen_to: int
    """A cut at this item or before it leaves in sight what the turn says; -1 when none does."""
    fetched: int
    """Tokens that fetching it back brings."""
    identifier: str = ""
    """A record that names it meets the need; empty where only the result itself does."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One model call."""

    position: int
    """Of the assistant message that answered it."""
    length: int
    """Items of its request when nothing is folded."""
    cold: bool = False
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where a fold may cut, and the record that then stands for what is before it."""

    index: int
    """The first item that stays."""
    record: int
    """Tokens of the record."""
    names: frozenset[str] = frozenset()
    """Identifiers that the record says."""


@dataclass(frozen=True, slots=True)
class Trail:
    """One recording, laid out as a window without end would send it."""

    fixed: int
    """Tokens of the leading items that no cut takes."""
    head: int
    """How many they are."""
    sums: tuple[int, ...]
    """Tokens of the first i items, for every i."""
    moments: tuple[Moment, ...]
    cuts: tuple[Cut, ...]
    """In order. A fold may use one as soon as an item behind it is there."""

    def tokens(self, cut: Cut | None, moment: Moment) -> int:
        """Count the request of a call behind a cut, or of everything."""
        if cut is None:
            return self.sums[moment.length]
        return self.fixed + cut.record + self.sums[moment.length] - self.sums[cut.index]

    def cooled(self, cold: Container[int]) -> Self:
        """Say at which turns the cache had expired, by the position of each answer."""
        moments = (replace(m, cold=m.position in cold) for m in self.moments)
        return replace(self, moments=tuple(moments))

    def cut_for_tail(self, tail: int, moment: Moment) -> int:
        """Find which cut leaves as much as `tail` tokens can hold: the earliest that does.

        Returns:
            Its place among the cuts; that of the last, where all leave more; -1 without any.
        """
        last = -1
        for k, cut in enumerate(self.cuts):
            if cut.index >= moment.length:
                break
            last = k
            if self.sums[moment.length] - self.sums[cut.index] <= tail:
                break
        return last


def sums_of(sizes: Iterable[int]) -> tuple[int, ...]:
    """Add up sizes: the sum of none, of the first, of the first two and so on."""
    sums = [0]
    for size in sizes:
        sums.append(sums[-1] + size)
    return tuple(sums)
