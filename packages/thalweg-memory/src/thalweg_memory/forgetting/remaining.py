"""What remains, and every image of it, when facts and turns are forgotten."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from thalweg_memory.facts.values import NO_FACT, Evidence, Fact, FactId, ProfileSection, Trust
from thalweg_memory.store.records import FactTexts, SectionStep, Step, StepRow, TurnsStep


class Lineage:
    """Which facts superseded a fact, and which it superseded, past those that go."""

    def __init__(self, facts: Collection[Fact], gone: Collection[FactId]) -> None:
        self._gone = frozenset(gone)
        self._known = {fact.id for fact in facts}
        self._newer: defaultdict[FactId, dict[FactId, None]] = defaultdict(dict)
        self._older: defaultdict[FactId, dict[FactId, None]] = defaultdict(dict)
        for fact in facts:
            links = [(fact.id, older) for older in fact.supersedes]
            for newer, older in (*links, (fact.superseded_by, fact.id)):
                self._newer[older][newer] = None
                self._older[newer][older] = None

    def heir(self, fact: Fact) -> FactId:
        """Return the remaining fact that superseded a fact, directly or not; `NO_FACT` for none."""
        return next(self._remaining([fact.superseded_by], self._newer, fact.id), NO_FACT)

    def superseded(self, fact: Fact) -> tuple[FactId, ...]:
        """Return the facts that one superseded, directly or through forgotten ones (omitted)."""
        return tuple(self._remaining(fact.supersedes, self._older, fact.id))

    def _remaining(
        self, ids: Iterable[FactId], links: Mapping[FactId, Iterable[FactId]], but: FactId
    ) -> Iterator[FactId]:
        """Follow links over forgotten facts to remaining ones; through these only to known ones."""
        waiting, seen = [*ids], {but, NO_FACT}
        direct = {*waiting}
        for id_ in waiting:
            if id_ not in seen:
                seen.add(id_)
                if id_ in self._gone:
                    waiting += links.get(id_, ())
                elif id_ in direct or id_ in self._known:
                    yield id_


@dataclass(frozen=True, slots=True)
class ForgottenData:
    """The forgotten data. One function changes remaining data and its images in the log alike."""

    gone: frozenset[FactId]
    uids: Collection[str]
    """Turns that go."""
    sayings: FactTexts
    """Texts of the deleted facts."""
    beginnings: Collection[str]
    """Of turns that go, as quoted words of other messages may tell them."""
    is_chosen: Mapping[Evidence, bool]
    """Whether the selection contains the turn or the thread of the evidence."""
    lineage: Lineage
    whole_profile: bool
    """Whether no section remains."""

    def fact(self, fact: Fact | None) -> Fact | None:
        """Return the remaining part of a fact."""
        if fact is None or fact.id in self.gone or self.sayings.are_in(fact.content):
            return None
        if fact.claim and any(text in fact.content for text in self.beginnings):
            return None
        left = replace(
            fact,
            evidence=tuple(
                self._evidence(each) for each in fact.evidence if not self.is_chosen[each]
            ),
            aliases=tuple(alias for alias in fact.aliases if not self.sayings.are_in(alias)),
            extra="" if self.sayings.are_in(fact.extra) else fact.extra,
            supersedes=self.lineage.superseded(fact),
            related=tuple(id_ for id_ in fact.related if id_ not in self.gone),
        )
        if fact.superseded_by not in self.gone:
            return left
        heir = self.lineage.heir(fact)
        return replace(left, superseded_by=heir) if heir else _reopened(left)

    def _evidence(self, evidence: Evidence) -> Evidence:
        is_forgotten = evidence.uid in self.uids or self.sayings.are_in(evidence.quote)
        return replace(evidence, quote="") if is_forgotten else evidence

    def section(self, section: ProfileSection | None) -> ProfileSection | None:
        """Return the remaining part of a section."""
        if section is None or self.whole_profile or not self.gone.isdisjoint(section.cites):
            return None
        return None if self.sayings.are_in(section.text) else section

    def log(self, log: Collection[StepRow]) -> Iterator[tuple[StepRow, Step | None]]:
        """Yield the steps of a log that change, and their new versions; `None` for deleted ones."""
        for logged in log:
            step, left = logged.step, self._step(logged.step)
            if isinstance(left, TurnsStep):
                continue
            if left != step or self.sayings.are_in(step.why):
                yield logged, None if left.before == left.after else replace(left, why="")

    def _step(self, step: Step) -> Step:
        if isinstance(step, TurnsStep):
            return step
        if isinstance(step, SectionStep):
            return replace(step, before=self.section(step.before), after=self.section(step.after))
        return replace(step, before=self.fact(step.before), after=self.fact(step.after))


def _reopened(fact: Fact) -> Fact:
    """Let a fact hold again; one that is not trusted waits for the user's word."""
    status = fact.status
    if status == "superseded":
        status = "active" if fact.trust >= Trust.IMPORT else "quarantined"
    return replace(fact, status=status, valid_to="", superseded_by=NO_FACT)
