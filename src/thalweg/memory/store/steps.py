"""What a commit did, one fact or section at a time, with what was there before and after."""

from dataclasses import dataclass

from thalweg.memory.facts.changes import Change, Drop, Hide, Put, Write
from thalweg.memory.facts.values import Fact, FactId, Section, SectionName


@dataclass(frozen=True, slots=True)
class FactStep:
    """A change of a fact. `None` means no fact."""

    id: FactId
    why: str
    before: Fact | None
    after: Fact | None

    def change(self) -> Change:
        """Return it as a change."""
        return Drop(self.id, self.why) if self.after is None else Put(self.after, self.why)


@dataclass(frozen=True, slots=True)
class SectionStep:
    """A change of a section of the profile. `None` means no section."""

    name: SectionName
    why: str
    before: Section | None
    after: Section | None

    def change(self) -> Change:
        """Return it as a change."""
        return Write(self.after or Section(self.name, ""), self.why)


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
class Logged:
    """A step as stored in the log."""

    operation: int
    place: int
    step: Step
