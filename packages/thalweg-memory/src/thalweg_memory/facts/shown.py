"""The items that memory showed before a message, and why: ids and figures, no content."""

from dataclasses import dataclass
from typing import Literal

from thalweg_memory.facts.values import NO_FACT, FactId

Fate = Literal["told", "told before", "no room", "said already"]
"""The result for a recalled item.

`told`: it is before the message. `told before`: it is before an earlier one. `no room`: it was
recalled, and does not fit. `said already`: another recalled item states the same.
"""


@dataclass(frozen=True, slots=True)
class RecalledPart:
    """One thing that was recalled, and what became of it: a fact, a turn, or a section."""

    fate: Fate
    fact: FactId = NO_FACT
    uid: str = ""
    """Of the message, if it is a turn."""
    section: str = ""
    """Of the profile."""
    score: float = 0.0
    """Its relevance to the question; 0 for a section."""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ShownFacts:
    """The items recalled for one message of the user."""

    uid: str
    """Of the message."""
    at: str
    """When."""
    tokens: int
    """Of the text before the message; 0 if nothing new was shown."""
    weighed: tuple[RecalledPart, ...]
    """The best first."""
