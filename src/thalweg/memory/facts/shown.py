"""What memory told before a message, and why: ids and figures, no word of what is known."""

import json
from dataclasses import dataclass, fields
from typing import Literal

from thalweg.memory.facts.values import NO_FACT, FactId

Fate = Literal["told", "told before", "no room", "said already"]
"""`told`: it stands before the message. `told before`: it stands before an earlier one.
`no room`: it was recalled, and there is no room for it. `said already`: something else that was
recalled says the same."""


@dataclass(frozen=True, slots=True)
class RecalledPart:
    """One thing that was recalled, and what became of it: a fact, a turn, or a section."""

    fate: Fate
    fact: FactId = NO_FACT
    uid: str = ""
    """Of the message, where it is a turn."""
    section: str = ""
    """Of the profile."""
    score: float = 0.0
    """What it says to the question; 0 for a section."""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ShownFacts:
    """What was recalled for one message of the user."""

    uid: str
    """Of the message."""
    at: str
    """When."""
    tokens: int
    """Of what stands before the message; 0 where nothing new was told."""
    weighed: tuple[RecalledPart, ...]
    """The best first."""


_TOLD = tuple(field.name for field in fields(ShownFacts))
_WEIGHED = tuple(field.name for field in fields(RecalledPart))
"""Not `asdict`, which copies every value of a hundred rows for each message."""


def told_to_json(told: ShownFacts) -> str:
    """Write it as a line of JSON; `told_from_json` reads it back.

    Example:
        >>> told = ShownFacts(
        ...     "m1", "2026-03-01T10:00:00Z", 20, (RecalledPart("told", section="topOfMind"),)
        ... )
        >>> told_from_json(told_to_json(told)) == told
        True
    """
    plain = {name: getattr(told, name) for name in _TOLD}
    plain["weighed"] = [
        {name: value for name in _WEIGHED if (value := getattr(one, name))} for one in told.weighed
    ]
    return json.dumps(plain, separators=(",", ":"))


def told_from_json(text: str) -> ShownFacts:
    """Read what `told_to_json` wrote."""
    plain = json.loads(text)
    return ShownFacts(
        **{**plain, "weighed": tuple(RecalledPart(**one) for one in plain["weighed"])}
    )
