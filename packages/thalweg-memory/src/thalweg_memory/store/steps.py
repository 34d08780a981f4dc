"""The steps of a commit, one fact or section at a time, with the content before and after."""

from dataclasses import dataclass

from thalweg_memory.facts.changes import Change, Hide, PutFact, RemoveFact, WriteSection
from thalweg_memory.facts.values import Fact, FactId, ProfileSection, SectionName


@dataclass(frozen=True, slots=True)
class FactStep:
    """A change of a fact. `None` means no fact."""

    id: FactId
    why: str
    before: Fact | None
    after: Fact | None

    def change(self) -> Change:
        """Return it as a change."""
        return (
            RemoveFact(self.id, self.why) if self.after is None else PutFact(self.after, self.why)
        )


@dataclass(frozen=True, slots=True)
class SectionStep:
    """A change of a section of the profile. `None` means no section."""

    name: SectionName
    why: str
    before: ProfileSection | None
    after: ProfileSection | None

    def change(self) -> Change:
        """Return it as a change."""
        return WriteSection(self.after or ProfileSection(self.name, ""), self.why)


@dataclass(frozen=True, slots=True)
class TurnsStep:
    """Turns were hidden, or shown again. Which ones, their rows know by the operation's number."""

    why: str
    turns: int
    is_shown: bool = False

    def change(self) -> Change:
        """Return it as a change."""
        return Hide(self.why, self.turns, self.is_shown)


Step = FactStep | SectionStep | TurnsStep


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step as stored in the log."""

    operation: int
    place: int
    step: Step
