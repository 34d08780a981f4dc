"""What memory told before which message, as an agent's state keeps it: ids, never a text.

What was told before a message stays before it, byte for byte, as long as the message is sent. So
a later run tells only what the ones before did not, and the beginning of the requests stays the
one that the provider has in its cache. Where a context has no room for more, what was told last
gives way first: the fewest messages stand behind it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from thalweg.facts.values import FactId, SectionName

Key = FactId | int | SectionName
"""A fact, a piece of a turn by its number, or a section of the profile."""
IN_PROMPT = ""
"""Stands for the system prompt in the place of a message's id."""
STANDING_SHARE = 0.5
"""What must be told anew is looked for among what fills this share of the budget: the rest of
what is recalled is a filling, and no reason to tell anything twice."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What stands before one message."""

    uid: str
    """Of the message."""
    at: int = 0
    """The newest operation of the memory when it was told: what was learned since is not shown."""
    facts: tuple[FactId, ...] = ()
    pieces: tuple[int, ...] = ()
    """Pieces of turns, by the numbers that the store gave them."""
    sections: tuple[SectionName, ...] = ()
    tokens: int = 0
    """Of the whole message, its frame included."""

    @property
    def keys(self) -> set[Key]:
        """All that is in it."""
        return {*self.facts, *self.pieces, *self.sections}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Something that was recalled."""

    key: Key
    tokens: int
    """Of its line."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is told before the newest message, and what stays before older ones."""

    kept: tuple[Shown, ...]
    told: tuple[Key, ...]
    """In the order they were recalled; empty where nothing new is worth telling."""


def plan_telling(
    wanted: Sequence[Wanted], live: Sequence[Shown], *, most: int, frame: int
) -> Decision:
    """Decide what of the recalled is told.

    Args:
        wanted: What was recalled, the most important first.
        live: What stands before messages that are still sent, oldest first.
        most: Tokens of memory in one context.
        frame: Tokens of what goes around the lines of one message.

    Example:
        >>> live = [Shown("m1", facts=(FactId("a"),), tokens=60)]
        >>> wanted = [Wanted(FactId("a"), 20), Wanted(FactId("b"), 20)]
        >>> plan_telling(wanted, live, most=200, frame=30).told
        ('b',)
    """
    core = wanted if not live else list(_within(wanted, int(most * STANDING_SHARE) - frame))
    kept = list(live)
    while True:
        told = _unseen(core, kept)
        room = most - frame - sum(shown.tokens for shown in kept)
        if not told:
            return Decision(tuple(kept), ())
        if not kept or sum(one.tokens for one in told) <= room:
            break
        kept.pop()
    return Decision(tuple(kept), tuple(one.key for one in _within(told, room)))


def _unseen(wanted: Iterable[Wanted], live: Iterable[Shown]) -> list[Wanted]:
    seen = set[Key]().union(*(shown.keys for shown in live))
    return [one for one in wanted if one.key not in seen]


def _within(wanted: Iterable[Wanted], room: int) -> Iterable[Wanted]:
    """Leave out what does not fit, and go on with what does."""
    for one in wanted:
        if one.tokens <= room:
            room -= one.tokens
            yield one


def to_plain(shown: Iterable[Shown]) -> list[dict[str, Any]]:
    """Write them for a state, as values that any checkpointer keeps."""
    return [
        {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(one).items() if v}
        for one in shown
    ]


def from_plain(plain: object) -> list[Shown]:
    """Read what `to_plain` wrote; nothing, where a state has nothing."""
    return [_read(one) for one in plain] if isinstance(plain, list) else []


def _read(plain: dict[str, Any]) -> Shown:
    return Shown(
        uid=plain.get("uid", IN_PROMPT),
        at=plain.get("at", 0),
        facts=tuple(plain.get("facts", ())),
        pieces=tuple(plain.get("pieces", ())),
        sections=tuple(plain.get("sections", ())),
        tokens=plain.get("tokens", 0),
    )
