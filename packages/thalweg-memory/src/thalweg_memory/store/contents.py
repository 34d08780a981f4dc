"""All data of a scope, its log of operations included."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from thalweg_memory.facts.values import Fact, FactId, ProfileSection, Statement
from thalweg_memory.store.steps import FactStep, StepRow


@dataclass(frozen=True, slots=True)
class ScopeContents:
    """The content of a scope, in one transaction."""

    facts: Sequence[Fact]
    """Of every status, oldest first."""
    turns: Sequence[Statement]
    sections: Sequence[ProfileSection]
    log: Sequence[StepRow]
    """Oldest first."""
    whys: Mapping[int, str]
    """Of each operation, why it was."""
    images: Mapping[FactId, Sequence[Fact]] = field(init=False)
    """Of each fact all that it is and was, the newest last; of facts that were dropped, too."""

    def __post_init__(self) -> None:
        images: dict[FactId, dict[Fact, None]] = {}
        for fact in self._all():
            known = images.setdefault(fact.id, {})
            known.pop(fact, None)
            known[fact] = None
        object.__setattr__(self, "images", {id_: tuple(known) for id_, known in images.items()})

    def _all(self) -> Iterator[Fact]:
        for logged in self.log:
            if isinstance(logged.step, FactStep):
                yield from (f for f in (logged.step.before, logged.step.after) if f is not None)
        yield from self.facts

    def newest(self) -> list[Fact]:
        """List all facts as they are, or were when they were dropped."""
        return [images[-1] for images in self.images.values()]
