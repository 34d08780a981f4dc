"""The branch of a thread: the visible positions of its log.

A log only grows. After a rewind, later messages remain in the log and are skipped: the thread
continues at the end of the log. So its branch is a few spans.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from thalweg.archive import Archive, Span, ThreadKey
from thalweg.engine.entries import Message


@dataclass(frozen=True, slots=True)
class ThreadBranch:
    """Positions in ascending order, as spans that do not touch.

    Example:
        >>> line = ThreadBranch.of([0, 1, 2]).add(7).add(8)
        >>> line.spans
        (Span(first=0, last=2), Span(first=7, last=8))
        >>> line.before(8).last, len(line), 5 in line
        (7, 5, False)
    """

    spans: tuple[Span, ...] = ()

    @classmethod
    def of(cls, positions: Iterable[int]) -> "ThreadBranch":
        """Return the branch of these positions, in ascending order."""
        return cls(spans_of(positions))

    def add(self, position: int) -> "ThreadBranch":
        """Append a position after the last one."""
        if self.spans and self.spans[-1].last + 1 == position:
            last = Span(self.spans[-1].first, position)
            return ThreadBranch((*self.spans[:-1], last))
        return ThreadBranch((*self.spans, Span(position, position)))

    def before(self, position: int) -> "ThreadBranch":
        """Return the part before a position."""
        kept = [span for span in self.spans if span.first < position]
        return ThreadBranch(tuple(Span(s.first, min(s.last, position - 1)) for s in kept))

    def after(self, position: int) -> "ThreadBranch":
        """Return the part after a position."""
        kept = [span for span in self.spans if span.last > position]
        return ThreadBranch(tuple(Span(max(s.first, position + 1), s.last) for s in kept))

    def without(self, positions: Collection[int]) -> "ThreadBranch":
        """Return the branch without some positions."""
        if not positions:
            return self
        kept = self.before(min(positions))
        for position in self.after(min(positions) - 1):
            kept = kept if position in positions else kept.add(position)
        return kept

    @property
    def last(self) -> int:
        """The newest position; -1 if empty."""
        return self.spans[-1].last if self.spans else -1

    def __len__(self) -> int:
        return sum(span.last - span.first + 1 for span in self.spans)

    def __iter__(self) -> Iterator[int]:
        for span in self.spans:
            yield from range(span.first, span.last + 1)

    def __contains__(self, position: object) -> bool:
        if not isinstance(position, int) or not self.spans:
            return False
        newest = self.spans[-1]
        if position >= newest.first:  # the usual case: most have one span
            return position <= newest.last
        following = bisect_right(self.spans, position, key=lambda span: span.first)
        return following > 0 and position <= self.spans[following - 1].last


def spans_of(positions: Iterable[int]) -> tuple[Span, ...]:
    """Join positions into spans, in the order they come in.

    Example:
        >>> spans_of([4, 5, 6, 1, 2])
        (Span(first=4, last=6), Span(first=1, last=2))
    """
    spans: list[Span] = []
    first = last = None
    for position in positions:
        if last is None or first is None:
            first = position
        elif position != last + 1:
            spans.append(Span(first, last))
            first = position
        last = position
    if first is not None and last is not None:
        spans.append(Span(first, last))
    return tuple(spans)


def read_branch(
    archive: Archive, key: ThreadKey, branch: ThreadBranch
) -> Iterator[tuple[int, Message]]:
    """Yield the messages of a branch with their positions, oldest first."""
    for span in branch.spans:
        yield from enumerate(archive.messages(key, span.first, span.last), span.first)
