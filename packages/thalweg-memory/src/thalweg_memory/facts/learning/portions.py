"""Turns of a thread in portions that a learner is shown at once. Whole turns, none omitted."""

from collections.abc import Sequence
from dataclasses import dataclass

from thalweg.engine.tokens import Counter
from thalweg_memory.facts.settings import MemorySettings
from thalweg_memory.facts.values import Statement, Trust

TURN_TOKENS = 24
"""Tokens that the heading of a turn adds."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What one question to a learner is about."""

    before: tuple[Statement, ...]
    """Turns that were learned from already: they are shown to be understood."""
    turns: tuple[Statement, ...]
    """Those that are learned from with this question; after it, they all count as learned."""
    learnable: frozenset[str]
    """Ids (`Statement.uid`) of those that facts may rest on."""


def smaller(settings: MemorySettings) -> MemorySettings:
    """Halve the portions twice, for an answer that could not be used; in the end it is one turn."""
    return settings.model_copy(
        update={
            "learn_tokens": max(1, settings.learn_tokens // 4),
            "learn_turns": max(1, settings.learn_turns // 4),
            "overlap_turns": min(1, settings.overlap_turns),
        }
    )


def next_portion(
    before: Sequence[Statement],
    turns: Sequence[Statement],
    *,
    settings: MemorySettings,
    count: Counter,
) -> Portion:
    """Return the first of the portions that turns are divided into: each turn is in exactly one.

    A portion ends after the last turn that facts may rest on; the answer to it is shown with
    the next one, which it helps to understand.

    Args:
        before: Turns just before them, learned from already.
        turns: Turns to learn from, oldest first; at least one.
        settings: The size of a portion, and whose texts are learned from.
        count: Counts tokens.
    """
    taken = turns[: _taken(turns, settings, count)]
    learnable = frozenset(turn.uid for turn in taken if _is_learnable(turn, settings))
    shown = before[max(0, len(before) - settings.overlap_turns) :]
    return Portion(tuple(shown), tuple(taken), learnable)


def _is_learnable(turn: Statement, settings: MemorySettings) -> bool:
    return turn.trust >= Trust.IMPORT or turn.trust.name.casefold() in settings.learn_from


def _taken(turns: Sequence[Statement], settings: MemorySettings, count: Counter) -> int:
    """Count the turns of the next portion, of which there is at least one."""
    tokens, learned, taken = 0, 0, 0
    for number, turn in enumerate(turns, start=1):
        learns = _is_learnable(turn, settings)
        length = count(turn.text)
        tokens += TURN_TOKENS + (length if learns else min(length, settings.answer_tokens))
        if learned and (tokens > settings.learn_tokens or learned == settings.learn_turns):
            return taken
        if learns:
            learned, taken = learned + 1, number
    return len(turns)
