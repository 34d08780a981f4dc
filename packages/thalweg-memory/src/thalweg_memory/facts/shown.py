"""What memory told before a message, and why: ids and figures, no word of what is known."""

from dataclasses import dataclass
from typing import Literal

from thalweg_memory.facts.values import NO_FACT, FactId

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
