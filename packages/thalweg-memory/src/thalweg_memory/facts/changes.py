"""All changes of a memory. A plan is a tuple of them, a commit applies it atomically.

Each has a reason. The store logs the content that a change replaces, so that every commit can be
undone.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from thalweg_memory.facts.values import Fact, FactId, ProfileSection, SectionName


@dataclass(frozen=True, slots=True)
class PutFact:
    """Add a fact, or put it in the place of the one with its id (merged, edited, superseded)."""

    fact: Fact
    why: str

    @property
    def id(self) -> FactId:
        """The fact's id."""
        return self.fact.id


@dataclass(frozen=True, slots=True)
class RemoveFact:
    """Remove a fact from the memory. The log of operations has its row until `forget`."""

    id: FactId
    why: str
    asked_in: str = ""
    """Id of the message (`Statement.uid`) that asked for it: it is hidden with the fact's turns."""


@dataclass(frozen=True, slots=True)
class WriteSection:
    """Write a section of the profile; one without a text is taken out."""

    section: ProfileSection
    why: str

    @property
    def name(self) -> SectionName:
        """The section's name."""
        return self.section.name


@dataclass(frozen=True, slots=True)
class Hide:
    """Take turns out of recall and learning. Undoing the commit shows them again.

    A commit of a person's that drops or rewords a fact hides the turns it was learned from by
    itself. A plan holds this change to hide every turn of the scope, or those with some ids; a
    learner's, to hide what was stated with too little confidence for a fact.
    """

    why: str
    turns: int = 0
    """Turns that were hidden (or shown again, where `is_shown`); set by the store."""
    is_shown: bool = False
    """Whether the turns are recalled again: an undo of a `Hide`."""
    uids: tuple[str, ...] = ()
    """Ids of the turns (`Statement.uid`); without any, every turn. Not in the log."""


Change = PutFact | RemoveFact | WriteSection | Hide


def facts_of(changes: Iterable[Change]) -> set[FactId]:
    """Return the ids of the facts that changes put or remove."""
    return {change.id for change in changes if isinstance(change, PutFact | RemoveFact)}
