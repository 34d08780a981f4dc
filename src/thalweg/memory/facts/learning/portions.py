"""Turns of a thread in portions that a learner is shown at once. Whole turns, none left out."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from thalweg.engine.tokens import Counter
from thalweg.memory.facts.values import Statement, Trust

TURN_TOKENS = 24
"""What the heading of a turn adds."""


@dataclass(frozen=True, slots=True)
class PortionSize:
    """How much a learner is shown at once; see the settings of the same names."""

    learn_tokens: int = 4_000
    learn_turns: int = 40
    overlap_turns: int = 4
    answer_tokens: int = 300

    def smaller(self) -> "PortionSize":
        """Halve it, for an answer that could not be used; in the end it is one turn."""
        return PortionSize(
            learn_tokens=max(1, self.learn_tokens // 4),
            learn_turns=max(1, self.learn_turns // 4),
            overlap_turns=min(1, self.overlap_turns),
            answer_tokens=self.answer_tokens,
        )


@dataclass(frozen=True, slots=True)
class Portion:
    """What one question to a learner is about."""

    before: tuple[Statement, ...]
    """Turns that were learned from already: they are shown to be understood."""
    turns: tuple[Statement, ...]
    """Those that are learned from with this question; after it, they all count as learned."""
    learnable: frozenset[str]
    """Ids (`Statement.uid`) of those that facts may rest on."""


def is_learnable(turn: Statement, learn_from: Collection[str]) -> bool:
    """Tell whether facts may rest on a turn.

    Args:
        turn: The turn.
        learn_from: Origins beside the user: `assistant`, `tool`, `web`.
    """
    return turn.trust >= Trust.IMPORT or turn.trust.name.casefold() in learn_from


def portions(
    before: Sequence[Statement],
    turns: Sequence[Statement],
    *,
    size: PortionSize,
    learn_from: Collection[str],
    count: Counter,
) -> Iterator[Portion]:
    """Divide turns into portions, oldest first: every turn is in exactly one.

    A portion ends behind the last turn that facts may rest on; the answer to it is shown with
    the next one, which it helps to understand.

    Args:
        before: Turns just before them, learned from already.
        turns: Turns to learn from, oldest first.
        size: Of one portion.
        learn_from: See `is_learnable`.
        count: Counts tokens.
    """
    known, rest = list(before), list(turns)
    while rest:
        taken = _take(rest, size, learn_from, count)
        named = (turn.uid for turn in rest[:taken] if is_learnable(turn, learn_from))
        shown = known[-size.overlap_turns :] if size.overlap_turns else []
        yield Portion(tuple(shown), tuple(rest[:taken]), frozenset(named))
        known += rest[:taken]
        rest = rest[taken:]


def _take(
    turns: Sequence[Statement], size: PortionSize, learn_from: Collection[str], count: Counter
) -> int:
    """Count the turns of the next portion, of which there is at least one."""
    tokens, learned, taken = 0, 0, 0
    for number, turn in enumerate(turns, start=1):
        learns = is_learnable(turn, learn_from)
        length = count(turn.text)
        tokens += TURN_TOKENS + (length if learns else min(length, size.answer_tokens))
        if learned and (tokens > size.learn_tokens or learned == size.learn_turns):
            return taken
        if learns:
            learned, taken = learned + 1, number
    return len(turns)
