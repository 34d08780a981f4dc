"""What a learner proposes, before any gate: nothing in it is trusted."""

from dataclasses import dataclass
from typing import Literal

from thalweg.facts.values import NO_FACT, Category, FactId

Relation = Literal["new", "same", "update"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A fact as it was proposed."""

    content: str
    category: Category
    confidence: float
    uid: str
    """The turn it was learned from, see `Turn.uid`."""
    quote: str
    """What it rests on, word for word from that turn."""
    subject: str = ""
    attribute: str = ""
    value: str = ""
    language: str = ""
    valid_from: str = ""
    """ISO date since when it holds, where that was said."""
    relation: Relation = "new"
    """What the learner takes it for beside `of`."""
    of: FactId = NO_FACT
    """The fact that it says again, or brings up to date."""
