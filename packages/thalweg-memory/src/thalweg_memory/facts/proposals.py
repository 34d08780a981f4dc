"""The proposals of a learner, before any gate: nothing in them is trusted."""

from dataclasses import dataclass
from typing import Literal

from thalweg_memory.facts.values import NO_FACT, Category, FactId, Importance

Relation = Literal["new", "same", "update", "remove"]
"""`remove`: the user asked to remove the existing fact."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fact as it was proposed."""

    content: str
    category: Category
    confidence: float
    uid: str
    """The turn it was learned from, see `Statement.uid`."""
    quote: str
    """Its evidence, word for word from that turn."""
    subject: str = ""
    attribute: str = ""
    value: str = ""
    language: str = ""
    valid_from: str = ""
    """ISO date since when it is valid, if that was stated: `2026-03-02`, `2026-03`, `2026`."""
    valid_to: str = ""
    """The same until when it holds, that day included."""
    is_temporary: bool = False
    """Whether it holds for a time, after which what held before holds again."""
    importance: Importance = 2
    relation: Relation = "new"
    """Its relation to `of`, according to the learner."""
    of: FactId = NO_FACT
    """The fact that it repeats, or updates."""
